// SPDX-License-Identifier: BSD-3-Clause
// A thread that waits does the pager's work meanwhile.
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <thread>

#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

class PagerTurnTest : public ::testing::Test {
 protected:
  // The turn is this thread's: the pager's has nothing to do, and is asleep or about to be.
  void take(Pager::Turn& turn) const {
    await("the turn", [&] {
      turn.work();
      return takes_no_signals();
    });
  }
  static bool takes_no_signals() {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return sigismember(&blocked, SIGALRM) == 1;
  }

  PoolMemory memory{shape_of(1)};
  const Pool& pool = memory.pool;
  Pe pe{pool};
};

TEST_F(PagerTurnTest, WhoWaitsDoesTheWork) {
  Pager::Turn turn(*pe.pager);
  take(turn);
  const Asked asked = pe.ask(PageRequest::Kind::map, 3);
  EXPECT_FALSE(asked.done()) << "another does it";
  await("the page", [&] {
    turn.work();
    return asked.done();
  });
  EXPECT_EQ(pe.host.mapped_by.load(), std::this_thread::get_id());
}

TEST_F(PagerTurnTest, WhatIsLeftThePagersThreadDoes) {
  std::optional<Asked> asked;
  {
    Pager::Turn turn(*pe.pager);
    take(turn);
    asked.emplace(pool, 0, 0, PageRequest::Kind::map, Access::read, 3);
  }
  EXPECT_FALSE(takes_no_signals());
  asked->wait();
  EXPECT_NE(pe.host.mapped_by.load(), std::this_thread::get_id());
}

TEST_F(PagerTurnTest, ALongWaitIsThePagersThreadsAgain) {
  Pager::Turn turn(*pe.pager);
  take(turn);
  await("the end of the turn", [&] {
    turn.work();
    return !takes_no_signals();
  });
  turn.work();
  EXPECT_FALSE(takes_no_signals()) << "until it is left";
  const Asked asked = pe.ask(PageRequest::Kind::map, 3);
  asked.wait();
  EXPECT_NE(pe.host.mapped_by.load(), std::this_thread::get_id());
  turn.leave();
  take(turn);
}

// The turn is taken and left while others ask: nobody's request is left lying.
TEST_F(PagerTurnTest, NoRequestIsLost) {
  std::atomic<bool> ended{false};
  std::thread others([&] {
    for (PageNumber i = 0; i < 2000; ++i) {
      if (pe.ask(PageRequest::Kind::latch, i % kSegmentPages).wait().frame != kNoFrame)
        pool.word(i % kSegmentPages).unlatch();
    }
    ended = true;
  });
  for (PageNumber i = 0; !ended; ++i) {
    Pager::Turn turn(*pe.pager);
    const PageNumber page = i * 7 % kSegmentPages;
    const Asked asked = pe.ask(PageRequest::Kind::latch, page);
    await("a page", [&] {
      if (i % 3 != 0) turn.work();
      return asked.done();
    });
    pool.word(page).unlatch();
  }
  others.join();
}

}  // namespace
}  // namespace shm::nvm

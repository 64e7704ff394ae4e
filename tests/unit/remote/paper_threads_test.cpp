// SPDX-License-Identifier: BSD-3-Clause
// Many threads on few frames, in the paper's protocols.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <random>
#include <thread>

#include "paper_fixture.hpp"

namespace shm::remote::test {
namespace {

using What = RecordedLink::What;

// A class of its own, as tests of a class lie in one file.
class PaperThreadsTest : public PaperPagesTest {
 protected:
  // Each thread has a word of each page.  Of the pages of every eighth number, those that are a thread's own,
  // it forgets some.
  void play(unsigned self, unsigned threads, std::uint64_t seed, int steps) {
    std::mt19937_64 dice(seed + self);
    std::vector<std::uint64_t> model(kPaperPages);
    for (int step = 0; step < steps; ++step) {
      const std::size_t page = dice() % kPaperPages;
      const bool own = page % 8 == 7;
      if (own && page / 8 % threads != self) continue;
      if (own && dice() % 4 == 0) {
        pages->forget(page * kPaperPage, kPaperPage);
        model[page] = 0;
      } else if (dice() % 2 == 0) {
        word(page, self) = model[page] = dice();
      } else if (const std::uint64_t found = word(page, self); found != model[page]) {
        ADD_FAILURE() << "thread " << self << ", step " << step << ": page " << page << " has " << found
                      << ", not " << model[page];
        return;
      }
    }
  }
  void play_all(unsigned threads, int steps) {
    const std::uint64_t seed = seed_of_paper_run();
    std::vector<std::thread> players;
    for (unsigned self = 0; self < threads; ++self)
      players.emplace_back([=, this] { play(self, threads, seed, steps); });
    for (std::thread& player : players) player.join();
    const std::uint64_t swaps = faults() - pages->statistics().hits;
    EXPECT_EQ(pages->stages().swaps(), swaps);
    EXPECT_EQ(wire->count(What::request), swaps - pages->statistics().zeroed);
    EXPECT_EQ(wire->count(What::ready), swaps - pages->statistics().zeroed);
    EXPECT_EQ(wire->count(What::get), swaps - pages->statistics().zeroed);
    EXPECT_EQ(wire->count(What::put), pages->statistics().writes);
    EXPECT_LE(wire->count(What::put), swaps);
  }
};

TEST_P(PaperThreadsTest, OneThreadAgreesWithAModel) { play_all(1, 1000); }
TEST_P(PaperThreadsTest, FourThreadsAgreeWithAModel) { play_all(4, 300); }
TEST_P(PaperThreadsTest, SixteenThreadsAgreeWithAModel) { play_all(16, 80); }

// ---- signals

volatile std::uint64_t* handler_word = nullptr;  // of page 0
std::atomic<unsigned> handled{0};

void count_in_page(int) {
  for (std::size_t page = 0; page < kPaperPages; page += 5) {
    volatile std::uint64_t& word = handler_word[page * kPaperPage / sizeof word];
    word = word + 1;
  }
  handled.fetch_add(1);
}

// The handler faults, wherever the thread is.
TEST_P(PaperThreadsTest, HandlersOfTheProgramMayFault) {
  if (kHandlersRunLate) GTEST_SKIP() << "ThreadSanitizer runs handlers late";
  struct sigaction action {
  }, before;
  action.sa_handler = count_in_page;
  sigaction(SIGUSR1, &action, &before);
  handled = 0;
  handler_word = &word(0, 500);
  const std::uint64_t seed = seed_of_paper_run();
  std::atomic<bool> stop{false};
  std::thread player([&] {
    std::mt19937_64 dice(seed);
    std::vector<std::uint64_t> model(kPaperPages);
    while (!stop) {
      const std::size_t page = dice() % kPaperPages;
      EXPECT_EQ(word(page), model[page]) << page;
      word(page) = model[page] = dice();
    }
  });
  constexpr unsigned kSignals = 20;
  // A thread of the program's that sleeps would not get to the end of its sleep: the player swaps as fast as
  // it can, and each swap suspends and so wakes it.
  std::thread sender([&] {
    is_no_user_thread();
    for (unsigned sent = 0; sent < kSignals; ++sent) {
      pthread_kill(player.native_handle(), SIGUSR1);
      while (handled <= sent) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    stop = true;
  });
  sender.join();
  player.join();
  sigaction(SIGUSR1, &before, nullptr);
  for (std::size_t page = 0; page < kPaperPages; ++page)
    EXPECT_EQ(word(page, 500), page % 5 == 0 ? kSignals : 0) << page;
}

// ---- threads that come and go

TEST_P(PaperThreadsTest, ThreadsMayBeginAndEndAtAnyTime) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> ended{0};
  std::thread starter([&] {
    for (unsigned number = 0; !stop; ++number) {
      std::thread([&, number] {
        if (number % 3 != 0) word(number % kPaperPages, 9) = number;
        ++ended;
      }).join();
    }
  });
  const SuspensionCounts before = suspension_counts();
  for (int round = 0; round < 3 || ended < 50; ++round) {
    for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = page;
  }
  stop = true;
  starter.join();
  EXPECT_GT(suspension_counts().suspensions, before.suspensions);
}

INSTANTIATE_TEST_SUITE_P(All, PaperThreadsTest, kProtocols, name_of);

}  // namespace
}  // namespace shm::remote::test

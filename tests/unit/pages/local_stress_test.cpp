// SPDX-License-Identifier: BSD-3-Clause
// Many threads on few frames, against what each of them knows it has stored; with everything else that may
// happen to pages meanwhile, and in signal handlers.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <thread>

#include "local_pages_fixture.hpp"

namespace shm::pages {
namespace {

constexpr unsigned kThreads = 16;
#if defined(__SANITIZE_THREAD__)
constexpr int kSteps = 150;
#else
constexpr int kSteps = 300;
#endif
// Of a page each thread has some words; its last pages are each a thread's own, to be forgotten and
// overwritten.
constexpr PageNumber kShared = kLocalPages - 2 * kThreads;

class LocalStress : public LocalPagesFixture {
 protected:
  /// One thread's words, and what is in them.
  class Member {
   public:
    Member(LocalStress& test, unsigned me) : test_(test), me_(me), dice_(test.seed * kThreads + me) {}

    void step() {
      const PageNumber page = dice_() % 4 == 0 ? own() : dice_() % kShared;
      const std::size_t i = me_ * 8 + dice_() % 8;
      std::uint64_t& expected = known_[page][i - me_ * 8];
      switch (dice_() % 12) {
        case 0: return put(page, i, expected);
        case 1: return get(page, i, expected);
        case 2: return forget();
        case 3: return overwrite();
        case 4: return pin(page, i, expected);
        case 5:
        case 6:
        case 7:
        case 8:
          expected = dice_();
          test_.word(page, i) = expected;
          return;
        default: ASSERT_EQ(test_.word(page, i), expected) << page;
      }
    }

   private:
    PageNumber own() { return kShared + 2 * me_ + dice_() % 2; }
    void put(PageNumber page, std::size_t i, std::uint64_t& expected) {
      expected = dice_();
      test_.pages->write(page * kPageBytes + i * 8, &expected, 8);
    }
    void get(PageNumber page, std::size_t i, std::uint64_t expected) {
      std::uint64_t seen = 0;
      test_.pages->read(page * kPageBytes + i * 8, &seen, 8);
      ASSERT_EQ(seen, expected) << page;
    }
    void forget() {
      const PageNumber page = own();
      test_.pages->forget(page * kPageBytes, kPageBytes);
      known_[page] = {};
      ASSERT_EQ(test_.word(page, dice_() % 512), 0U) << page;
    }
    void overwrite() {
      const PageNumber page = own();
      test_.pages->overwrite(page * kPageBytes, kPageBytes);
      for (std::size_t word = 0; word < 8; ++word) {
        known_[page][word] = dice_();
        test_.word(page, me_ * 8 + word) = known_[page][word];
      }
      // The rest of it is not looked at until it is forgotten: all of it is this thread's, and it has no
      // words there.
      test_.pages->forget(page * kPageBytes, kPageBytes);
      known_[page] = {};
    }
    void pin(PageNumber page, std::size_t i, std::uint64_t& expected) {
      if (!test_.pages->pin(page * kPageBytes, 1, Access::write)) return;
      ASSERT_EQ(test_.word(page, i), expected) << page;
      expected = dice_();
      test_.word(page, i) = expected;
      ASSERT_TRUE(test_.pages->unpin(page * kPageBytes, 1));
    }

    LocalStress& test_;
    const unsigned me_;
    std::mt19937_64 dice_;
    std::array<std::array<std::uint64_t, 8>, kLocalPages> known_{};
  };

  void run() {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t] {
        Member member(*this, t);
        for (int i = 0; i < kSteps && !HasFatalFailure(); ++i) member.step();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(backing.most_reads, 3U);
  }
};

TEST_F(LocalStress, FaultsMakeRoom) { run(); }

TEST_F(LocalStress, TheSweeperMakesRoom) {
  pages->start();
  run();
  pages->stop();
}

TEST_F(LocalStress, WithReadAhead) {
  remake([](auto& settings) { settings.ahead = 4; });
  pages->start();
  run();
}

TEST_F(LocalStress, WhileAllIsWritten) {
  pages->start();
  std::atomic<bool> over{false};
  std::thread writer([&] {
    while (!over) pages->quiesce();
  });
  run();
  over = true;
  writer.join();
}

// Half of the pages are elsewhere, in two windows the wrong way round.
TEST_F(LocalStress, InWindows) {
  constexpr PageNumber kEach = 16;
  void* got =
      mmap(nullptr, 3 * kEach * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(got, MAP_FAILED);
  auto* memory = static_cast<std::byte*>(got);
  remake([](auto& settings) { settings.ahead = 2; });
  pages->start();
  open_window(4, kEach, memory + 2 * kEach * kPageBytes);
  open_window(4 + kEach, kEach, memory);
  run();
  pages.reset();
  munmap(got, 3 * kEach * kPageBytes);
}

TEST_F(LocalStress, FourFrames) {
  remake([](auto& settings) { settings.frames = LocalPages::kFewestFrames; });
  pages->start();
  run();
}

// A third of the faults is left to the sweeper.
TEST_F(LocalStress, ThreadsThatMustNotUseTheNetwork) {
  static thread_local unsigned calls = 0;
  remake([](auto& settings) {
    settings.is_inside = [] { return ++calls % 3 == 0; };
    settings.ahead = 1;
  });
  pages->start();
  run();
}

volatile std::uint64_t* handled_word;

// The handler needs pages itself, whatever it interrupts.
TEST_F(LocalStress, SignalHandlersUsePages) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer hands signals out when it sees fit";
#endif
  pages->start();
  handled_word = &word(0, 500);
  struct sigaction action {
  }, before{};
  static std::atomic<std::uint64_t> handled;
  handled = 0;
  action.sa_handler = [](int) {
    const std::uint64_t n = handled.fetch_add(1);
    const std::size_t page = n * 7 % kShared;
    volatile std::uint64_t& at = handled_word[page * (kPageBytes / 8)];
    at = at | 1;
  };
  sigaction(SIGUSR1, &action, &before);
  std::vector<pthread_t> all;
  std::mutex mutex;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      {
        const std::scoped_lock guard(mutex);
        all.push_back(pthread_self());
      }
      Member member(*this, t);
      for (int i = 0; i < kSteps && !HasFatalFailure(); ++i) member.step();
      await("the end of signals", [&] { return over.load(); });
    });
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (unsigned i = 0; std::chrono::steady_clock::now() < limit; ++i) {
    const std::scoped_lock guard(mutex);
    if (!all.empty()) pthread_kill(all[i % all.size()], SIGUSR1);
    if (i % 16 == 0) sched_yield();
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GT(handled, 10U);
}

}  // namespace
}  // namespace shm::pages

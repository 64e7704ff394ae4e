// SPDX-License-Identifier: BSD-3-Clause
#include "pages/thread_read_ahead.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

namespace shm::pages {
namespace {

// In turn, page by page, more of them than one ReadAhead tells apart.
TEST(ThreadReadAhead, EachThreadHasASequenceOfItsOwn) {
  constexpr int kThreads = 40;
  constexpr PageNumber kApart = 1000, kPages = 8;
  ThreadReadAhead read_ahead(4);
  ReadAhead alone(4);
  std::vector<std::uint64_t> brought(kThreads, 0);
  std::uint64_t brought_alone = 0;
  std::barrier turn(kThreads);
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      for (PageNumber page = 0; page < kPages; ++page) {
        for (int who = 0; who < kThreads; ++who) {
          turn.arrive_and_wait();
          if (who != me) continue;
          const PageNumber used = static_cast<PageNumber>(me) * kApart + page;
          const ThreadReadAhead::Use use = read_ahead.use(used);
          brought[static_cast<std::size_t>(me)] += use.bring.count;
          EXPECT_EQ(use.awaited.count != 0, page != 0);
          if (page != 0) {
            EXPECT_EQ(use.awaited.first, used + 1);
          }
          brought_alone += alone.use(used).count;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t each : brought) EXPECT_EQ(each, kPages - 2 + 4) << "up to four pages ahead";
  EXPECT_EQ(brought_alone, 0U) << "all threads' pages, taken for those of one";
}

TEST(ThreadReadAhead, ThreadsThatShareAPlaceDoNoHarm) {
  ThreadReadAhead read_ahead(4);
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < 2 * ThreadReadAhead::kPlaces; ++me) {
    threads.emplace_back([&, me] {
      for (PageNumber page = 0; page < 200; ++page) {
        const PageRange bring = read_ahead.use(me * 1000 + page).bring;
        EXPECT_LE(bring.count, 4U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace shm::pages

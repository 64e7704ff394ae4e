// SPDX-License-Identifier: BSD-3-Clause
#include "base/spin.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace shm {
namespace {

TEST(SpinLock, LetsOneThreadInAtATime) {
  SpinLock lock;
  long plain = 0;  // not atomic: ThreadSanitizer and the sum both tell
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20000; ++k) {
        const std::lock_guard guard(lock);
        ++plain;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plain, 8 * 20000);
}

TEST(SpinLock, IsNotRecursive) {
  SpinLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace shm

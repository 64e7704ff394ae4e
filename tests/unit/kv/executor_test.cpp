// SPDX-License-Identifier: BSD-3-Clause
#include "kv/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace shm::kv {
namespace {

void add(Executor& executor, int from, const std::string& text) {
  executor.add(from, reinterpret_cast<const std::byte*>(text.data()), text.size());
}

TEST(ExecutorTest, PacketsAreCarriedOutInTheirOrderByAnotherThread) {
  std::vector<std::string> done;
  std::atomic<std::thread::id> by;
  Executor executor([&](int from, const std::byte* packet, std::size_t n) {
    done.push_back(std::to_string(from) + std::string(reinterpret_cast<const char*>(packet), n));
    by = std::this_thread::get_id();
  });
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    add(executor, i % 3, " " + std::to_string(i));
    expected.push_back(std::to_string(i % 3) + " " + std::to_string(i));
  }
  executor.rest();
  EXPECT_EQ(done, expected);
  EXPECT_NE(by.load(), std::this_thread::get_id());
}

TEST(ExecutorTest, WhoAddsDoesNotWaitAndRestWaitsForTheLast) {
  std::atomic<bool> may_go_on{false};
  std::atomic<int> done{0};
  Executor executor([&](int, const std::byte*, std::size_t) {
    may_go_on.wait(false);
    done.fetch_add(1);
  });
  executor.rest();  // nothing has been added
  add(executor, 0, "a");
  add(executor, 0, "b");
  EXPECT_EQ(done, 0);
  may_go_on = true;
  may_go_on.notify_all();
  executor.rest();
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace shm::kv

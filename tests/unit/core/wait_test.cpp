// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "array_heap.hpp"
#include "shmem.h"
#include "wait_line.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class WaitTest : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { rt.spin_polls = GetParam(); }
  void TearDown() override { rt.spin_polls = 0; }
};

TEST_P(WaitTest, EndsWhenTheConditionHolds) {
  int looks = 0;
  wait_for([&] { return ++looks == 400; });
  EXPECT_EQ(looks, 400);
  wait_for([] { return true; });
}

TEST_P(WaitTest, SeesAnotherThread) {
  for (int delay : {0, 1, 30}) {
    std::atomic<bool> set{false};
    std::thread other([&] {
      std::this_thread::sleep_for(milliseconds(delay));
      set.store(true);
    });
    wait_for([&] { return set.load(); });
    other.join();
  }
}

// What a call of the library waits for that says nothing else.
TEST(Wait, SaysThatItIsTheLibrarys) {
  std::atomic<bool> over{false};
  test::expect_wait_line(
      "the library waits for other PEs; since", [&] { wait_for([&] { return over.load(); }); },
      [&] { over.store(true); });
}

class WaitForWords : public ArrayHeap<long, 8> {
 protected:
  // What is said of a call that the word at 0x10 ends.
  void expect(const std::string& text, const std::function<void()>& wait) {
    heap = {5, 5, 3};
    test::expect_wait_line(text, wait, [this] { std::atomic_ref(heap[2]).store(5); });
  }
};

TEST_F(WaitForWords, SaysWhichAndWhatFor) {
  const long values[] = {5, 5, 5};
  std::size_t found[3];
  expect("shmem_long_wait_until waits until ivar at heap+0x10 is == 5; it is 3; since",
         [&] { shmem_long_wait_until(&heap[2], SHMEM_CMP_EQ, 5); });
  expect("shmem_long_wait_until_all waits until ivars at heap+0x10 is > 4; it is 3; since",
         [&] { shmem_long_wait_until_all(heap.data(), 3, nullptr, SHMEM_CMP_GT, 4); });
  expect("shmem_long_wait_until_all_vector waits until ivars at heap+0x10 is >= 5; it is 3; since",
         [&] { shmem_long_wait_until_all_vector(heap.data(), 3, nullptr, SHMEM_CMP_GE, values); });
  expect("shmem_long_wait_until_any waits until one of 2 words at heap+0x8 compares as asked; since", [&] {
    const int status[] = {1, 0};
    shmem_long_wait_until_any(&heap[1], 2, status, SHMEM_CMP_EQ, 5);
  });
  expect("shmem_long_wait_until_some waits until one of 1 words at heap+0x10 compares as asked; since",
         [&] { shmem_long_wait_until_some(&heap[2], 1, found, nullptr, SHMEM_CMP_NE, 3); });
  expect("shmem_signal_wait_until waits until sig_addr at heap+0x10 is != 3; it is 3; since",
         [&] { shmem_signal_wait_until(reinterpret_cast<std::uint64_t*>(&heap[2]), SHMEM_CMP_NE, 3); });
}

// Polls, then yields for a millisecond, then sleeps: how often it yields, the machine decides, but after that
// millisecond it looks at the clock within 32 yields, and from then on there are 20 us between its looks.
TEST_P(WaitTest, LooksNowAndThenWhenItIsLong) {
  constexpr long kYieldsPerLook = 32, kShortestSleepUs = 20;
  const auto end = Clock::now() + milliseconds(100);
  Clock::time_point yields{}, first{}, last{};  // its first yield, at the latest; looks when it sleeps
  unsigned looks = 0;
  long late_looks = 0;
  wait_for([&] {
    last = Clock::now();
    if (++looks == GetParam() + 2) yields = last;
    if (yields != Clock::time_point{} && last > yields + milliseconds(1) && ++late_looks == 1) first = last;
    return last >= end && late_looks > 0;
  });
  const auto slept = std::chrono::duration_cast<std::chrono::microseconds>(last - first).count();
  EXPECT_LE(late_looks, 1 + kYieldsPerLook + slept / kShortestSleepUs);
}

INSTANTIATE_TEST_SUITE_P(Polls, WaitTest, ::testing::Values(0U, 20U, 2000U));

}  // namespace
}  // namespace shm

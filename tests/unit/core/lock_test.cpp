// SPDX-License-Identifier: BSD-3-Clause
// Locks of two PEs of a node, of which this process is PE 0, and what is said of those who wait.
#include "core/lock.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "thread_state.hpp"
#include "wait_line.hpp"

namespace shm::test {
namespace {

// The words of a lock, as core/lock.hpp has them; tail and successors are PEs plus one.
struct LockWords {
  std::uint32_t tail, place;
};
constexpr std::uint32_t kPassedOn = std::uint32_t{1} << 31;

class LockTest : public ::testing::Test {
 protected:
  LockTest() {
    deltas_[1] = sizeof memory_[0];
    rt.npes = 2;
    rt.me = 0;
    rt.heap = {reinterpret_cast<std::uintptr_t>(memory_[0].data()), sizeof memory_[0], deltas_.data()};
  }
  ~LockTest() override {
    rt.npes = 0;
    rt.me = -1;
    rt.heap = {};
  }

  // Their homes are the PEs in turn.
  long* lock(std::size_t number) { return reinterpret_cast<long*>(&memory_[0][number]); }
  LockWords& words(std::size_t pe, std::size_t number) { return memory_[pe][number]; }
  static void store(std::uint32_t& word, std::uint32_t value) { std::atomic_ref(word).store(value); }

 private:
  std::array<std::array<LockWords, 8>, 2> memory_{};
  std::array<std::ptrdiff_t, 2> deltas_{};
};

TEST_F(LockTest, IsNotedAtItsHomeWhileItIsHeld) {
  for (const std::size_t number : {0, 1}) {
    set_lock({"shmem_set_lock"}, lock(number));
    EXPECT_EQ(words(number, number).tail, 1u);
    EXPECT_FALSE(test_lock({"shmem_test_lock"}, lock(number)));
    clear_lock({"shmem_clear_lock"}, lock(number));
    EXPECT_EQ(words(number, number).tail, 0u);
    EXPECT_TRUE(test_lock({"shmem_test_lock"}, lock(number)));
  }
}

TEST_F(LockTest, WhoWaitsNamesThePeBeforeIt) {
  words(1, 1).tail = 2;  // PE 1 has it
  expect_wait_line(
      "shmem_set_lock waits behind PE 1 for the lock at heap+0x8; since",
      [&] {
        set_lock({"shmem_set_lock"}, lock(1));
        EXPECT_EQ(words(1, 1).place, 1u) << "PE 0 is next";
        EXPECT_EQ(words(0, 1).place, 0u);
      },
      [&] { std::atomic_ref(words(0, 1).place).fetch_add(kPassedOn); });
}

TEST_F(LockTest, WhoSleepsIsWokenWhenItIsPassedOn) {
  constexpr std::uint32_t kAsleep = std::uint32_t{1} << 30;
  constexpr timespec kLimit{20, 0};
  set_lock({"shmem_set_lock"}, lock(0));
  words(0, 0) = {.tail = 2, .place = 2};  // PE 1 is next, and sleeps
  store(words(1, 0).place, kAsleep);
  std::atomic<pid_t> sleeper{0};
  long woken = -1;
  std::thread pe1([&] {
    sleeper = gettid();
    woken = syscall(SYS_futex, &words(1, 0).place, FUTEX_WAIT, kAsleep, &kLimit, nullptr, 0);
  });
  while (sleeper == 0 || !sleeps(sleeper)) std::this_thread::yield();
  clear_lock({"shmem_clear_lock"}, lock(0));
  pe1.join();
  EXPECT_EQ(woken, 0) << "not by the time limit";
  EXPECT_EQ(words(1, 0).place, kPassedOn | kAsleep) << "which it takes away itself";
}

// It has come, and has not said so yet.
TEST_F(LockTest, WhoClearsNamesThePeThatCameLast) {
  set_lock({"shmem_set_lock"}, lock(0));
  words(0, 0).tail = 2;
  expect_wait_line(
      "shmem_clear_lock waits for its successor at the lock at heap+0 to say so; PE 1 came last; since",
      [&] {
        clear_lock({"shmem_clear_lock"}, lock(0));
        EXPECT_EQ(words(1, 0).place, kPassedOn);
        EXPECT_EQ(words(0, 0).place, 0u);
      },
      [&] { store(words(0, 0).place, 2); });
}

}  // namespace
}  // namespace shm::test

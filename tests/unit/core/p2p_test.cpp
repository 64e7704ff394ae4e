// SPDX-License-Identifier: BSD-3-Clause
#include "core/p2p.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <thread>

#include "array_heap.hpp"

namespace shm {
namespace {

constexpr Call kCall{"shmem_int_test"};

TEST(Compare, KnowsTheSixComparisons) {
  const int cmps[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE};
  const bool less[] = {false, true, false, true, true, false};
  const bool equal[] = {true, false, false, true, false, true};
  const bool more[] = {false, true, true, false, false, true};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(compare(-1, cmps[i], 2), less[i]);
    EXPECT_EQ(compare(2, cmps[i], 2), equal[i]);
    EXPECT_EQ(compare(3U, cmps[i], 2U), more[i]);
  }
}

constexpr std::size_t kWords = 6;

class P2pTest : public ArrayHeap<int, kWords> {
 protected:
  Elements<int> elements(const int* status) const {
    return {words.data(), kWords, status, SHMEM_CMP_GE, &threshold, 0};
  }
  Words<int> now() const { return {kCall, "ivars", words.data(), kWords, SHMEM_CMP_GE}; }

  std::array<int, kWords>& words = heap;
  int threshold = 1;
};

TEST_F(P2pTest, AllMeansAllThatTakePart) {
  const int status[kWords] = {0, 1, 0, 1, 1, 1};
  words = {1, 0, 0, 0, 0, 0};
  EXPECT_FALSE(all_satisfied(elements(status), now()));
  words[2] = 5;
  EXPECT_TRUE(all_satisfied(elements(status), now()));
  EXPECT_FALSE(all_satisfied(elements(nullptr), now()));
  words = {1, 1, 1, 1, 1, 1};
  EXPECT_TRUE(all_satisfied(elements(nullptr), now()));
}

TEST_F(P2pTest, AnyFindsEveryElementInTurn) {
  words = {1, 0, 1, 0, 1, 1};
  const int status[kWords] = {0, 0, 0, 0, 0, 1};
  SearchTurn turn;
  std::set<std::size_t> found;
  for (int i = 0; i < 3; ++i) found.insert(any_satisfied(elements(status), now(), turn));
  EXPECT_EQ(found, (std::set<std::size_t>{0, 2, 4}));
  words = {};
  EXPECT_EQ(any_satisfied(elements(status), now(), turn), SIZE_MAX);
}

TEST_F(P2pTest, SomeListsAllOfThem) {
  words = {1, 0, 1, 0, 1, 1};
  std::size_t indices[kWords] = {};
  EXPECT_EQ(some_satisfied(elements(nullptr), now(), indices), 4U);
  EXPECT_EQ(indices[0], 0U);
  EXPECT_EQ(indices[3], 5U);
}

TEST_F(P2pTest, NothingTakesPart) {
  const int status[kWords] = {1, 1, 1, 1, 1, 1};
  EXPECT_TRUE(elements(status).empty());
  EXPECT_FALSE(elements(nullptr).empty());
  EXPECT_TRUE(all_satisfied(elements(status), now()));
}

TEST_F(P2pTest, VectorFormsCompareEachWithItsOwn) {
  const int values[kWords] = {1, 2, 3, 4, 5, 6};
  words = {1, 2, 3, 4, 5, 6};
  const Elements<int> each{words.data(), kWords, nullptr, SHMEM_CMP_EQ, values, 1};
  EXPECT_TRUE(all_satisfied(each, now()));
  words[3] = 5;
  EXPECT_FALSE(all_satisfied(each, now()));
}

/// A network on which nothing happens but what a poller does.
class IdleNetwork final : public Network {
 public:
  std::string describe() const override { return "idle"; }
  Status add_segment(SegmentId, void*, std::size_t) override { return {}; }
  Result<std::vector<std::byte>> address() override { return std::vector<std::byte>(); }
  Status connect(int, int, AddressLookup, MessageSink) override { return {}; }
  Channel* open_channel(ChannelUse) override { return nullptr; }
  void close_channel(Channel*) override {}
  bool poll() override { return false; }
  int wait_fd() const override { return -1; }
  bool may_block() override { return false; }
  std::size_t copy_limit() const override { return 0; }
  bool supports(AtomicOp, AtomicType, bool) const override { return false; }
};

// A program may do nothing but test: each test makes progress, and sees at once what that has brought.
TEST_F(P2pTest, ATestSeesWhatItsOwnPollBrings) {
  IdleNetwork network;
  Progress progress(network, nullptr, 0);
  rt.network = &network;
  rt.progress = &progress;
  const Poller arrive = [](void* all) {
    static_cast<std::array<int, kWords>*>(all)->fill(5);
    return true;
  };
  Progress::add_poller(arrive, &words);
  std::size_t indices[kWords] = {};
  const Elements<int> every = elements(nullptr);
  EXPECT_TRUE(shm::test(kCall, &words[2], SHMEM_CMP_EQ, 5));
  words.fill(0);
  EXPECT_TRUE(test_all(kCall, every));
  words.fill(0);
  EXPECT_LT(test_any(kCall, every), kWords);
  words.fill(0);
  EXPECT_EQ(test_some(kCall, every, indices), kWords);
  auto* const signal = reinterpret_cast<std::uint64_t*>(words.data());
  words.fill(0);
  EXPECT_EQ(shmem_signal_fetch(signal), std::uint64_t{5} << 32 | 5);
  Progress::remove_poller(arrive, &words);
  rt.network = nullptr;
  rt.progress = nullptr;
}

// Atomics on memory that is mapped here are single instructions: only who spins pays for polls.
TEST_F(P2pTest, WhoSpinsWithAtomicsMakesProgress) {
  IdleNetwork network;
  Progress progress(network, nullptr, 0);
  rt.network = &network;
  rt.progress = &progress;
  int polls = 0;
  const Poller count = [](void* all) { return ++*static_cast<int*>(all), false; };
  Progress::add_poller(count, &polls);
  words = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 200; ++i) shmem_int_atomic_fetch(&words[static_cast<std::size_t>(i) % kWords], 0);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(shmem_int_atomic_compare_swap(&words[0], 1 + i, 2 + i, 0), 1 + i);
  for (int i = 0; i < 200; ++i) shmem_int_atomic_add(&words[0], 1, 0);
  EXPECT_EQ(polls, 0) << "none of these spins";
  for (int i = 0; i < 200; ++i) shmem_int_atomic_fetch(&words[1], 0);
  EXPECT_GE(polls, 10);
  polls = 0;
  for (int i = 0; i < 200; ++i) EXPECT_EQ(shmem_int_atomic_compare_swap(&words[1], 7, 8, 0), 2);
  EXPECT_GE(polls, 10);
  polls = 0;
  for (int i = 0; i < 200; ++i) shmem_int_atomic_swap(&words[1], 2, 0);
  EXPECT_GE(polls, 10);
  Progress::remove_poller(count, &polls);
  rt.network = nullptr;
  rt.progress = nullptr;
}

TEST_F(P2pTest, WaitReturnsWhenAnotherThreadWrites) {
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    __atomic_store_n(&words[2], 7, __ATOMIC_RELEASE);
  });
  EXPECT_EQ(wait_until(kCall, "ivar", &words[2], SHMEM_CMP_NE, 0), 7);
  writer.join();
}

TEST_F(P2pTest, AWaitIsDescribedAsItWasAskedFor) {
  const char* const symbols[] = {"==", "!=", ">", "<=", "<", ">="};
  const int cmps[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE};
  for (std::size_t i = 0; i < 6; ++i) {
    WaitRecord record;
    describe_word(record, {"shmem_int_wait_until"}, "ivar", &words[2], cmps[i], -7, 5);
    EXPECT_STREQ(record.call, "shmem_int_wait_until");
    EXPECT_EQ(record.what, std::string("until ivar at heap+0x8 is ") + symbols[i] + " -7; it is 5");
  }
}

using P2pDeathTest = P2pTest;
TEST_F(P2pDeathTest, MistakesAreNamed) {
  int elsewhere = 0;
  EXPECT_DEATH(test(kCall, &elsewhere, SHMEM_CMP_EQ, 0), "shmem_int_test: ivar");
  EXPECT_DEATH(test(kCall, &words[0], 17, 0), "shmem_int_test: .*17");
  const auto* between = reinterpret_cast<const int*>(reinterpret_cast<const char*>(&words[0]) + 2);
  EXPECT_DEATH(test(kCall, between, SHMEM_CMP_EQ, 0), "shmem_int_test: ivar 0x.* is not aligned to 4 bytes");
  for (const std::size_t count :
       {kWords + 1, SIZE_MAX / sizeof(int) + 2, SIZE_MAX}) {  // the second wraps to 4 bytes
    EXPECT_DEATH(Words<int>(kCall, "ivars", words.data(), count, SHMEM_CMP_EQ), "ivars 0x.* past the end");
  }
}

}  // namespace
}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
#include "loop.hpp"

#include "loop_job.hpp"

namespace shm::test {
namespace {

std::vector<std::pair<int, std::uint64_t>> arrived;
void record_arrival(int from, std::uint16_t, const std::byte* message, std::size_t n) {
  std::uint64_t value = 0;
  std::memcpy(&value, message, std::min<std::size_t>(n, 8));
  arrived.emplace_back(from, value);
}

TEST(Loop, NothingHappensBeforeThePoll) {
  LoopJob job(2, 16, record_arrival);
  LoopPe& a = job.pes[0];
  std::uint64_t value = 5;
  Completion done;
  a.ops().put(a.channel, 1, LoopPe::word(3), &value, 8, true, &done);
  value = 6;  // copied
  EXPECT_FALSE(done.done());
  EXPECT_FALSE(a.ops().idle(a.channel));
  EXPECT_FALSE(a.ops().idle_to(a.channel, 1));
  EXPECT_TRUE(a.ops().idle_to(a.channel, 0));
  EXPECT_EQ(job.pes[1].heap[3], 0u);
  EXPECT_TRUE(a.net->poll());
  EXPECT_TRUE(done.done());
  EXPECT_TRUE(a.ops().idle(a.channel));
  EXPECT_EQ(job.pes[1].heap[3], 5u);
  EXPECT_FALSE(a.net->poll());
}

TEST(Loop, GetsAndAtomicsSeeWhatWasIssuedBefore) {
  LoopJob job(2, 16, record_arrival);
  LoopPe& a = job.pes[0];
  const std::uint64_t five = 5, three = 3;
  std::uint64_t old = 0, now = 0;
  a.ops().put(a.channel, 1, LoopPe::word(0), &five, 8, true, nullptr);
  EXPECT_TRUE(a.ops().fence(a.channel));
  a.ops().amo(a.channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &three, nullptr, &old, nullptr);
  a.ops().get(a.channel, 1, &now, LoopPe::word(0), 8, nullptr);
  job.quiet(a);
  EXPECT_EQ(old, 5u);
  EXPECT_EQ(now, 8u);
}

TEST(Loop, MessagesArriveInOrderWhenTheTargetPolls) {
  LoopJob job(3, 16, record_arrival);
  arrived.clear();
  for (std::uint64_t i = 0; i < 5; ++i) job.pes[0].ops().send(job.pes[0].channel, 2, 1, &i, 8);
  job.quiet(job.pes[0]);
  job.pes[2].net->poll();
  ASSERT_EQ(arrived.size(), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(arrived[i], (std::pair<int, std::uint64_t>(0, i)));
}

}  // namespace
}  // namespace shm::test

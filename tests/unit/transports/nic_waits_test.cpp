// SPDX-License-Identifier: BSD-3-Clause
// What waits for what behind the software NIC while several threads issue on one channel.
#include <atomic>
#include <thread>

#include "../sleeps.hpp"
#include "base/stats.hpp"
#include "nic/packet.hpp"
#include "nic_job.hpp"

namespace shm::test {
namespace {

// A thread that waits for what a fence has put ahead of its long put leaves the fence to what other threads
// pack meanwhile: an add behind it is not made one with an add before it.
TEST(Nic, AThreadThatWaitsForAFenceDoesNotUseItUpForOthers) {
  std::atomic<bool> joined{false};
  LoopJob* job_of_sink = nullptr;
  const auto add = [&](std::size_t word) {
    const LoopPe& pe = job_of_sink->pes[0];
    const std::uint64_t one = 1;
    pe.ops().amo(pe.channel, 3, LoopPe::word(word), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                 nullptr);
  };
  const auto as_other_thread = [&](int, std::uint16_t, const std::byte*, std::size_t) {
    add(1);
    joined.store(true);
  };
  LoopJob job(4, 1024, as_other_thread, behind_nic(0));
  const Node nodes(job, 2);
  job_of_sink = &job;
  LoopPe& pe = job.pes[0];
  job.pes[1].ops().send(job.pes[1].channel, 0, 1, nullptr, 0);
  job.pes[1].net->poll();  // arrives when PE 0 polls, that is, waits
  take_stats();
  add(0);  // leaves, alone, for PE 3 instead of PE 2, which executes: what follows waits for its answer
  add(1);
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  std::thread target([&] {
    while (!joined.load()) std::this_thread::yield();
    for (std::size_t i = 0; i < 1'000'000 && !pe.ops().idle(pe.channel); ++i) job.pes[2 + i % 2].net->poll();
  });
  const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, 1);
  pe.ops().put(pe.channel, 3, LoopPe::word(2), many.data(), many.size() * 8, false, nullptr);
  job.quiet(pe);
  target.join();
  EXPECT_EQ(load(job.pes[3].heap[1]), 2u);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::combined)], 0u);
}

// Another thread goes on adding, so that something is always outstanding.
TEST(Nic, AWaitForWhatWasIssuedEndsThoughOthersGoOn) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::uint64_t one = 1;
  const auto add = [&](std::size_t word) {
    pe.ops().amo(pe.channel, 1, LoopPe::word(word), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                 nullptr);
  };
  add(1);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    add(0);
    pe.ops().flush(pe.channel);
    Drain wait;
    for (std::size_t i = 0; i < 100 && !drained(pe.channel, wait); ++i) {
      EXPECT_FALSE(pe.ops().idle(pe.channel));
      job.pes[i % 2].net->poll();
      add(1);
    }
    ASSERT_TRUE(drained(pe.channel, wait));
    EXPECT_EQ(load(job.pes[1].heap[0]), round);
  }
}

// Long puts go the direct way.
TEST(Nic, AWaitForWhatWasIssuedIncludesWhatIsNotPacked) {
  LoopJob job(2, 1024, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, 1);
  pe.ops().put(pe.channel, 1, LoopPe::word(0), many.data(), many.size() * 8, false, nullptr);
  Drain wait;
  EXPECT_FALSE(drained(pe.channel, wait));
  job.quiet(pe);
  EXPECT_TRUE(drained(pe.channel, wait));
}

// A packet that is not answered for long is not looked for without end.
TEST(Nic, WhoWaitsForAnAnswerSleeps) {
  const std::uint64_t one = 1;
  const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, 1);  // until the job has ended
  LoopJob job(2, 1024, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  pe.ops().amo(pe.channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
               nullptr);
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  std::atomic<bool> over{false};
  std::thread target([&, waiting = gettid()] {
    EXPECT_TRUE(has_slept(waiting, 5));
    while (!over.load()) job.pes[1].net->poll();
  });
  pe.ops().put(pe.channel, 1, LoopPe::word(1), many.data(), many.size() * 8, false, nullptr);
  over.store(true);
  target.join();
}

}  // namespace
}  // namespace shm::test

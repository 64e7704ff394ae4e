// SPDX-License-Identifier: BSD-3-Clause
// Packets that the PEs of a node share.
#include "nic/share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/stats.hpp"
#include "nic_job.hpp"

namespace shm::test {
namespace {

// All threads of all PEs of two nodes wait for one fetch-and-add after the other, on words of the other node.
TEST(Nic, PesOfANodeShareThePacketsOfBlockingAtomics) {
  constexpr std::size_t kThreads = 2, kAdds = 500;
  const std::uint64_t seed = std::random_device{}() % 100000;
  SCOPED_TRACE("seed " + std::to_string(seed));
  LoopJob job(kPes, 8, ignore, behind_nic(seed + 1));
  const Node nodes(job, 2);
  take_stats();
  std::vector<std::uint64_t> fetched[kPes * kThreads];
  {
    Agents agents(job);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kPes * kThreads; ++t) {
      threads.emplace_back([&, t] {
        LoopPe& pe = job.pes[t / kThreads];
        const int to = static_cast<int>((t / kThreads + 2) % kPes / 2 * 2);
        for (std::size_t i = 0; i < kAdds; ++i) {
          const std::uint64_t one = 1;
          std::uint64_t old = ~std::uint64_t{0};
          Completion done;
          pe.ops().amo(pe.channel, to, LoopPe::word(3), AtomicOp::add, AtomicType::u64, &one, nullptr, &old,
                       &done);
          wait(pe, done);
          fetched[t].push_back(old);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const int target : {0, 2}) {
    std::set<std::uint64_t> all;
    for (std::size_t t = 0; t < kPes * kThreads; ++t) {
      if (static_cast<int>((t / kThreads + 2) % kPes / 2 * 2) != target) continue;
      EXPECT_TRUE(std::is_sorted(fetched[t].begin(), fetched[t].end()));
      all.insert(fetched[t].begin(), fetched[t].end());
    }
    EXPECT_EQ(all.size(), 2 * kThreads * kAdds);
    EXPECT_EQ(*all.rbegin(), 2 * kThreads * kAdds - 1);
  }
  const StatValues stats = take_stats();
  const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
  EXPECT_EQ(of(Stat::packed), kPes * kThreads * kAdds);
  EXPECT_EQ(of(Stat::executed), of(Stat::packed));
  EXPECT_EQ(of(Stat::packets) + of(Stat::shared), of(Stat::packed));
}

// The first request leaves at once; the next two, of two PEs, are held until its answer is there, and leave
// together.
TEST(Nic, RequestsPostedWhileAPacketIsUnderWayShareTheNext) {
  bool in_time = false;
  for (int attempt = 0; !in_time && attempt < 100; ++attempt) {
    LoopJob job(kPes, 8, ignore, behind_nic(0));
    const Node nodes(job, 2);
    take_stats();
    const std::int64_t begun = nic::clock_now();
    const std::uint64_t one = 1;
    std::uint64_t old[3] = {};
    Completion done[3];
    for (const std::size_t i : {0, 1, 2}) {
      LoopPe& pe = job.pes[i % 2];
      pe.ops().amo(pe.channel, 2, LoopPe::word(3), AtomicOp::add, AtomicType::u64, &one, nullptr, &old[i],
                   &done[i]);
    }
    while (!done[0].done() || !done[1].done() || !done[2].done()) job.poll_all();
    // What waits longer for its sender is sent alone.
    in_time = nic::clock_now() - begun < nic::kPatience;
    const StatValues stats = take_stats();
    const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
    EXPECT_EQ(of(Stat::packed), 3u);
    EXPECT_EQ(load(job.pes[2].heap[3]), 3u);
    if (in_time) {
      EXPECT_EQ(of(Stat::shared), 1u);
      EXPECT_EQ(of(Stat::packets), 2u);
    }
  }
  EXPECT_TRUE(in_time) << "every attempt took longer than a request waits for its sender";
}

// Requests for several nodes: slots are used again for other nodes while senders look at them.
TEST(Nic, SharedPacketsForManyNodesLoseAndRepeatNothing) {
  constexpr std::size_t kAll = 8, kThreads = 2, kAdds = 400;
  const std::uint64_t seed = std::random_device{}() % 100000;
  SCOPED_TRACE("seed " + std::to_string(seed));
  LoopJob job(kAll, 8, ignore, behind_nic(0));
  const Node nodes(job, 2);
  Agents agents(job);
  std::vector<std::uint64_t> added[kAll * kThreads];
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kAll * kThreads; ++t) {
    added[t].resize(kAll);
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed + t);
      LoopPe& pe = job.pes[t / kThreads];
      for (std::size_t i = 0; i < kAdds; ++i) {
        const std::size_t to = (t / kThreads / 2 * 2 + 2 + random() % (kAll - 2)) % kAll;  // on another node
        const std::uint64_t value = random() % 1000;
        std::uint64_t old = 0;
        Completion done;
        pe.ops().amo(pe.channel, static_cast<int>(to), LoopPe::word(t % 8), AtomicOp::add, AtomicType::u64,
                     &value, nullptr, &old, &done);
        wait(pe, done);
        added[t][to] += value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t pe = 0; pe < kAll; ++pe) {
    std::uint64_t expected = 0, found = 0;
    for (const auto& list : added) expected += list[pe];
    for (std::size_t w = 0; w < 8; ++w) found += load(job.pes[pe].heap[w]);
    EXPECT_EQ(found, expected) << "PE " << pe;
  }
}

// PE 1 is the deputy of its node; it has sent, keeps the sender's place, and is stopped then.
TEST(Nic, NobodyWaitsLongForAStoppedSender) {
  LoopJob job(4, 8, ignore, behind_nic(0));
  const Node nodes(job, 2);
  const std::uint64_t one = 1;
  std::uint64_t stopped_old = 0;
  Completion stopped;
  const auto fetch_add = [&](std::size_t pe, int to, std::uint64_t* old, Completion* done) {
    job.pes[pe].ops().amo(job.pes[pe].channel, to, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one,
                          nullptr, old, done);
  };
  fetch_add(1, 2, &stopped_old, &stopped);
  for (int i = 0; i < 5; ++i) {
    std::uint64_t old = 0;
    Completion done;
    fetch_add(0, 3, &old, &done);
    while (!done.done()) {
      for (const std::size_t pe : {0, 2, 3}) job.pes[pe].net->poll();
    }
    EXPECT_EQ(old, static_cast<std::uint64_t>(i));
  }
  EXPECT_FALSE(stopped.done());
  while (!stopped.done()) job.poll_all();
}

// A PE that sleeps gets a message when a node peer has executed an atomic on its memory; one alone comes to
// it.
TEST(Nic, APeThatSleepsIsWokenByItsNeighbour) {
  LoopJob job(4, 8, ignore, behind_nic(0));
  const Node nodes(job, 2);
  const std::uint64_t one = 1;
  const auto add = [&](int to) {
    job.pes[0].ops().amo(job.pes[0].channel, to, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one,
                         nullptr, nullptr, nullptr);
  };
  const auto add_by_neighbour = [&] {
    add(2);  // alone, and there: what follows shares a packet, executed by PE 2
    add(2);
    add(3);
    while (!job.pes[0].ops().idle(job.pes[0].channel)) {
      for (const std::size_t pe : {0, 1, 2}) job.pes[pe].net->poll();
    }
    for (int i = 0; i < 4; ++i) job.pes[2].net->poll();  // the message leaves
  };
  add_by_neighbour();
  EXPECT_FALSE(job.pes[3].net->poll());
  job.pes[3].net->begin_sleep();
  add_by_neighbour();
  EXPECT_TRUE(job.pes[3].net->poll());
  EXPECT_EQ(job.pes[3].heap[0], 2u);
  add_by_neighbour();
  EXPECT_FALSE(job.pes[3].net->poll()) << "one message for each sleep: this PE may be stopped";
  job.pes[3].net->end_sleep();
  job.pes[3].net->begin_sleep();
  add_by_neighbour();
  EXPECT_TRUE(job.pes[3].net->poll());
  job.pes[3].net->end_sleep();
  add_by_neighbour();
  EXPECT_FALSE(job.pes[3].net->poll());
  add(3);
  job.pes[0].net->poll();
  EXPECT_TRUE(job.pes[3].net->poll());
  EXPECT_EQ(job.pes[3].heap[0], 6u);
}

}  // namespace
}  // namespace shm::test

// SPDX-License-Identifier: BSD-3-Clause
// Packets that the PEs of a node share.
#include "nic/node_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "nic_job.hpp"
#include "page_access.hpp"

namespace shm::test {
namespace {

// All threads of all PEs of two nodes wait for one fetch-and-add after the other, on words of the other node.
TEST(Nic, PesOfANodeShareThePacketsOfBlockingAtomics) {
  constexpr std::size_t kThreads = 2, kAdds = 500;
  const std::uint64_t seed = seed_of_run();
  LoopJob job(kPes, 8, ignore, behind_nic(seed + 1));
  const Node nodes(job, 2);
  take_stats();
  std::vector<std::uint64_t> fetched[kPes * kThreads];
  std::int64_t longest[kPes * kThreads] = {};  // nanoseconds that a thread has waited for one
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
          const std::int64_t since = nic::clock_now();
          pe.ops().amo(pe.channel, to, LoopPe::word(3), AtomicOp::add, AtomicType::u64, &one, nullptr, &old,
                       &done);
          wait(pe, done);
          longest[t] = std::max(longest[t], nic::clock_now() - since);
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
  // What nobody takes for kPatience leaves by its PE's own packets, where its threads share without being
  // counted: a machine with other work may be as slow as that.
  if (*std::max_element(std::begin(longest), std::end(longest)) < nic::kPatience) {
    EXPECT_EQ(of(Stat::packets) + of(Stat::shared), of(Stat::packed));
  } else {
    EXPECT_LE(of(Stat::packets) + of(Stat::shared), of(Stat::packed));
  }
}

// What finds none of its PE's slots free goes the way of a PE that has nobody to share with.
TEST(Nic, MoreRequestsThanABoardHasSlots) {
  LoopJob job(kPes, 8, ignore, behind_nic(0));
  const Node nodes(job, 2);
  constexpr std::size_t kWaiting = nic::SharedSlots::kSlots + 3;
  const std::uint64_t one = 1;
  std::uint64_t old[kWaiting] = {};
  Completion done[kWaiting];
  LoopPe& pe = job.pes[0];
  for (std::size_t i = 0; i < kWaiting; ++i)
    pe.ops().amo(pe.channel, 2, LoopPe::word(3), AtomicOp::add, AtomicType::u64, &one, nullptr, &old[i],
                 &done[i]);
  for (const Completion& each : done) {
    while (!each.done()) job.poll_all();
  }
  EXPECT_EQ(std::set<std::uint64_t>(std::begin(old), std::end(old)).size(), kWaiting);
  EXPECT_EQ(load(job.pes[2].heap[3]), kWaiting);
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
    EXPECT_EQ(of(Stat::atomics), 3u);
    EXPECT_EQ(load(job.pes[2].heap[3]), 3u);
    if (in_time) {
      EXPECT_EQ(of(Stat::shared), 1u);
      EXPECT_EQ(of(Stat::packets), 2u);
      EXPECT_EQ(of(Stat::answered_packets), 1u) << "the second; the first had nothing before it";
      EXPECT_EQ(of(Stat::full_packets) + of(Stat::wanted_packets) + of(Stat::old_packets), 0u);
    }
  }
  EXPECT_TRUE(in_time) << "every attempt took longer than a request waits for its sender";
}

// Requests for several nodes: slots are used again for other nodes while senders look at them.
TEST(Nic, SharedPacketsForManyNodesLoseAndRepeatNothing) {
  constexpr std::size_t kAll = 8, kThreads = 2, kAdds = 400;
  const std::uint64_t seed = seed_of_run();
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

// PE 1 is the deputy of its node; it has sent, keeps the right to send, and is stopped then.
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
  const auto no_message = [](int, std::uint16_t id, const std::byte*, std::size_t) {
    ADD_FAILURE() << "a handler is to run for " << id;
  };
  LoopJob job(4, 8, no_message, behind_nic(0));
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

// So it does for a put, but not for a get.
TEST(Nic, APeThatSleepsIsWokenByPutsAlone) {
  LoopJob job(4, 8, ignore, behind_nic(0, Packed::all));
  const Node nodes(job, 2);
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  std::uint64_t got = 0;
  const auto put = [&](int to) { pe.ops().put(pe.channel, to, LoopPe::word(0), &value, 8, true, nullptr); };
  const auto finish = [&] {
    while (!pe.ops().idle(pe.channel))
      for (const std::size_t each : {0, 1, 2}) job.pes[each].net->poll();
    for (int i = 0; i < 4; ++i) job.pes[2].net->poll();  // the message leaves
  };
  job.pes[3].net->begin_sleep();
  put(2);  // alone: what follows shares a packet, executed by PE 2
  put(2);
  pe.ops().get(pe.channel, 3, &got, LoopPe::word(0), 8, nullptr);
  finish();
  EXPECT_FALSE(job.pes[3].net->poll());
  put(2);
  put(2);
  put(3);
  finish();
  EXPECT_TRUE(job.pes[3].net->poll());
  EXPECT_EQ(job.pes[3].heap[0], value);
  job.pes[3].net->end_sleep();
}

// PE 1 on one node with PE 0, which is left to the test; PE 2 and PE 3 on nodes of their own.  A page begins
// where the slots of PE 0 do.
class AllSharedSlots {
 public:
  AllSharedSlots(LoopJob& job, WatchedPages& pages)
      : all_slots_{pages.at(1) - offsetof(nic::SharedSlots, slots)} {
    for (const std::size_t pe : {1, 2, 3}) all_slots_[pe] = pages.at(5 * pe);
    NodeMap map;
    map.members.resize(3);
    for (const int node : {0, 0, 1, 2}) map.add(node);
    for (const std::size_t pe : {1, 2, 3}) {
      map.segments.clear();
      map.shared_slots.clear();
      for (const int peer : map.members[pe - 1]) {
        LoopPe& member = job.pes[static_cast<std::size_t>(peer)];
        map.segments.push_back({NodeMap::Segment{member.bytes(), member.heap.size() * 8}, {}});
        map.shared_slots.push_back(all_slots_[static_cast<std::size_t>(peer)]);
      }
      job.pes[pe].net->join_node(map);
    }
  }
  nic::SharedSlots& of(std::size_t pe) const { return *reinterpret_cast<nic::SharedSlots*>(all_slots_[pe]); }

 private:
  std::byte* all_slots_[4];
};

// PE 1 sends for node 1 what PE 0 has posted.  Between its looks PE 0 withdraws its request, and posts one
// for node 2 in the same slot: PE 1 must put it back.
TEST(Nic, ARequestThatTakesThePlaceOfAWithdrawnOneIsLeftToItsPe) {
  LoopJob job(4, 8, ignore, behind_nic(0));
  WatchedPages pages(20);
  const AllSharedSlots slots(job, pages);
  LoopPe& pe = job.pes[1];
  nic::SharedSlots& shared = slots.of(0);
  nic::Slot& slot = shared.slots[0];
  const auto post = [&](int node, int word) {
    slot.node.store(node);
    slot.word = nic::encode({static_cast<std::uint64_t>(word) * 8, 0, SegmentId::heap, AtomicType::u64,
                             nic::code_of(AtomicOp::add), true, false});
    slot.value = 1000;
    slot.done.store(0);
    shared.posted.fetch_or(1);
  };
  post(1, 4);
  pages.at_next_access(1, [&] {                    // PE 1 looks at the slot
    pages.at_next_access(0, [&] { post(2, 5); });  // ... and then at the bit again
  });
  const std::uint64_t one = 1;
  std::uint64_t old = 7;
  Completion done;
  pe.ops().amo(pe.channel, 2, LoopPe::word(3), AtomicOp::add, AtomicType::u64, &one, nullptr, &old, &done);
  for (const std::size_t of : {0, 1, 2, 3}) job.pes[of].net->poll();
  while (!done.done()) job.poll_all();
  EXPECT_EQ(old, 0u);
  EXPECT_EQ(slot.node.load(), 2);
  EXPECT_EQ(shared.posted.load(), 1u) << "PE 0 sends it";
  EXPECT_EQ(slot.done.load(), 0u);
  EXPECT_EQ(job.pes[2].heap[4] + job.pes[2].heap[5], 0u);
}

// What came last to a PE that has no software NIC.
std::vector<std::byte> packet;
void keep(int, std::uint16_t id, const std::byte* message, std::size_t n) {
  if (id == nic::kPacketId) packet.assign(message, message + n);
}

// PE 2 answers what it should not.
class NicDeath : public ::testing::Test {
 protected:
  NicDeath()
      : job(kPes, 8, keep,
            [](std::unique_ptr<Network> inner, int pe) {
              return pe < 2 ? make_nic(std::move(inner), {.batch = true}) : std::move(inner);
            }),
        nodes(job, 2) {}

  void answer(std::size_t results, std::uint64_t wrong_in_name = 0) {
    while (packet.empty()) job.poll_all();
    std::uint64_t reply[3] = {};
    std::memcpy(reply, packet.data() + offsetof(nic::PacketHead, issuer), 8);
    reply[0] ^= wrong_in_name;
    job.pes[2].ops().send(job.pes[2].channel, 0, nic::kReplyId, reply, 8 + 8 * results);
    for (int i = 0; i < 100; ++i) job.poll_all();
  }
  void add(std::uint64_t* old, Completion* done) {
    const std::uint64_t one = 1;
    LoopPe& pe = job.pes[0];
    pe.ops().amo(pe.channel, 2, LoopPe::word(3), AtomicOp::add, AtomicType::u64, &one, nullptr, old, done);
  }

  LoopJob job;
  Node nodes;
};

TEST_F(NicDeath, AnAnswerOfAnotherLengthToASharedPacket) {
  std::uint64_t old = 0;
  Completion done;
  EXPECT_EXIT(add(&old, &done);
              answer(2), ::testing::ExitedWithCode(kErrorExit), "PE 2 answered 16 bytes to 1 atomics");
}

TEST_F(NicDeath, AnAnswerOfAnotherLengthToAPacket) {
  EXPECT_EXIT(add(nullptr, nullptr); answer(2), ::testing::ExitedWithCode(kErrorExit),
                                     "PE 2 answered 16 bytes to a packet that asks for 0");
}

TEST_F(NicDeath, AnAnswerToNobody) {
  for (const std::uint64_t wrong : {std::uint64_t{1} << 32, std::uint64_t{77}, ~std::uint64_t{0}})
    EXPECT_EXIT(add(nullptr, nullptr);
                answer(0, wrong), ::testing::ExitedWithCode(kErrorExit), "PE 2 answered a packet of nobody");
}

TEST_F(NicDeath, OneAnswerMoreThanPackets) {
  EXPECT_EXIT(add(nullptr, nullptr); answer(0); answer(0), ::testing::ExitedWithCode(kErrorExit),
                                                "PE 2 answered a packet that it was not sent");
  std::uint64_t old = 0;
  Completion done;
  EXPECT_EXIT(add(&old, &done); answer(1); answer(1), ::testing::ExitedWithCode(kErrorExit),
                                           "PE 2 answered a packet that it was not sent");
}

}  // namespace
}  // namespace shm::test

// SPDX-License-Identifier: BSD-3-Clause
// The software NIC over the loop network and over the faulty one, where packets and direct operations
// overtake each other.
#include "nic/nic.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <set>
#include <thread>

#include "../core/wait_line.hpp"
#include "base/stats.hpp"
#include "nic/combine.hpp"
#include "nic_job.hpp"
#include "page_access.hpp"

namespace shm::test {
namespace {

// That each PE owns at each other PE: blocks of them are short enough for a packet, or too long.
constexpr std::size_t kWords = 3 * nic::kLargestPacked / 2 / 8;

// A random program.  PE `writer` alone writes words [writer * kWords, +kWords) of each PE, and sets a fence
// between two operations on one word, so that program order decides.
class Program {
 public:
  Program(std::uint64_t seed, bool faults, Packed packed)
      : random_(seed),
        job_(kPes, kPes * kWords, ignore, behind_nic(faults ? seed + 1 : 0, packed)),
        nodes_(job_, 1 + seed % 2),
        agents_(job_) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (LoopPe& pe : job_.pes) job_.quiet(pe);
    for (const Fetched& fetched : fetched_) EXPECT_EQ(fetched.got, fetched.expected);
    for (std::size_t pe = 0; pe < kPes; ++pe) {
      for (std::size_t w = 0; w < kPes * kWords; ++w) {
        EXPECT_EQ(load(job_.pes[pe].heap[w]), model_[pe][w]) << "PE " << pe << " word " << w;
      }
    }
  }

 private:
  struct Fetched {
    std::uint64_t got = 0, expected = 0;
  };

  // [first, first + n) of `to` may be written next.
  void order(LoopPe& pe, int me, int to, std::size_t first, std::size_t n) {
    for (std::size_t w = first; w < first + n; ++w) {
      if (written_[to][w] != epoch_[me] + 1) continue;
      fence(job_, pe);
      ++epoch_[me];
      break;
    }
    for (std::size_t w = first; w < first + n; ++w) written_[to][w] = epoch_[me] + 1;
  }

  void put_many(LoopPe& pe, int me, int to) {
    const std::size_t n = 1 + random_() % kWords, first = static_cast<std::size_t>(me) * kWords;
    order(pe, me, to, first, n);
    std::vector<std::uint64_t>& source = sources_.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) source[i] = model_[to][first + i] = random_();
    pe.ops().put(pe.channel, to, LoopPe::word(first), source.data(), n * 8, false, nullptr);
  }

  // The signal lies behind what is put.  What the network declines goes as the core has it go.
  void put_signal(LoopPe& pe, int me, int to) {
    const std::size_t n = 1 + random_() % (kWords - 1), first = static_cast<std::size_t>(me) * kWords;
    order(pe, me, to, first, n + 1);
    std::vector<std::uint64_t>& source = sources_.emplace_back(n);
    for (std::uint64_t& word : source) word = random_();
    const std::uint64_t three = 3;
    if (to == me || pe.ops().put_signal(pe.channel, to, LoopPe::word(first), source.data(), n * 8,
                                        LoopPe::word(first + n), AtomicOp::add, three) == Taken::no) {
      pe.ops().put(pe.channel, to, LoopPe::word(first), source.data(), n * 8, false, nullptr);
      fence(job_, pe);
      ++epoch_[me];
      written_[to][first + n] = epoch_[me] + 1;
      pe.ops().amo(pe.channel, to, LoopPe::word(first + n), AtomicOp::add, AtomicType::u64, &three, nullptr,
                   nullptr, nullptr);
    }
    std::ranges::copy(source, &model_[to][first]);
    model_[to][first + n] += three;
  }

  // Of what this PE alone writes, at places that need not be aligned.
  void get_some(LoopPe& pe, int me, int to) {
    job_.quiet(pe);
    struct Part {
      std::size_t first, n;
      std::vector<std::byte> got;
    };
    std::vector<Part> parts(1 + random_() % 40);
    for (Part& part : parts) {
      part.first = random_() % (kWords * 8);
      const std::size_t most = kWords * 8 - part.first;
      part.n = 1 + random_() % std::min(most, std::size_t{1} << random_() % 14);
      part.got.resize(part.n);
      const std::size_t offset = static_cast<std::size_t>(me) * kWords * 8 + part.first;
      if (part.n <= nic::kGetRecord && to != me) {
        pe.ops().get_element(pe.channel, to, part.got.data(), {SegmentId::heap, offset}, part.n);
      } else {
        pe.ops().get(pe.channel, to, part.got.data(), {SegmentId::heap, offset}, part.n, nullptr);
      }
    }
    job_.quiet(pe);
    const auto* all = reinterpret_cast<const std::byte*>(&model_[to][static_cast<std::size_t>(me) * kWords]);
    for (const Part& part : parts)
      EXPECT_EQ(std::memcmp(part.got.data(), all + part.first, part.n), 0) << part.n << " at " << part.first;
  }

  void update(LoopPe& pe, int me, int to, std::size_t index) {
    static constexpr AtomicOp kOps[] = {AtomicOp::add,   AtomicOp::bit_xor,      AtomicOp::swap,
                                        AtomicOp::fetch, AtomicOp::compare_swap, AtomicOp::max,
                                        AtomicOp::set};
    const AtomicOp op = kOps[random_() % std::size(kOps)];
    std::uint64_t& modelled = model_[to][index];
    const std::uint64_t value = random_(), compare = random_() % 2 ? modelled : value;
    Fetched& fetched = fetched_.emplace_back();
    const bool fetches = op != AtomicOp::set && random_() % 2;
    if (fetches) fetched.expected = modelled;
    void* fetch = fetches ? &fetched.got : nullptr;
    if (fetches && random_() % 4 == 0) {
      Completion done;
      pe.ops().amo(pe.channel, to, LoopPe::word(index), op, AtomicType::u64, &value, &compare, fetch, &done);
      wait(pe, done);
      EXPECT_EQ(fetched.got, fetched.expected);
    } else if (!fetches && nic::operands_of(op) == 1 && to != me && random_() % 2 == 0) {
      pe.ops().update(pe.channel, to, LoopPe::word(index), {op, AtomicType::u64}, value);
    } else {
      pe.ops().amo(pe.channel, to, LoopPe::word(index), op, AtomicType::u64, &value, &compare, fetch,
                   nullptr);
    }
    atomic_apply(op, AtomicType::u64, &modelled, &value, &compare, nullptr);
  }

  void step() {
    const int me = static_cast<int>(random_() % kPes), to = static_cast<int>(random_() % kPes);
    LoopPe& pe = job_.pes[static_cast<std::size_t>(me)];
    const std::size_t index = static_cast<std::size_t>(me) * kWords + random_() % kWords;
    const std::uint64_t value = random_();
    switch (random_() % 16) {
      case 0: return hint(pe, true, random_() % 2 ? SIZE_MAX : random_() % 50);
      case 1: return hint(pe, false);
      case 2: return put_many(pe, me, to);
      case 3: return fence(job_, pe);
      case 4: return random_() % 2 ? job_.quiet(pe) : get_some(pe, me, to);
      case 5: {
        job_.quiet(pe);
        std::uint64_t got = 0;
        Completion done;
        pe.ops().get(pe.channel, to, &got, LoopPe::word(index), 8, &done);
        wait(pe, done);
        EXPECT_EQ(got, model_[to][index]);
        return;
      }
      case 6: return put_signal(pe, me, to);
      case 7:
      case 8:
      case 9:
      case 10:
        order(pe, me, to, index, 1);
        if (to != me && random_() % 2 != 0) {
          pe.ops().put_word(pe.channel, to, LoopPe::word(index), value, 8);
        } else {
          pe.ops().put(pe.channel, to, LoopPe::word(index), &value, 8, true, nullptr);
        }
        model_[to][index] = value;
        return;
      default: order(pe, me, to, index, 1); return update(pe, me, to, index);
    }
  }

  std::mt19937_64 random_;
  LoopJob job_;
  Node nodes_;
  std::uint64_t model_[kPes][kPes * kWords] = {};
  std::uint64_t written_[kPes][kPes * kWords] = {};  // epoch of the last write, plus one
  std::uint64_t epoch_[kPes] = {};                   // fences of each PE
  std::deque<std::vector<std::uint64_t>> sources_;
  std::deque<Fetched> fetched_;
  Agents agents_;  // first to go
};

void run_programs(bool faults, Packed packed) {
  const std::uint64_t first = seed_of_run();
  for (std::uint64_t seed = first; seed < first + 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program(seed, faults, packed).run(1500);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Nic, RandomProgramsGiveWhatTheModelGives) { run_programs(false, Packed::atomics); }
TEST(Nic, RandomProgramsOverTheFaultyNetworkGiveWhatTheModelGives) { run_programs(true, Packed::atomics); }
TEST(Nic, RandomPackedProgramsGiveWhatTheModelGives) { run_programs(false, Packed::all); }
TEST(Nic, RandomPackedProgramsOverTheFaultyNetworkGiveWhatTheModelGives) { run_programs(true, Packed::all); }
TEST(Nic, RandomNativeProgramsGiveWhatTheModelGives) { run_programs(false, Packed::nothing); }
TEST(Nic, RandomNativeProgramsOverANetworkThatLacksAtomicsGiveWhatTheModelGives) {
  run_programs(true, Packed::nothing);
}

// Reports of waits name who must act: the target of an atomic that is alone, else the PE that executes.
TEST(Nic, KnowsWhichPeMustAct) {
  LoopJob job(4, 8, ignore, behind_nic(0));
  const Node nodes(job, 2);
  LoopPe& pe = job.pes[0];
  const auto add = [&](int to) {
    const std::uint64_t one = 1;
    pe.ops().amo(pe.channel, to, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                 nullptr);
  };
  const auto actor = [&](int to) { return pe.ops().waits_for(pe.channel, to); };
  EXPECT_EQ(actor(3), 3);
  add(3);
  EXPECT_EQ(actor(3), 3);
  add(3);
  add(2);
  while (pe.ops().waits_for(pe.channel, 3) == 3) {
    for (const std::size_t of : {0, 3}) job.pes[of].net->poll();
  }
  EXPECT_EQ(actor(3), 2);  // PE 2 executes what is in one packet for both
  job.quiet(pe);
  std::uint64_t old = 0;
  const std::uint64_t one = 1;
  Completion done;
  pe.ops().amo(pe.channel, 3, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, &old, &done);
  EXPECT_EQ(actor(3), 3);  // a shared request that is alone
  while (!done.done()) job.poll_all();
  // A request that a neighbour is to send, or has sent.
  LoopPe& neighbour = job.pes[1];
  Completion sent, taken;
  neighbour.ops().amo(neighbour.channel, 3, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr,
                      &old, &sent);
  pe.ops().amo(pe.channel, 3, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, &old, &taken);
  EXPECT_EQ(actor(3), 1);
  while (!sent.done() || !taken.done()) job.poll_all();
}

// A lone atomic does not wait for company, and what is issued while it is under way leaves with the answer.
TEST(Nic, ALoneAtomicLeavesAtOnce) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const auto add = [&] {
    const std::uint64_t one = 1;
    pe.ops().amo(pe.channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                 nullptr);
  };
  const auto sent = [&] { return take_stats()[static_cast<std::size_t>(Stat::packets)]; };
  sent();
  add();
  EXPECT_EQ(sent(), 1u);
  for (int i = 0; i < 100; ++i) add();
  EXPECT_EQ(sent(), 0u);
  while (!pe.ops().idle(pe.channel)) job.poll_all();
  EXPECT_EQ(sent(), 1u);
  EXPECT_EQ(load(job.pes[1].heap[0]), 101u);
}

// Threads share one channel; each has words of its own and all add to one more.  Sessions start and stop
// meanwhile.
void share_a_channel(Packed packed) {
  constexpr std::size_t kThreads = 4, kOperations = 3000;
  const std::uint64_t seed = seed_of_run();
  LoopJob job(2, kThreads + 1, ignore, behind_nic(seed + 1, packed));
  Agents agents(job);
  LoopPe& pe = job.pes[0];
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed + t);
      for (std::uint64_t i = 1; i <= kOperations; ++i) {
        const std::uint64_t one = 1;
        pe.ops().amo(pe.channel, 1, LoopPe::word(kThreads), AtomicOp::add, AtomicType::u64, &one, nullptr,
                     nullptr, nullptr);
        if (random() % 2 == 0)
          pe.ops().put(pe.channel, 1, LoopPe::word(t), &i, 8, true, nullptr);
        else
          pe.ops().put_word(pe.channel, 1, LoopPe::word(t), i, 8);
        if (random() % 16 == 0) hint(pe, random() % 4 != 0);
        if (!pe.ops().fence(pe.channel)) {
          pe.ops().flush(pe.channel);
          while (!pe.ops().idle(pe.channel)) {
            if (!pe.net->poll()) std::this_thread::yield();
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  job.quiet(pe);
  for (std::size_t t = 0; t < kThreads; ++t) EXPECT_EQ(load(job.pes[1].heap[t]), kOperations);
  EXPECT_EQ(load(job.pes[1].heap[kThreads]), kThreads * kOperations);
}
TEST(Nic, ThreadsShareAChannel) { share_a_channel(Packed::atomics); }
TEST(Nic, ThreadsShareAChannelThatPacksAll) { share_a_channel(Packed::all); }

// A long put goes the direct way: when it is complete, what a fence has put ahead of it must be there.
TEST(Nic, ALongPutStaysBehindAFenceBehindPackets) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LoopJob job(2, 1024, ignore, behind_nic(seed));
    Agents agents(job);
    LoopPe& pe = job.pes[0];
    const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, seed);
    for (std::uint64_t i = 1; i <= 20; ++i) {
      hint(pe, true);
      pe.ops().put(pe.channel, 1, LoopPe::word(0), &i, 8, true, nullptr);
      if (i % 2) hint(pe, false);
      fence(job, pe);
      Completion done;
      pe.ops().put(pe.channel, 1, LoopPe::word(1), many.data(), many.size() * 8, false, &done);
      wait(pe, done);
      EXPECT_EQ(load(job.pes[1].heap[0]), i);
    }
  }
}

// The other way round, also if the session starts between the fence and the short put.
TEST(Nic, APacketStaysBehindAFenceBehindALongPut) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LoopJob job(2, 1024, ignore, behind_nic(seed));
    Agents agents(job);
    LoopPe& pe = job.pes[0];
    for (std::uint64_t i = 1; i <= 20; ++i) {
      const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, i);
      hint(pe, i % 2);
      pe.ops().put(pe.channel, 1, LoopPe::word(1), many.data(), many.size() * 8, false, nullptr);
      fence(job, pe);
      hint(pe, true);
      std::uint64_t zero = 0, old = 0;
      Completion done;
      pe.ops().amo(pe.channel, 1, LoopPe::word(1), AtomicOp::swap, AtomicType::u64, &zero, nullptr, &old,
                   &done);
      wait(pe, done);
      EXPECT_EQ(old, i);
      job.quiet(pe);  // `many`
    }
  }
}

// Where the wire keeps direct operations in order, so must a session that starts behind the fence.
TEST(Nic, NothingIsPackedBehindAFenceBehindALongPutThatIsUnderWay) {
  LoopJob job(2, 1024, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, 1);
  const std::uint64_t value = 7;
  pe.ops().put(pe.channel, 1, LoopPe::word(1), many.data(), many.size() * 8, false, nullptr);
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  hint(pe, true);
  EXPECT_FALSE(pe.ops().idle(pe.channel));
  take_stats();
  pe.ops().put(pe.channel, 1, LoopPe::word(1), &value, 8, true, nullptr);
  job.quiet(pe);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packed)], 0u);
  EXPECT_EQ(job.pes[1].heap[1], value);
  pe.ops().put(pe.channel, 1, LoopPe::word(1), &value, 8, true, nullptr);
  job.quiet(pe);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packed)], 1u);
}

TEST(Nic, ManyOperationsAreFewPackets) {
  LoopJob job(2, 64, ignore, behind_nic(0));
  Agents agents(job);
  LoopPe& pe = job.pes[0];
  hint(pe, true);
  take_stats();
  constexpr std::uint64_t kOperations = 6000;
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    pe.ops().amo(pe.channel, 1, LoopPe::word(i % 64), AtomicOp::add, AtomicType::u64, &i, nullptr, nullptr,
                 nullptr);
  }
  job.quiet(pe);
  const StatValues stats = take_stats();
  const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
  EXPECT_EQ(of(Stat::atomics), kOperations);
  EXPECT_EQ(of(Stat::packed), kOperations);
  EXPECT_LE(of(Stat::packets), kOperations / 100);  // 666 fit, but a slow machine sends old packets early
}

TEST(Nic, AHeldOperationIsOutstandingAndTheAgentKnowsWhenToLook) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  EXPECT_FALSE(pe.net->needs_poll());
  EXPECT_LT(pe.net->max_block_us(), 0);
  hint(pe, true);
  pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
  EXPECT_FALSE(pe.ops().idle(pe.channel));
  EXPECT_FALSE(pe.ops().idle_to(pe.channel, 1));
  EXPECT_TRUE(pe.ops().idle_to(pe.channel, 0));
  EXPECT_TRUE(pe.net->needs_poll());  // an agent that sleeps does not know of it
  EXPECT_GE(pe.net->max_block_us(), 0);
  EXPECT_LE(pe.net->max_block_us(), nic::kLongestHold / 1000 + 1);
  EXPECT_FALSE(pe.net->needs_poll());                 // now it does
  while (!pe.ops().idle(pe.channel)) job.poll_all();  // polls alone send it, in time
  EXPECT_EQ(load(job.pes[1].heap[0]), value);
}

TEST(Nic, LeavesWhenAThreadWaitsAndWhenTheSessionHasSeenAll) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  const auto sent = [&] {
    const StatValues stats = take_stats();
    return stats[static_cast<std::size_t>(Stat::packets)];
  };
  sent();
  hint(pe, true, 2);
  pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
  EXPECT_EQ(sent(), 0u);
  pe.ops().put(pe.channel, 1, LoopPe::word(1), &value, 8, true, nullptr);
  EXPECT_EQ(sent(), 1u);
  pe.ops().put(pe.channel, 1, LoopPe::word(2), &value, 8, true, nullptr);
  EXPECT_EQ(sent(), 0u);
  pe.net->flush_all();
  EXPECT_EQ(sent(), 1u);
  pe.ops().put(pe.channel, 1, LoopPe::word(3), &value, 8, true, nullptr);
  hint(pe, false);
  EXPECT_EQ(sent(), 1u);
  pe.ops().put(pe.channel, 1, LoopPe::word(4), &value, 8, true, nullptr);
  job.quiet(pe);
  EXPECT_EQ(sent(), 0u);
  for (std::size_t w = 0; w < 5; ++w) EXPECT_EQ(job.pes[1].heap[w], value);
}

// Who waits for a get may mean to read what it has put.
TEST(Nic, AGetThatIsWaitedForSendsWhatIsHeld) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  std::uint64_t got = 0;
  Completion done;
  hint(pe, true);
  pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
  take_stats();
  pe.ops().get(pe.channel, 1, &got, LoopPe::word(1), 8, nullptr);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packets)], 0u);
  pe.ops().get(pe.channel, 1, &got, LoopPe::word(1), 8, &done);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packets)], 1u);
  job.quiet(pe);
}

// A short one that finds nothing under way is a packet that leaves at once; all others are messages of their
// own.
TEST(Nic, AGetThatIsWaitedForIsAPacketIfItIsAlone) {
  LoopJob job(2, 1024, ignore, behind_nic(0, Packed::all));
  LoopPe& pe = job.pes[0];
  for (std::size_t i = 0; i < 1024; ++i) job.pes[1].heap[i] = i;
  std::array<std::uint64_t, 1024> got{};
  const auto packed = [&](std::size_t n) {
    take_stats();
    Completion done;
    pe.ops().get(pe.channel, 1, got.data(), LoopPe::word(1), n, &done);
    while (!done.done()) job.poll_all();
    const StatValues stats = take_stats();
    EXPECT_EQ(got[0], 1u);
    EXPECT_EQ(got[n / 8 - 1], n / 8);
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::gets)], 1u);
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::get_bytes)], n);
    return stats[static_cast<std::size_t>(Stat::packed_gets)] != 0;
  };
  EXPECT_TRUE(packed(8));
  EXPECT_TRUE(packed(nic::kLargestAwaited));
  EXPECT_FALSE(packed(nic::kLargestAwaited + 8));
  job.quiet(pe);
  const std::uint64_t value = 7;
  pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
  EXPECT_FALSE(packed(8)) << "it would stay behind what is under way";
  job.quiet(pe);
  EXPECT_TRUE(packed(8));
}

// Packets complete puts by their number only.
TEST(Nic, APutThatIsWaitedForIsNotPacked) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  Completion done;
  hint(pe, true);
  take_stats();
  pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, &done);
  job.quiet(pe);
  EXPECT_TRUE(done.done());
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packed)], 0u);
}

TEST(Nic, SaysWhoExecutesAtomics) {
  const auto description = [](Packed packed) {
    return make_nic(open_loop(make_loop_fabric()), {.packed = packed})->describe();
  };
  EXPECT_EQ(description(Packed::all), "loop, small operations packed");
  EXPECT_EQ(description(Packed::atomics), "loop, atomics offloaded");
  EXPECT_EQ(description(Packed::nothing), "loop, native atomics");
  EXPECT_EQ(description(Packed::in_sessions), "loop, native atomics");
}

// An atomic that the wire lacks must be packed, and stays behind what a fence has put ahead of it on the
// wire.
TEST(Nic, AWaitForWhatPrecedesAFenceNamesThePe) {
  LoopJob job(3, 8, ignore, [](std::unique_ptr<Network> inner, int) {
    return make_nic(make_faulty(std::move(inner), {.max_hold = 1000, .refuse_atomic_percent = 100}),
                    {.packed = Packed::nothing});
  });
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  rt.me = 0;
  rt.npes = 3;
  expect_wait_line(
      "an operation on another node waits for PE 1 to complete what precedes the last fence; since",
      [&] {
        pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
        EXPECT_FALSE(pe.ops().fence(pe.channel));
        pe.ops().amo(pe.channel, 2, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &value, nullptr, nullptr,
                     nullptr);
        EXPECT_EQ(job.pes[1].heap[0], value);
      },
      [] {});
  rt.me = -1;
  rt.npes = 0;
}

// An add is not combined with an earlier one across a put, whose last bytes are where the operand would be.
TEST(Nic, AddsAroundAPutStayApart) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::uint64_t one = 1, value = 100;
  const auto add = [&] {
    pe.ops().amo(pe.channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                 nullptr);
  };
  hint(pe, true);
  add();
  pe.ops().put(pe.channel, 1, LoopPe::word(1), &value, 8, true, nullptr);
  add();
  job.quiet(pe);
  EXPECT_EQ(job.pes[1].heap[0], 2u);
  EXPECT_EQ(job.pes[1].heap[1], value);
}

// A node that does not answer is sent as many packets as there is room for their results here, and no more.
TEST(Nic, SendsNoMorePacketsThanItsWindow) {
  constexpr std::size_t kFetches =
      (kMaxMessage - sizeof(nic::PacketHead)) / 16;  // fetch-and-adds in a packet
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  std::vector<std::uint64_t> old(kFetches * (nic::kWindow + 1) - 1, ~std::uint64_t{0});
  const std::uint64_t one = 1;
  hint(pe, true);
  take_stats();
  for (std::uint64_t& word : old)
    pe.ops().amo(pe.channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, &word,
                 nullptr);
  pe.ops().flush(pe.channel);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packets)], nic::kWindow);
  EXPECT_FALSE(pe.ops().idle(pe.channel));
  job.quiet(pe);
  for (std::size_t i = 0; i < old.size(); ++i) ASSERT_EQ(old[i], i) << "fetch " << i;
  EXPECT_EQ(job.pes[1].heap[0], old.size());
}

// Who sees that nothing is outstanding any more may read the results: they are stored before that is said.
TEST(Nic, ResultsAreThereBeforeTheChannelIsIdle) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  WatchedPages pages(1);
  auto* old = reinterpret_cast<std::uint64_t*>(pages.at(0));
  job.pes[1].heap[0] = 5;
  bool idle = true, idle_to = true;
  pages.at_next_access(0, [&] {
    idle = pe.ops().idle(pe.channel);
    idle_to = pe.ops().idle_to(pe.channel, 1);
  });
  pe.ops().amo(pe.channel, 1, LoopPe::word(0), AtomicOp::fetch, AtomicType::u64, nullptr, nullptr, old,
               nullptr);
  job.quiet(pe);
  EXPECT_EQ(*old, 5u);
  EXPECT_FALSE(idle);
  EXPECT_FALSE(idle_to);
}

}  // namespace
}  // namespace shm::test

// SPDX-License-Identifier: BSD-3-Clause
// Messages over libfabric: order, floods from both sides, handlers that reply.
#include <gtest/gtest.h>

#include <random>

#include "base/stats.hpp"
#include "pair.hpp"

namespace shm::test {
namespace {

// What the handlers of this process have seen.  Handlers run on one thread at a time.
struct Seen {
  std::uint64_t count[kMaxPes] = {};
  std::uint64_t replies = 0;
  bool in_order = true;
  bool intact = true;
  Channel* reply_on = nullptr;
};
Seen seen;

// A message is its sequence number, repeated over its length.
std::vector<std::uint64_t> numbered(std::uint64_t sequence, std::size_t words) {
  return std::vector<std::uint64_t>(words, sequence);
}

void check_and_count(int from, std::uint16_t id, const std::byte* message, std::size_t n) {
  if (id == 2) {
    ++seen.replies;
    return;
  }
  std::uint64_t first = 0, last = 0;
  std::memcpy(&first, message, 8);
  std::memcpy(&last, message + n - 8, 8);
  if (first != seen.count[from]) seen.in_order = false;
  if (first != last) seen.intact = false;
  ++seen.count[from];
  // A reply of the size of the request, sent from the handler.
  if (seen.reply_on != nullptr) seen.reply_on->ops->send(seen.reply_on, from, 2, message, n);
}

void expect_all(const Pe& pe, int from, std::uint64_t count) {
  pe.until([&] { return seen.count[from] == count; });
  EXPECT_TRUE(seen.in_order);
  EXPECT_TRUE(seen.intact);
}

TEST(OfiMessage, ArrivesWholeAndInOrder) {
  run_job({.sink = check_and_count}, [](Pe& pe) {
    constexpr std::size_t kWords[] = {1, 2, 7, 8, 9, 100, 511, 512, 513, 1500, kMaxMessage / 8};
    if (pe.me == 0) {
      std::uint64_t sequence = 0;
      for (int round = 0; round < 20; ++round) {
        for (std::size_t words : kWords) {
          const auto message = numbered(sequence++, words);
          pe.ops().send(pe.channel, 1, 1, message.data(), words * 8);
        }
      }
    } else {
      expect_all(pe, 0, 20 * std::size(kWords));
    }
    pe.quiet();
  });
}

// Around the longest that is written into the inbox, byte by byte; there is room for all after some to and
// fro.
TEST(OfiMessage, OfEachLengthBetweenTheTwoWays) {
  constexpr std::size_t kFirst = 998, kLast = 1009, kBefore = 50;
  run_job({.sink = check_and_count}, [](Pe& pe) {
    const auto send = [&](int to, std::uint64_t sequence, std::size_t n) {
      std::vector<std::byte> message(n);
      std::memcpy(message.data(), &sequence, 8);
      std::memcpy(message.data() + n - 8, &sequence, 8);
      pe.ops().send(pe.channel, to, 1, message.data(), n);
    };
    for (std::uint64_t i = 0; i < kBefore; ++i) {
      if (pe.me == 0) send(1, i, 8);
      expect_all(pe, 1 - pe.me, i + 1);
      if (pe.me == 1) send(0, i, 8);
    }
    take_stats();
    if (pe.me == 0) {
      for (std::size_t n = kFirst; n <= kLast; ++n) send(1, kBefore + n - kFirst, n);
      EXPECT_GT(take_stats()[static_cast<std::size_t>(Stat::written_messages)], 0u);
    } else {
      expect_all(pe, 0, kBefore + kLast - kFirst + 1);
    }
    pe.quiet();
  });
}

TEST(OfiMessage, ReachesTheSenderItself) {
  run_job({.sink = check_and_count}, [](Pe& pe) {
    for (std::uint64_t i = 0; i < 10; ++i) pe.ops().send(pe.channel, pe.me, 1, &i, sizeof i);
    expect_all(pe, pe.me, 10);
  });
}

// Short ones are written into the inbox, long ones are not: whatever the sizes, they arrive in the order of
// sending.
TEST(OfiMessage, RandomSizesKeepTheirOrder) {
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  run_job({.npes = 3, .sink = check_and_count}, [seed](Pe& pe) {
    constexpr std::uint64_t kMessages = 20000;
    std::mt19937 random(seed + static_cast<unsigned>(pe.me));
    std::uint64_t sent[3] = {};
    while (sent[(pe.me + 1) % 3] + sent[(pe.me + 2) % 3] < 2 * kMessages) {
      const int to = (pe.me + 1 + static_cast<int>(random() % 2)) % 3;
      if (sent[to] == kMessages) continue;
      constexpr std::size_t kLongest[] = {4, 16, 130, 400};
      const auto message = numbered(sent[to]++, 1 + random() % kLongest[random() % 4]);
      pe.ops().send(pe.channel, to, 1, message.data(), message.size() * 8);
      if (random() % 64 == 0) pe.net->poll();
      if (random() % 4096 == 0) usleep(2000);
    }
    expect_all(pe, (pe.me + 1) % 3, kMessages);
    expect_all(pe, (pe.me + 2) % 3, kMessages);
    EXPECT_GT(detail::stat_counters[static_cast<std::size_t>(Stat::written_messages)].load(), 0u);
    pe.quiet();
    pe.barrier();
  });
}

// Each PE has one ring.  In each phase another PE sends to it, first short messages only, until it has the
// ring, then long ones between.  How many it takes is the scheduler's choice: three PEs must get a turn.
TEST(OfiMessage, RingsMoveToWhoSendsMost) {
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  run_job({.npes = 4, .seconds = 120, .inbox_rings = 1, .sink = check_and_count}, [seed](Pe& pe) {
    constexpr int kPhases = 12;
    std::mt19937 random(seed + static_cast<unsigned>(pe.me));
    std::uint64_t sent[kMaxPes] = {};
    const auto send = [&](int to, std::size_t words) {
      const auto message = numbered(sent[to]++, words);
      pe.ops().send(pe.channel, to, 1, message.data(), message.size() * 8);
      if (random() % 8 == 0) pe.net->poll();
    };
    const auto written = [] {
      return detail::stat_counters[static_cast<std::size_t>(Stat::written_messages)].load();
    };
    for (int phase = 0; phase < kPhases; ++phase) {
      const int to = (pe.me + 1 + phase % 3) % 4;
      const std::uint64_t before = written();
      while (written() == before) send(to, 1 + random() % 8);
      for (int i = 0; i < 500; ++i) send(to, 1 + random() % (random() % 16 == 0 ? 400 : 16));
      pe.barrier();
    }
    for (int to = 0; to < pe.npes; ++to)
      shared->words[pe.me * kMaxPes + to].store(static_cast<long>(sent[to]));
    pe.barrier();
    for (int from = 0; from < pe.npes; ++from) {
      if (from != pe.me)
        expect_all(pe, from, static_cast<std::uint64_t>(shared->words[from * kMaxPes + pe.me].load()));
    }
    pe.quiet();
    pe.barrier();
  });
}

void flood(Pe& pe, std::size_t words, std::uint64_t messages, bool reply) {
  const int to = 1 - pe.me;
  if (reply) seen.reply_on = pe.net->open_channel();
  for (std::uint64_t i = 0; i < messages; ++i) {
    const auto message = numbered(i, words);
    pe.ops().send(pe.channel, to, 1, message.data(), words * 8);
  }
  expect_all(pe, to, messages);
  if (reply) {
    pe.until([&] { return seen.replies == messages; });
    pe.until([&] { return pe.ops().idle(seen.reply_on); });
  }
  pe.quiet();
  pe.barrier();
}

// Both sides send without looking for arrivals until the transport makes them.
TEST(OfiMessage, FloodsFromBothSides) {
  run_job({.sink = check_and_count}, [](Pe& pe) { flood(pe, 1, 20000, false); });
  run_job({.sink = check_and_count}, [](Pe& pe) { flood(pe, kMaxMessage / 8, 5000, false); });
}

TEST(OfiMessage, FloodsWithRepliesFromHandlersDoNotDeadlock) {
  run_job({.sink = check_and_count}, [](Pe& pe) { flood(pe, 4, 10000, true); });
  run_job({.sink = check_and_count}, [](Pe& pe) { flood(pe, kMaxMessage / 8, 3000, true); });
}

// One PE that does not poll holds up nobody but itself.
TEST(OfiMessage, AStalledPeDoesNotBlockOthers) {
  run_job({.npes = 3, .sink = check_and_count}, [](Pe& pe) {
    const std::uint64_t one = 1;
    // The connection needs both sides.
    pe.ops().put(pe.channel, (pe.me + 1) % 3, Pe::at(16), &one, 8, true, nullptr);
    pe.ops().put(pe.channel, (pe.me + 2) % 3, Pe::at(16), &one, 8, true, nullptr);
    pe.quiet();
    pe.barrier();
    if (pe.me == 2) {  // stalls until the others are done
      while (shared->words[0].load() < 1) usleep(1000);
    }
    if (pe.me == 0) {
      for (int i = 0; i < 250; ++i) {
        pe.ops().put(pe.channel, 2, Pe::at(8), &one, 8, true, nullptr);
      }
      Channel* other = pe.net->open_channel();
      for (int i = 0; i < 2000; ++i) {
        pe.ops().amo(other, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, nullptr);
      }
      pe.until([&] { return pe.ops().idle(other); });
      EXPECT_FALSE(pe.ops().idle_to(pe.channel, 2));
      EXPECT_TRUE(pe.ops().idle_to(pe.channel, 1));
      pe.net->close_channel(other);
      shared->words[0] = 1;
    }
    pe.quiet();
    pe.barrier();
    if (pe.me == 1) {
      EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(pe.heap), 2000u);
    }
  });
}

}  // namespace
}  // namespace shm::test

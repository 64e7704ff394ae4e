// SPDX-License-Identifier: BSD-3-Clause
// The libfabric network between processes: data of all sizes, atomics of all types, streams in both
// directions.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/atomic_op.hpp"
#include "ofi/quirks.hpp"
#include "pair.hpp"

namespace shm::test {
namespace {

// Bytes that depend on their place and on `seed`.
void fill(std::byte* bytes, std::size_t n, unsigned seed) {
  for (std::size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + seed * 17 + (i >> 8)) & 0xff);
}

bool holds(const std::byte* bytes, std::size_t n, unsigned seed) {
  for (std::size_t i = 0; i < n; ++i) {
    if (bytes[i] != static_cast<std::byte>((i * 131 + seed * 17 + (i >> 8)) & 0xff)) return false;
  }
  return true;
}

void put_and_get_of_all_sizes(Pe& pe) {
  constexpr std::size_t kSizes[] = {1,    2,    3,    7,     8,     9,     63,     64,      65,      127,
                                    1000, 4095, 4096, 16383, 16384, 65537, 262144, 1048575, 4u << 20};
  constexpr std::size_t kOffset = 0;
  constexpr std::size_t kLargest = 5u << 20;
  std::vector<std::byte> local(kLargest);
  if (pe.me == 0) {
    unsigned seed = 1;
    for (std::size_t size : kSizes) {
      for (std::size_t skew : {0, 1, 5}) {
        const bool copy = size <= pe.net->copy_limit() && skew != 5;
        fill(local.data() + skew, size, ++seed);
        Completion stored;
        pe.ops().put(pe.channel, 1, Pe::at(kOffset + 3 * skew), local.data() + skew, size, copy, &stored);
        if (copy) std::memset(local.data(), 0xee, kLargest);
        pe.until([&] { return stored.done(); });
        std::memset(local.data(), 0xee, kLargest);
        Completion fetched;
        pe.ops().get(pe.channel, 1, local.data() + 2 * skew, Pe::at(kOffset + 3 * skew), size, &fetched);
        pe.until([&] { return fetched.done(); });
        EXPECT_TRUE(holds(local.data() + 2 * skew, size, seed)) << size << " bytes, skew " << skew;
        EXPECT_EQ(local[2 * skew + size], std::byte{0xee}) << size;
      }
    }
  }
  pe.barrier();
}

TEST(Ofi, PutAndGetOfAllSizes) { run_job({}, put_and_get_of_all_sizes); }

TEST(Ofi, LongTransfersAreSplit) { run_job({.max_transfer = 10000}, put_and_get_of_all_sizes); }

TEST(Ofi, TransfersOfMultiplesOfTheLimitAreSplit) {
  run_job({.max_transfer = 1000}, [](Pe& pe) {
    std::vector<std::byte> local(4000);
    for (const std::size_t size : {999, 1000, 1001, 1999, 2000, 2001, 3000}) {
      if (pe.me != 0) break;
      const auto seed = static_cast<unsigned>(size);
      fill(local.data(), size, seed);
      Completion stored, fetched;
      pe.ops().put(pe.channel, 1, Pe::at(0), local.data(), size, false, &stored);
      pe.until([&] { return stored.done(); });
      EXPECT_TRUE(pe.ops().idle(pe.channel)) << size << " bytes: complete before all parts are";
      std::memset(local.data(), 0xee, local.size());
      pe.ops().get(pe.channel, 1, local.data(), Pe::at(0), size, &fetched);
      pe.until([&] { return fetched.done(); });
      EXPECT_TRUE(pe.ops().idle(pe.channel)) << size << " bytes: complete before all parts are";
      EXPECT_TRUE(holds(local.data(), size, seed)) << size << " bytes";
      EXPECT_EQ(local[size], std::byte{0xee}) << size << " bytes";
    }
    pe.barrier();
  });
}

TEST(Ofi, TheOtherSegmentAndTheOwnPeWork) {
  run_job({}, [](Pe& pe) {
    const std::uint64_t value = 7 + static_cast<std::uint64_t>(pe.me);
    for (int to = 0; to < 2; ++to) {
      const RemoteAddress slot{SegmentId::statics, static_cast<std::uint64_t>(64 + 8 * pe.me)};
      pe.ops().put(pe.channel, to, slot, &value, sizeof value, true, nullptr);
    }
    pe.quiet();
    pe.barrier();
    const auto* words = reinterpret_cast<std::uint64_t*>(pe.heap + kHeap - (1 << 20) + 64);
    EXPECT_EQ(words[0], 7u);
    EXPECT_EQ(words[1], 8u);
    pe.barrier();
    const std::int32_t add = 5;
    std::int32_t old = -1;
    Completion done;
    pe.ops().amo(pe.channel, pe.me, Pe::at(0), AtomicOp::add, AtomicType::i32, &add, nullptr, &old, &done);
    EXPECT_TRUE(done.done());
    EXPECT_EQ(old, 0);
    EXPECT_EQ(*reinterpret_cast<std::int32_t*>(pe.heap), 5);
  });
}

// Every operation on every type, against base/atomic_op.hpp, in both forms.
void all_atomics(Pe& pe) {
  std::mt19937_64 random(42);
  if (pe.me == 0) {
    for (int o = 0; o < kAtomicOps; ++o) {
      for (int t = 0; t < kAtomicTypes; ++t) {
        const auto op = static_cast<AtomicOp>(o);
        const auto type = static_cast<AtomicType>(t);
        if (!is_defined(op, type)) continue;
        for (bool fetching : {true, false}) {
          if (!fetching && !has_non_fetching_form(op)) continue;
          EXPECT_TRUE(pe.net->supports(op, type, fetching)) << o << " " << t << " " << fetching;
          alignas(8) std::byte model[16] = {};
          for (int round = 0; round < 12; ++round) {
            double real = static_cast<double>(random() % 1000) - 500;
            float narrow = static_cast<float>(real);
            std::uint64_t bits = round % 2 ? random() : random() % 8;
            const void* value = type == AtomicType::f64   ? static_cast<void*>(&real)
                                : type == AtomicType::f32 ? static_cast<void*>(&narrow)
                                                          : static_cast<void*>(&bits);
            alignas(8) std::byte compare[8];
            std::memcpy(compare, model, 8);
            if (round % 3 == 2) compare[0] ^= std::byte{1};
            alignas(8) std::byte expected[8] = {}, old[8] = {};
            atomic_apply(op, type, model, value, compare, expected);
            Completion done;
            const RemoteAddress at =
                Pe::at(static_cast<std::uint64_t>(4096 + (o * kAtomicTypes + t) * 32 + fetching * 16));
            pe.ops().amo(pe.channel, 1, at, op, type, value, compare, fetching ? old : nullptr, &done);
            pe.until([&] { return done.done(); });
            EXPECT_EQ(
                std::memcmp(old + atomic_size(type), expected + atomic_size(type), 8 - atomic_size(type)), 0)
                << "what lies behind the old value, op " << o << " type " << t;
            if (fetching && op != AtomicOp::set) {
              EXPECT_EQ(std::memcmp(old, expected, atomic_size(type)), 0) << "op " << o << " type " << t;
            }
            std::byte now[16];
            Completion read;
            pe.ops().get(pe.channel, 1, now, at, 16, &read);
            pe.until([&] { return read.done(); });
            EXPECT_EQ(std::memcmp(now, model, 16), 0) << "op " << o << " type " << t << " round " << round;
          }
        }
      }
    }
  }
  pe.barrier();
}

TEST(Ofi, AtomicsOfAllTypes) { run_job({}, all_atomics); }

TEST(Ofi, AtomicsMixWithThoseOfTheTargetsCpu) {
  run_job({.npes = 3}, [](Pe& pe) {
    constexpr int kAdds = 3000;
    auto* word = reinterpret_cast<std::uint64_t*>(pe.heap);
    const std::uint64_t one = 1;
    if (pe.me == 0) {
      for (int i = 0; i < kAdds; ++i) {
        atomic_apply<AtomicOp::add>(word, one);
        if (i % 8 == 0) pe.net->poll();
      }
    } else {
      for (int i = 0; i < kAdds; ++i) {
        pe.ops().amo(pe.channel, 0, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                     nullptr);
      }
    }
    pe.quiet();
    pe.barrier();
    if (pe.me == 0) {
      EXPECT_EQ(*word, 3u * kAdds);
    }
  });
}

// The writer stores data, fences, and raises a flag by an atomic; the reader polls the flag with its CPU.
TEST(Ofi, APutIsSeenBeforeAnAtomicBehindAFence) {
  run_job({}, [](Pe& pe) {
    constexpr int kRounds = 2000;
    constexpr std::size_t kSize = 9000;
    auto* flag = reinterpret_cast<std::uint64_t*>(pe.heap + (1 << 20));
    std::vector<std::byte> data(kSize);
    int free_fences = 0;
    for (unsigned round = 1; round <= kRounds; ++round) {
      const std::size_t size = round % 2 ? 64 : kSize;
      if (pe.me == 0) {
        fill(data.data(), size, round);
        pe.ops().put(pe.channel, 1, Pe::at(0), data.data(), size, false, nullptr);
        if (pe.ops().fence(pe.channel))
          ++free_fences;
        else
          pe.quiet();
        const std::uint64_t value = round;
        pe.ops().amo(pe.channel, 1, Pe::at(1 << 20), AtomicOp::set, AtomicType::u64, &value, nullptr, nullptr,
                     nullptr);
        pe.until([&] { return atomic_apply<AtomicOp::fetch>(flag, std::uint64_t{0}) == round; });
        pe.quiet();
      } else {
        pe.until([&] { return atomic_apply<AtomicOp::fetch>(flag, std::uint64_t{0}) == round; });
        EXPECT_TRUE(holds(pe.heap, size, round));
        const std::uint64_t value = round;
        pe.ops().amo(pe.channel, 0, Pe::at(1 << 20), AtomicOp::set, AtomicType::u64, &value, nullptr, nullptr,
                     nullptr);
      }
    }
    if (pe.me == 0) {
      EXPECT_EQ(free_fences, ofi::kStoresStayInOrder ? kRounds : 0);
    }
  });
}

// An atomic behind which a put may arrive: fence() must not promise that.
TEST(Ofi, FenceWaitsForAtomics) {
  run_job({}, [](Pe& pe) {
    if (pe.me == 0) {
      const std::uint64_t one = 1;
      EXPECT_TRUE(pe.ops().fence(pe.channel));
      pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, nullptr);
      EXPECT_FALSE(pe.ops().fence(pe.channel));
      pe.quiet();
      EXPECT_TRUE(pe.ops().fence(pe.channel));
    }
    pe.barrier();
  });
}

// 64 streams in flight both ways at once, mixing puts, gets and atomics.
TEST(Ofi, StreamsInBothDirections) {
  run_job({.seconds = 120}, [](Pe& pe) {
    constexpr int kStreams = 64;
    constexpr int kRounds = 40;
    const int to = 1 - pe.me;
    std::vector<Channel*> channels;
    for (int i = 0; i < kStreams; ++i) channels.push_back(pe.net->open_channel());
    std::vector<std::vector<std::byte>> out(kStreams, std::vector<std::byte>(40000)), in = out;
    std::mt19937 random(static_cast<unsigned>(pe.me));
    for (unsigned round = 0; round < kRounds; ++round) {
      for (unsigned s = 0; s < kStreams; ++s) {
        const std::size_t size = 1 + random() % 40000;
        out[s].resize(size);
        in[s].resize(size);
        fill(out[s].data(), size, round * 64 + s);
        pe.ops().put(channels[s], to, Pe::at(1024 + s * 65536), out[s].data(), size, false, nullptr);
        const std::uint64_t one = 1;
        pe.ops().amo(channels[s], to, Pe::at(8 * s), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                     nullptr);
      }
      for (Channel* channel : channels) pe.until([&] { return pe.ops().idle_to(channel, to); });
      for (unsigned s = 0; s < kStreams; ++s) {
        pe.ops().get(channels[s], to, in[s].data(), Pe::at(1024 + s * 65536), in[s].size(), nullptr);
      }
      for (unsigned s = 0; s < kStreams; ++s) {
        pe.until([&] { return pe.ops().idle(channels[s]); });
        EXPECT_TRUE(in[s] == out[s]) << "stream " << s << " round " << round;
      }
    }
    for (Channel* channel : channels) pe.net->close_channel(channel);
    pe.barrier();
    for (int s = 0; s < kStreams; ++s) {
      EXPECT_EQ(reinterpret_cast<std::uint64_t*>(pe.heap)[s], static_cast<std::uint64_t>(kRounds));
    }
  });
}

// More operations than one PE's credits and the bounce buffers hold, from several threads.
TEST(Ofi, ThreadsShareTheEndpoint) {
  run_job({.seconds = 120}, [](Pe& pe) {
    constexpr int kThreads = 3;
    constexpr std::uint64_t kOps = 2000;
    const int to = 1 - pe.me;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&pe, t, to] {
        Channel* channel = pe.net->open_channel();
        std::vector<std::byte> block(1000 + static_cast<std::size_t>(t));
        for (std::uint64_t i = 0; i < kOps; ++i) {
          const std::uint64_t one = 1;
          fill(block.data(), block.size(), static_cast<unsigned>(i));
          pe.ops().put(channel, to, Pe::at(static_cast<std::uint64_t>(t) * 4096 + 4096), block.data(),
                       block.size(), true, nullptr);
          pe.ops().amo(channel, to, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                       nullptr);
        }
        pe.until([&] { return pe.ops().idle(channel); });
        pe.net->close_channel(channel);
      });
    }
    for (std::thread& thread : threads) thread.join();
    pe.barrier();
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(pe.heap), kThreads * kOps);
    for (std::size_t t = 0; t < kThreads; ++t)
      EXPECT_TRUE(holds(pe.heap + 4096 * (t + 1), 1000 + t, kOps - 1));
  });
}

}  // namespace
}  // namespace shm::test

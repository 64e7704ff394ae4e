// SPDX-License-Identifier: BSD-3-Clause
// What the MSHR file of the software NIC would gain if it were drained less often than with each packet: a
// stream of adds of 8 bytes in packets, drained with each, with each eighth, and only where the file is full.
//
// usage: mshr_drains [words, a power of two [adds]]
//
// Operands stay where they are; a file that outlives packets would have to copy them, or keep packets.  So
// the columns of several packets are bounds of what can be gained.  Misses and accesses to words, of an add,
// are counts and the same in each run; times are the best of kRounds, without that of the last column, which
// keeps all its subentries.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "nic/mshr.hpp"

namespace {

using namespace shm;

constexpr int kRounds = 5;
constexpr std::size_t kNever = SIZE_MAX;

struct Result {
  double misses, updates, nanoseconds;  // of an add
};

// Where edges of a Kronecker graph end: each bit of the number is 0 with probability 0.76, as in Graph500.
std::size_t kronecker(std::mt19937_64& random, std::size_t words) {
  std::size_t vertex = 0;
  for (std::size_t bit = 1; bit < words; bit *= 2)
    if (random() % 100 >= 76) vertex |= bit;
  return vertex * 0x9e3779b1u % words;  // numbers say nothing of degrees
}

Result run(const std::vector<std::uint64_t*>& words, std::size_t packet, std::size_t packets_between_drains) {
  const std::vector<std::uint64_t> ones(words.size(), 1);
  Result best{0, 0, 0};
  for (int round = 0; round < kRounds; ++round) {
    nic::MshrFile file({});
    std::size_t in_packet = 0, packets = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < words.size(); ++i) {
      file.add(reinterpret_cast<std::byte*>(words[i]), AtomicOp::add, AtomicType::u64,
               reinterpret_cast<const std::byte*>(&ones[i]), nullptr);
      if (++in_packet < packet) continue;
      in_packet = 0;
      if (++packets < packets_between_drains) continue;
      packets = 0;
      file.drain();
    }
    file.drain();
    const auto end = std::chrono::steady_clock::now();
    const auto n = static_cast<double>(words.size());
    const double time = std::chrono::duration<double, std::nano>(end - start).count() / n;
    const auto& counts = file.counts();
    best = {static_cast<double>(counts.lines) / n, static_cast<double>(counts.updates) / n,
            round == 0 ? time : std::min(best.nanoseconds, time)};
  }
  return best;
}

void table(const char* name, const std::vector<std::uint64_t*>& words) {
  std::printf("%s\n%8s%30s%30s%23s\n", name, "packet", "drained with each", "with each eighth",
              "where it is full");
  for (const std::size_t packet : {1030, 256, 64, 16, 4}) {
    std::printf("%8zu", packet);
    for (const std::size_t drains : {std::size_t{1}, std::size_t{8}, kNever}) {
      const Result result = run(words, packet, drains);
      std::printf("%13.1f %%%8.3f", result.misses * 100, result.updates);
      if (drains != kNever) std::printf("%4.0f ns", result.nanoseconds);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 14;
  const std::size_t adds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500'000;
  struct alignas(64) Line {
    std::uint64_t words[8];
  };
  const auto lines = std::make_unique<Line[]>(count / 8 + 8);
  const auto at = [&](std::size_t word) { return &lines[word / 8].words[word % 8]; };
  std::mt19937_64 random(1);
  std::vector<std::uint64_t*> words(adds);
  for (std::uint64_t*& word : words) word = at(kronecker(random, count));
  table("ends of edges of a Kronecker graph: misses, accesses, time", words);
  for (std::uint64_t*& word : words) word = at(random() % count);
  table("random words", words);
  for (std::uint64_t*& word : words) word = at(random() % 8 * 8);
  table("eight hot words", words);
}

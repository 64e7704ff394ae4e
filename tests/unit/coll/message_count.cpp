// SPDX-License-Identifier: BSD-3-Clause
// How many parcels a PE sends in one collective call: about log2(nodes), except where each node has something
// else for each other; and that the data are right.  Run with one PE a node, and with several.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "coll/rendezvous.hpp"
#include "shmem.h"

namespace {

constexpr std::size_t kWords = 20000;  // 160 kB: by halving, and more than a parcel that needs no answer
long source[kWords * 2], dest[kWords * 16], most_of_all, mine, total;

int log2_up(int n) {
  int steps = 0;
  while ((1 << steps) < n) ++steps;
  return steps;
}

// Word i of what a PE brings, and the sum over the first `pes`.
long word_of(long pe, std::size_t i) { return pe * 1000003 + static_cast<long>(i); }
long sum_of(long pes, std::size_t i) { return pes * (pes - 1) / 2 * 1000003 + pes * static_cast<long>(i); }

// What dest is to hold.
struct Result {
  std::size_t words = 0;
  std::function<long(std::size_t)> word = nullptr;
};

void check(const char* name, const Result& expected) {
  for (std::size_t i = 0; i < expected.words; ++i) {
    if (dest[i] == expected.word(i)) continue;
    std::fprintf(stderr, "%s of %zu words: dest[%zu] on PE %d is %ld, expected %ld\n", name, expected.words,
                 i, shmem_my_pe(), dest[i], expected.word(i));
    shmem_global_exit(1);
  }
}

// The call twice, so that what the first one sets up is not counted.  Parcels that any PE sends, at most.
void expect_at_most(const char* name, int limit, const Result& expected, const std::function<void()>& call) {
  call();
  shmem_barrier_all();
  std::fill(std::begin(dest), std::end(dest), -1);
  shmem_barrier_all();
  const std::uint64_t before = shm::parcel_count().parcels.load();
  call();
  mine = static_cast<long>(shm::parcel_count().parcels.load() - before);
  check(name, expected);
  shmem_barrier_all();
  shmem_long_max_reduce(SHMEM_TEAM_WORLD, &most_of_all, &mine, 1);
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &mine, 1);
  if (shmem_my_pe() == 0) std::printf("%-20s %3ld parcels, allowed %d\n", name, most_of_all, limit);
  if (most_of_all > limit || total == 0) {
    std::fprintf(stderr, "%s: a PE sent %ld parcels, allowed are 1 to %d\n", name, most_of_all, limit);
    shmem_global_exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  const int nodes = argc > 1 ? std::atoi(argv[1]) : shmem_n_pes();
  const int steps = log2_up(nodes), parts = (nodes & (nodes - 1)) == 0 ? 1 : 2;
  const shmem_team_t world = SHMEM_TEAM_WORLD;
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  for (std::size_t i = 0; i < std::size(source); ++i) source[i] = word_of(me, i);
  expect_at_most("barrier", steps, {}, [] { shmem_barrier_all(); });
  expect_at_most("sync", steps, {}, [=] { shmem_team_sync(world); });
  for (const std::size_t n : {std::size_t{1}, std::size_t{500}, kWords}) {
    if (me == 0) std::printf("%zu words\n", n);
    expect_at_most("broadcast", steps, {n, [](std::size_t i) { return word_of(0, i); }},
                   [=] { shmem_long_broadcast(world, dest, source, n, 0); });
    // One more for nodes beyond the largest power of two; twice as many where halves and quarters travel.
    expect_at_most("reduce", n == kWords ? 2 * steps : steps + 1,
                   {n, [=](std::size_t i) { return sum_of(pes, i); }},
                   [=] { shmem_long_sum_reduce(world, dest, source, n); });
    expect_at_most("inscan", steps, {n, [=](std::size_t i) { return sum_of(me + 1, i); }},
                   [=] { shmem_long_sum_inscan(world, dest, source, n); });
    expect_at_most("exscan", steps, {n, [=](std::size_t i) { return sum_of(me, i); }},
                   [=] { shmem_long_sum_exscan(world, dest, source, n); });
  }
  // What a node has of others goes in one parcel, or where their number is no power of two, in two around the
  // end.
  const auto all = static_cast<std::size_t>(pes);
  const auto collected = [](std::size_t i) { return word_of(static_cast<long>(i / 8), i % 8); };
  expect_at_most("fcollect", parts * steps, {8 * all, collected},
                 [=] { shmem_long_fcollect(world, dest, source, 8); });
  expect_at_most("collect", 2 * parts * steps, {8 * all, collected},
                 [=] { shmem_long_collect(world, dest, source, 8); });
  const auto exchanged = [=](std::size_t n) {
    return Result{n * all, [=](std::size_t i) {
                    return word_of(static_cast<long>(i / n), static_cast<std::size_t>(me) * n + i % n);
                  }};
  };
  expect_at_most("alltoall", parts * steps, exchanged(4),
                 [=] { shmem_long_alltoall(world, dest, source, 4); });
  const int others = nodes - 1;  // one parcel for each, shared out among the PEs of a node
  const int per_pe = (others + pes / nodes - 1) / (pes / nodes) + 1;
  expect_at_most("alltoall, 512 B", per_pe, exchanged(64),
                 [=] { shmem_long_alltoall(world, dest, source, 64); });
  shmem_finalize();
  return 0;
}

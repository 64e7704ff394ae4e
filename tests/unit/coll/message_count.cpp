// SPDX-License-Identifier: BSD-3-Clause
// How many parcels a PE sends in one collective call: about log2(nodes), except where each node has something
// else for each other; and that the data are right.  Run with one PE a node, and with several.  With the heap
// on NVM, and `nvm` behind the number of nodes, the same is asked of arguments there, part by part, and that
// no page of them goes from PE to PE.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "coll/rendezvous.hpp"
#include "coll/staging.hpp"
#include "shmem.h"
#include "shmemx.h"

namespace {

constexpr std::size_t kWords = 20000;  // 160 kB: by halving, and more than a parcel that needs no answer
constexpr std::size_t kSource = kWords * 4, kDest = kWords * 4;
bool on_nvm = false;
long source_in_memory[kSource], dest_in_memory[kDest];
long *source = source_in_memory, *dest = dest_in_memory;
long most_of_all, mine, total, moved, moved_by_all;

int log2_up(int n) {
  int steps = 0;
  while ((1 << steps) < n) ++steps;
  return steps;
}

// Word i of what a PE brings, and the sum over the first `pes`.
long word_of(long pe, std::size_t i) { return pe * 1000003 + static_cast<long>(i); }
long sum_of(long pes, std::size_t i) { return pes * (pes - 1) / 2 * 1000003 + pes * static_cast<long>(i); }

void fill_source() {
  for (std::size_t i = 0; i < kSource; ++i) source[i] = word_of(shmem_my_pe(), i);
}

// In how many parts a vector is staged, if parts have at most so many bytes.
int parts_of(std::size_t words, std::size_t most) {
  return on_nvm ? static_cast<int>((words * sizeof(long) + most - 1) / most) : 1;
}

// Pages that this PE's node had from others, sent to others or lost to them, and operations on such pages.
long pages_moved() {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return static_cast<long>(stats.page_fetches + stats.page_forwards + stats.page_invalidations +
                           stats.page_sent + stats.page_operations);
}

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
// Between the two all pages of source and dest are written, so that no PE has copies of another's.
void expect_at_most(const char* name, int limit, const Result& expected, const std::function<void()>& call) {
  call();
  shmem_barrier_all();
  std::fill_n(dest, kDest, -1);
  fill_source();
  shmem_barrier_all();
  const std::uint64_t before = shm::parcel_count().parcels.load();
  const long moved_before = pages_moved();
  call();
  mine = static_cast<long>(shm::parcel_count().parcels.load() - before);
  check(name, expected);
  shmem_barrier_all();
  moved = pages_moved() - moved_before;
  shmem_long_max_reduce(SHMEM_TEAM_WORLD, &most_of_all, &mine, 1);
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &mine, 1);
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &moved_by_all, &moved, 1);
  if (shmem_my_pe() == 0)
    std::printf("%-20s %3ld parcels, allowed %d; %ld pages moved\n", name, most_of_all, limit, moved_by_all);
  if (moved_by_all > 0) {
    std::fprintf(stderr, "%s: %ld pages went from PE to PE, or operations on them, allowed are none\n", name,
                 moved_by_all);
    shmem_global_exit(1);
  }
  if (most_of_all > limit || total == 0) {
    std::fprintf(stderr, "%s: a PE sent %ld parcels, allowed are 1 to %d\n", name, most_of_all, limit);
    shmem_global_exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  on_nvm = argc > 2 && std::string_view(argv[2]) == "nvm";
  if (on_nvm) {
    source = static_cast<long*>(shmem_malloc(sizeof source_in_memory));
    dest = static_cast<long*>(shmem_malloc(sizeof dest_in_memory));
  }
  const int nodes = argc > 1 ? std::atoi(argv[1]) : shmem_n_pes();
  const int steps = log2_up(nodes), parts = (nodes & (nodes - 1)) == 0 ? 1 : 2;
  const shmem_team_t world = SHMEM_TEAM_WORLD;
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  fill_source();
  expect_at_most("barrier", steps, {}, [] { shmem_barrier_all(); });
  expect_at_most("sync", steps, {}, [=] { shmem_team_sync(world); });
  for (const std::size_t n : {std::size_t{1}, std::size_t{500}, kWords}) {
    if (me == 0) std::printf("%zu words\n", n);
    const int vectors = parts_of(n, shm::kStagingBytes);
    const bool halves = n == kWords;
    expect_at_most("broadcast", vectors * steps, {n, [](std::size_t i) { return word_of(0, i); }},
                   [=] { shmem_long_broadcast(world, dest, source, n, 0); });
    // One more for nodes beyond the largest power of two; twice as many where halves and quarters travel.
    expect_at_most("reduce", vectors * (halves ? 2 * steps : steps + 1),
                   {n, [=](std::size_t i) { return sum_of(pes, i); }},
                   [=] { shmem_long_sum_reduce(world, dest, source, n); });
    expect_at_most("inscan", vectors * steps, {n, [=](std::size_t i) { return sum_of(me + 1, i); }},
                   [=] { shmem_long_sum_inscan(world, dest, source, n); });
    expect_at_most("exscan", vectors * steps, {n, [=](std::size_t i) { return sum_of(me, i); }},
                   [=] { shmem_long_sum_exscan(world, dest, source, n); });
  }
  // What a node has of others goes in one parcel, or where their number is no power of two, in two around the
  // end.
  const auto all = static_cast<std::size_t>(pes);
  for (const std::size_t n : {std::size_t{8}, std::size_t{5000}}) {
    const int windows = parts_of(n * all, shm::kStagingBytes / 2);
    const Result collected{n * all, [=](std::size_t i) { return word_of(static_cast<long>(i / n), i % n); }};
    expect_at_most("fcollect", windows * parts * steps, collected,
                   [=] { shmem_long_fcollect(world, dest, source, n); });
    expect_at_most("collect", (1 + windows) * parts * steps, collected,
                   [=] { shmem_long_collect(world, dest, source, n); });
  }
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
  expect_at_most("alltoall, 40 kB", pes - pes / nodes, exchanged(5000),
                 [=] { shmem_long_alltoall(world, dest, source, 5000); });
  shmem_finalize();
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// All PEs, with several threads each, do all kinds of operations on a few keys at once; PE 0 judges whether
// what each of them has seen can be explained by operations that took effect at one instant each
// (tests/model/linear.hpp).
//
// Calls and returns are timed by CLOCK_MONOTONIC: all PEs are on one host, where it is one clock for all
// cores. A counter of PE 0 would order them, too, but its round trips would keep apart what is meant to
// collide.
//
// linear_worker.hpp says which calls are judged.
//
// `linear teams`: two teams, of the PEs with even and with odd numbers, do so at once, each on tables of its
// own, and its first PE judges.
//
// ATOLL_STRESS_SECONDS says how long to go on; ATOLL_TEST_SEED repeats what the threads do, not how they
// interleave.
#include "linear.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "linear_worker.hpp"

extern "C" {
#include "duration.h"
}

namespace kv_linear {
namespace {

struct Shape {
  std::size_t value_bytes;
  std::uint64_t (*hash)(const void*, std::size_t);
};

shmem_team_t team = SHMEM_TEAM_WORLD;
std::uint64_t grown;  // slots that this PE's tables have got

std::uint64_t constant(const void*, std::size_t) { return 5; }

State state_of(int key) {
  std::vector<unsigned char> bytes(value_bytes);
  std::size_t n = 0;
  const int status = shmemx_kv_get(kv, keys[key], kKeyBytes, bytes.data(), bytes.size(), &n);
  if (status == SHMEMX_KV_NOT_FOUND) return {};
  CHECK_EQ(status, SHMEMX_KV_OK);
  return {true, decode(bytes.data(), n)};
}

void judge(const State* before, std::size_t& judged) {
  std::vector<Operation> histories[kKeys];
  std::vector<Journal> all(kThreads);
  for (int pe = 0; pe < npes; ++pe) {
    shmem_getmem(all.data(), journals, kThreads * sizeof(Journal),
                 shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD));
    for (const Journal& journal : all)
      for (std::size_t i = 0; i < journal.count; ++i)
        histories[journal.records[i].key].push_back(journal.records[i].operation);
  }
  for (int key = 0; key < kKeys; ++key) {
    const shm::linear::Verdict verdict = shm::linear::check(histories[key], before[key]);
    judged += histories[key].size();
    if (verdict.linearizable) continue;
    std::fprintf(stderr, "key %d on PE %d: %s", key, shmemx_kv_pe(kv, keys[key], kKeyBytes),
                 shm::linear::describe(histories[key], verdict).c_str());
    CHECK(verdict.linearizable);
  }
}

void round_of_operations(Random& dice, std::size_t& judged) {
  State before[kKeys];
  for (int key = 0; me == 0 && key < kKeys; ++key) before[key] = state_of(key);
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.emplace_back(i, next_random(&dice));
  shmem_barrier_all();
  std::atomic<int> at_work{kThreads - 1};
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      workers[i].run();
      --at_work;
    });
  }
  workers[0].run();
  workers[0].wake(at_work);
  for (std::thread& thread : threads) thread.join();
  shmem_barrier_all();
  if (me == 0) judge(before, judged);
  for (Worker& worker : workers) worker.remove_decoys();
  shmem_barrier_all();
}

// So many elements that the next few hundred have its parts split.
void fill_up_to_growth(std::uint64_t slots, Random& dice) {
  for (std::uint64_t i = 0; i < slots * 72 / 100; i += kCrowd) crowd(dice);
  shmem_team_sync(team);
}

// A table of its own for some rounds; `common` is the same on all PEs.
void life(const Shape& shape, bool grows, Random& dice, Random& common, std::size_t& judged) {
  const auto elements = static_cast<std::uint64_t>(kKeys + kDecoys * kThreads * npes + 8);
  shmemx_kv_options_t options{};
  options.key_bytes = kKeyBytes;
  options.value_bytes = value_bytes = shape.value_bytes;
  options.hash = shape.hash;
  options.capacity = elements * static_cast<std::uint64_t>(shape.hash != nullptr ? npes : 1);
  crowded = grows && shape.hash == nullptr;
  if (crowded) options.memory_bytes = std::size_t{8} << 20;
  CHECK_EQ(shmemx_kv_team_create(team, &options, &kv), SHMEMX_KV_OK);
  fill_random(&common, keys, sizeof keys);
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  const std::uint64_t slots = stats.slots;
  shmem_team_sync(team);
  if (crowded) fill_up_to_growth(slots, dice);
  constexpr int kRounds = 3;
  for (int i = 0; i < kRounds; ++i) {
    is_cleared = i == kRounds - 1 && next_random(&common) % 2 == 0;
    round_of_operations(dice, judged);
  }
  shmemx_kv_stats(kv, &stats);
  if (crowded) CHECK_CMP(stats.slots, >, slots);
  grown += stats.slots - slots;
  shmemx_kv_destroy(kv);
}

}  // namespace
}  // namespace kv_linear

using namespace kv_linear;

int main(int argc, char** argv) {
  int provided = 0;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  const int world_me = shmem_my_pe(), world = shmem_n_pes();
  if (argc > 1 && std::strcmp(argv[1], "teams") == 0) {
    shmem_team_t both[2];
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (world + 1) / 2, nullptr, 0, &both[0]);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, world / 2, nullptr, 0, &both[1]);
    team = both[world_me % 2];
  }
  me = shmem_team_my_pe(team), npes = shmem_team_n_pes(team);
  journals = static_cast<Journal*>(shmem_calloc(kThreads, sizeof(Journal)));
  CHECK(journals != nullptr);
  register_functions();
  Random dice;
  seed_dice(&dice);
  Random common{dice.state - static_cast<std::uint64_t>(world_me)};
  // In the slot of a group, in a block, and longer than a message; those that grow first.
  static constexpr Shape kShapes[] = {{16, nullptr},         {48, nullptr},  {200, nullptr}, {5000, nullptr},
                                      {kMostValue, nullptr}, {48, constant}, {200, constant}};
  constexpr std::size_t kGrowing = 5;
  const bool may_grow = std::getenv("SHMEM_KV_MATCH") == nullptr;  // those of the other engine do not
  const double end = end_of_run(2);
  std::size_t judged = 0, lives = 0;
  // With a cache of a few pages a scan of many blocks on NVM takes seconds: there those grow whose elements
  // are in slots, and there is time for little more than the first.
  const bool on_nvm = std::getenv("SHMEM_HEAP") != nullptr;
  const std::size_t first = on_nvm ? 0 : random_below(&common, kGrowing);
  do {
    const Shape& shape = kShapes[(first + lives) % std::size(kShapes)];
    const bool grows = may_grow && lives % 2 == 0 && (!on_nvm || &shape == kShapes);
    ++lives;
    life(shape, grows, dice, common, judged);
  } while (go_on(end));
  if (me == 0) std::printf("%zu tables, %zu operations judged, %zu slots more\n", lives, judged, grown);
  shmem_free(journals);
  shmem_finalize();
  return 0;
}

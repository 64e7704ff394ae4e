// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench coll: collective operations of all PEs, verified.
#include <shmem.h>

#include "sweep.hpp"

namespace bench {
namespace {

std::size_t pes() { return static_cast<std::size_t>(shmem_n_pes()); }
int me() { return shmem_my_pe(); }

/// All PEs do `operation`, again and again.
template <class Operation>
Swept together(const SweepOptions& options, Operation operation) {
  return sweep(options, {true, 1, [&](std::size_t count) {
                           for (std::size_t i = 0; i < count; ++i) operation();
                         }});
}

/// `source` has `blocks_out` blocks of `bytes` bytes, `dest` has `blocks_in` of them; block b of dest is to
/// be what PE `from(b)` has in its block `of(b)`.
template <class Operation, class From, class Of>
Swept moved(const SweepOptions& options, std::size_t bytes, std::size_t blocks_out, std::size_t blocks_in,
            Operation operation, From from, Of of) {
  const Symmetric source(bytes * blocks_out), dest(bytes * blocks_in);
  for (std::size_t i = 0; i < bytes * blocks_out; ++i) source.bytes()[i] = pattern(me(), i, bytes);
  shmem_barrier_all();
  Swept swept = together(options, [&] { operation(dest.bytes(), source.bytes(), bytes); });
  for (std::size_t block = 0; block < blocks_in; ++block)
    for (std::size_t i = 0; i < bytes; ++i)
      swept.right = dest.bytes()[block * bytes + i] == pattern(from(block), of(block) * bytes + i, bytes) &&
                    swept.right;
  return swept;
}

Swept barrier(const SweepOptions& options, std::size_t) { return together(options, shmem_barrier_all); }
Swept sync(const SweepOptions& options, std::size_t) { return together(options, shmem_sync_all); }

Swept broadcast(const SweepOptions& options, std::size_t bytes) {
  const auto root = static_cast<int>(pes() - 1);
  return moved(
      options, bytes, 1, 1,
      [=](void* dest, const void* source, std::size_t n) {
        shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, n, root);
      },
      [=](std::size_t) { return root; }, [](std::size_t) { return std::size_t{0}; });
}

template <int (*function)(shmem_team_t, void*, const void*, std::size_t)>
Swept gathered(const SweepOptions& options, std::size_t bytes) {
  return moved(
      options, bytes, 1, pes(),
      [](void* dest, const void* source, std::size_t n) { function(SHMEM_TEAM_WORLD, dest, source, n); },
      [](std::size_t block) { return static_cast<int>(block); }, [](std::size_t) { return std::size_t{0}; });
}

Swept alltoall(const SweepOptions& options, std::size_t bytes) {
  return moved(
      options, bytes, pes(), pes(),
      [](void* dest, const void* source, std::size_t n) {
        shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, n);
      },
      [](std::size_t block) { return static_cast<int>(block); },
      [](std::size_t) { return static_cast<std::size_t>(me()); });
}

/// Of longs: fewer than 8 bytes are one.  Element i of PE p is p + i; `first_pes`: how many PEs' are in the
/// sum.
template <int (*function)(shmem_team_t, long*, const long*, std::size_t)>
Swept summed(const SweepOptions& options, std::size_t bytes, long first_pes) {
  const std::size_t count = std::max<std::size_t>(bytes / sizeof(long), 1);
  const Symmetric source(count * sizeof(long)), dest(count * sizeof(long));
  for (std::size_t i = 0; i < count; ++i) source.as<long>()[i] = me() + static_cast<long>(i);
  shmem_barrier_all();
  Swept swept =
      together(options, [&] { function(SHMEM_TEAM_WORLD, dest.as<long>(), source.as<long>(), count); });
  for (std::size_t i = 0; i < count; ++i) {
    const long expected = first_pes * (first_pes - 1) / 2 + first_pes * static_cast<long>(i);
    swept.right = dest.as<long>()[i] == expected && swept.right;
  }
  return swept;
}

Swept reduce(const SweepOptions& options, std::size_t bytes) {
  return summed<shmem_long_sum_reduce>(options, bytes, static_cast<long>(pes()));
}
Swept inscan(const SweepOptions& options, std::size_t bytes) {
  return summed<shmem_long_sum_inscan>(options, bytes, me() + 1);
}

constexpr SweepKind kKinds[] = {{"barrier", false, barrier},
                                {"sync", false, sync},
                                {"broadcast", true, broadcast},
                                {"collect", true, gathered<shmem_collectmem>},
                                {"fcollect", true, gathered<shmem_fcollectmem>},
                                {"alltoall", true, alltoall},
                                {"reduce", true, reduce},
                                {"inscan", true, inscan}};
constexpr std::size_t kSizes[] = {8, 64, 512, 4096, 32768, 262144};

}  // namespace

int coll(Words words) {
  return run_sweep(
      {"coll", "collective operations of all PEs: until the slowest is done", kKinds,
       "  --kind NAME,..    barrier, sync, broadcast, collect, fcollect, alltoall, reduce, inscan (default\n"
       "                    all); the size is what a PE gives, of alltoall to each\n",
       kSizes},
      words);
}

}  // namespace bench

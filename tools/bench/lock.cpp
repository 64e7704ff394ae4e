// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench lock: locks that nobody else wants, and that all want, verified.
#include <shmem.h>

#include "sweep.hpp"

namespace bench {
namespace {

/// Each PE has a lock of its own, which it sets and clears.
Swept alone(const SweepOptions& options, std::size_t) {
  const Symmetric locks(static_cast<std::size_t>(shmem_n_pes()) * sizeof(long));
  long* const mine = locks.as<long>() + shmem_my_pe();
  Swept swept = sweep(options, {true, 1, [&](std::size_t count) {
                                  for (std::size_t i = 0; i < count; ++i) {
                                    shmem_set_lock(mine);
                                    shmem_clear_lock(mine);
                                  }
                                }});
  swept.at_once = shmem_n_pes();
  swept.right = shmem_test_lock(mine) == 0;  // it is free
  shmem_clear_lock(mine);
  return swept;
}

/// All PEs want one lock, and `counts` with it: a counter on PE 0, which loses some if two PEs ever have the
/// lock at a time.
Swept wanted(const SweepOptions& options, bool counts) {
  const Symmetric block(2 * sizeof(long));
  long *const lock = block.as<long>(), *const counter = lock + 1;
  long times = 0;
  const auto run = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      shmem_set_lock(lock);
      if (counts) shmem_long_p(counter, shmem_long_g(counter, 0) + 1, 0);
      shmem_clear_lock(lock);
      ++times;
    }
  };
  Swept swept = sweep(options, {true, 1, run});
  swept.at_once = shmem_n_pes();
  const double all = total(static_cast<double>(times));
  shmem_barrier_all();
  swept.right = static_cast<double>(shmem_long_g(counter, 0)) == (counts ? all : 0);
  shmem_barrier_all();
  return swept;
}

Swept contended(const SweepOptions& options, std::size_t) { return wanted(options, false); }
Swept counter(const SweepOptions& options, std::size_t) { return wanted(options, true); }

/// The last PE has the lock, and the others ask for it in vain.
Swept test(const SweepOptions& options, std::size_t) {
  const Symmetric block(sizeof(long));
  long* const lock = block.as<long>();
  const int holder = shmem_n_pes() - 1;
  const bool asks = shmem_my_pe() != holder;
  if (!asks) shmem_set_lock(lock);
  shmem_barrier_all();
  bool refused = true;
  Swept swept = sweep(options, {asks, 1, [&](std::size_t count) {
                                  for (std::size_t i = 0; i < count; ++i)
                                    refused = shmem_test_lock(lock) == 1 && refused;
                                }});
  swept.at_once = holder;
  swept.right = refused;
  if (!asks) shmem_clear_lock(lock);
  return swept;
}

constexpr SweepKind kKinds[] = {{"alone", false, alone},
                                {"contended", false, contended},
                                {"counter", false, counter},
                                {"test", false, test, 2}};

}  // namespace

int lock(Words words) {
  return run_sweep(
      {"lock",
       "locks: how long a PE takes for one, and how many all PEs take",
       kKinds,
       "  --kind NAME,..    alone      set and clear of a lock that nobody else wants\n"
       "                    contended  all PEs set and clear the same lock\n"
       "                    counter    and have it while they count on PE 0\n"
       "                    test       test_lock of a lock that the last PE has; needs 2 PEs (default all)\n",
       {}},
      words);
}

}  // namespace bench

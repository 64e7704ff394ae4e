// SPDX-License-Identifier: BSD-3-Clause
// A PE of the doctor's jobs: puts, gets and adds, to and from the other one.
#include <cstdio>

#include "doctor.hpp"
#include "pshmem.h"

namespace doctor {
namespace {

constexpr std::size_t kWords = 4096;  // more than travels in a packet

long expected(int pe, std::size_t i) { return pe * 1000003L + static_cast<long>(i); }

int fail(const char* what) {
  std::fprintf(stderr, "shmem_info: PE %d of %d: %s\n", pshmem_my_pe(), pshmem_n_pes(), what);
  return 3;
}

}  // namespace

int be_pe() {
  pshmem_init();
  const int me = pshmem_my_pe(), pes = pshmem_n_pes(), next = (me + 1) % pes;
  auto* here = static_cast<long*>(pshmem_calloc(2 * kWords + 1, sizeof(long)));
  if (here == nullptr) return fail("no 64 KiB of symmetric memory");
  long* mine = here + kWords;
  long* sum = mine + kWords;
  for (std::size_t i = 0; i < kWords; ++i) mine[i] = expected(me, i);
  pshmem_barrier_all();
  pshmem_long_put(here, mine, kWords, next);
  for (int pe = 0; pe < pes; ++pe) pshmem_long_atomic_add(sum, me + 1, pe);
  pshmem_barrier_all();
  const int before = (me + pes - 1) % pes;
  for (std::size_t i = 0; i < kWords; ++i)
    if (here[i] != expected(before, i)) return fail("what was put here is wrong");
  if (*sum != static_cast<long>(pes) * (pes + 1) / 2) return fail("atomic additions are wrong");
  pshmem_long_get(here, mine, kWords, next);
  for (std::size_t i = 0; i < kWords; ++i)
    if (here[i] != expected(next, i)) return fail("what was got is wrong");
  pshmem_barrier_all();
  pshmem_finalize();
  return 0;
}

}  // namespace doctor

// SPDX-License-Identifier: BSD-3-Clause
#include "core/p2p.hpp"

#include <sched.h>

#include "base/fatal.hpp"
#include "core/region.hpp"

namespace shm {

void check_wait(Call call, const char* argument, const void* words, std::size_t word, std::size_t n,
                int cmp) {
  if (static_cast<unsigned>(cmp) > SHMEM_CMP_GE) {
    fatal("%s: cmp is %d; allowed are the SHMEM_CMP_ constants EQ, NE, GT, LE, LT and GE", call.name, cmp);
  }
  check_aligned(call, argument, words, word);
  resolve(call, argument, words, n, rt.me);
}

std::uint64_t load_from_region(const void* word, std::size_t n) {
  const auto address = reinterpret_cast<std::uintptr_t>(word);
  std::uint64_t value = 0;
  find_region(address, n)->load(address, &value, n);
  return value;
}

// A program that polls with the test functions may be all that runs on this core: let the PE that it waits
// for run.
void poll_progress() {
  if (rt.progress != nullptr) {
    rt.network->flush_all();  // what is tested for may be the answer
    rt.progress->poll();
  }
  static thread_local unsigned polls = 0;
  if (++polls > rt.spin_polls) {
    polls = 0;
    sched_yield();
  }
}

}  // namespace shm

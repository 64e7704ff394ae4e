// SPDX-License-Identifier: BSD-3-Clause
// C++ has the functions that C has: the four that share their name with an overload can be named without a
// call.
#include <shmem.h>

#include <functional>
#include <thread>

static uint64_t word;
static long number;

int main() {
  const auto add = &shmem_signal_add;
  const auto sync = &shmem_sync;
  add(&word, 1, 0);
  std::thread(shmem_signal_set, &word, uint64_t{1}, 0).join();
  std::bind(shmem_wait_until, &number, SHMEM_CMP_EQ, 0L)();
  shmem_signal_add(SHMEM_CTX_DEFAULT, &word, 1, 0);
  shmem_wait_until(&word, SHMEM_CMP_EQ, uint64_t{2});
  sync(0, 0, 1, &number);
  return shmem_sync(SHMEM_TEAM_WORLD);
}

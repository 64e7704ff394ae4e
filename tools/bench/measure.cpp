// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include <shmem.h>

#include <chrono>

namespace bench {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double largest(double value) {
  static double mine, all;
  mine = value;
  shmem_double_max_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
  return all;
}

double total(double value) {
  static double mine, all;
  mine = value;
  shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
  return all;
}

int nodes() { return static_cast<int>(total(shmem_team_my_pe(SHMEM_TEAM_SHARED) == 0 ? 1 : 0)); }

}  // namespace bench

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

std::string job_in_words() {
  const auto pes = static_cast<std::size_t>(shmem_n_pes()), node_count = static_cast<std::size_t>(nodes());
  return std::to_string(pes) + " PE" + plural(pes) + " on " + std::to_string(node_count) + " node" +
         plural(node_count);
}

Tail tail_of(std::vector<float> times) {
  std::sort(times.begin(), times.end());
  const std::size_t last = times.size() - 1;
  const auto but = [&](std::size_t part) { return static_cast<double>(times[last - last / part]); };
  return {.median = but(2),
          .p99 = but(100),
          .p99_9 = but(1000),
          .p99_99 = but(10000),
          .longest = static_cast<double>(times[last])};
}

}  // namespace bench

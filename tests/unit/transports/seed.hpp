// SPDX-License-Identifier: BSD-3-Clause
// The seed of tests that do something random.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace shm::test {

/// Another one in each run, which is printed; ATOLL_TEST_SEED repeats a run.
inline std::uint64_t seed_of_run() {
  const char* text = std::getenv("ATOLL_TEST_SEED");
  const std::uint64_t seed =
      text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}() % 100000;
  std::printf("ATOLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace shm::test

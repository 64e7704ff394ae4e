// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the pool, replacement and pagers share: memory for a pool, waits with an end, seeds.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>

#include "pages/pool.hpp"
#include "thread_state.hpp"

namespace shm::pages {

using test::sleeps;

inline constexpr std::size_t kPageBytes = 4096;

/// ATOLL_TEST_SEED repeats a run.
inline std::uint64_t seed_of_run() {
  const char* text = std::getenv("ATOLL_TEST_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device()();
  std::printf("ATOLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

/// What takes so long does not happen at all.
inline auto deadline() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

/// Polls until it holds.  Throws, which fails the test, if that takes too long.
template <class Condition>
void await(const std::string& what, Condition condition) {
  const auto limit = deadline();
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("in vain: waiting for " + what);
    sched_yield();
  }
}

/// A pool of its own, all frames free; processes forked later share it.
class PoolMemory {
 public:
  explicit PoolMemory(const PoolShape& shape)
      : bytes_(shape.bytes()),
        base_(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        pool(static_cast<std::byte*>(base_), shape) {
    if (base_ == MAP_FAILED) throw std::runtime_error("no memory for a pool");
    pool.prepare();
  }
  ~PoolMemory() { munmap(base_, bytes_); }
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

 private:
  std::size_t bytes_;
  void* base_;

 public:
  const Pool pool;
};

}  // namespace shm::pages

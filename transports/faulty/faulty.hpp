// SPDX-License-Identifier: BSD-3-Clause
// A network that misbehaves as far as the contract lets it, around any other network: for tests of everything
// above the seam, and the smallest example of a NetOps that wraps another.
//
// What it does, decided by the seed: holds operations back for some polls and starts them in another order,
// but for messages of one channel to one PE, and for what a fence is between; polls that do nothing; fences
// that say no; atomics that it claims not to support; a tiny limit for copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "net.hpp"

namespace shm {

struct FaultOptions {
  std::uint64_t seed = 1;
  int max_hold = 8;                // polls that an operation may be held back; 0: none
  int refuse_fence_percent = 50;   // of the fences that could be granted
  int lazy_poll_percent = 20;      // polls that do nothing
  int refuse_atomic_percent = 20;  // of the pairs of operation and type
  std::size_t copy_limit = 16;     // at most
};

/// Owns `inner`.  Contracts: Network; thread safety as the inner network's.
std::unique_ptr<Network> make_faulty(std::unique_ptr<Network> inner, FaultOptions options);

}  // namespace shm

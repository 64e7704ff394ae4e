// SPDX-License-Identifier: BSD-3-Clause
// A network that packs small operations, around any other network.  README.md has what flows where.
#pragma once

#include <memory>

#include "net.hpp"

namespace shm {

/// Owns `inner`.  Contracts: Network; thread safety as the inner network's.  Channels batch between
/// hint({batch: true}) and hint({batch: false}), and are the inner network's otherwise.
/// The memory of all segments is written by CPU atomics and stores of the thread that polls.
std::unique_ptr<Network> make_batching(std::unique_ptr<Network> inner);

}  // namespace shm

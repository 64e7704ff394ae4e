// SPDX-License-Identifier: BSD-3-Clause
// The software NIC: a network that packs small operations and executes atomics near the data, around any
// other network.  README.md has what flows where.
#pragma once

#include <memory>

#include "net.hpp"
#include "nic/mshr.hpp"

namespace shm {

struct NicOptions {
  Packed packed = Packed::atomics;
  nic::MshrSize mshrs;
  bool batch = false;  // PEs of a node send their blocking atomics together: pays where they outnumber cores
};

/// Owns `inner`.  Contracts: Network; thread safety as the inner network's.  What the inner network does not
/// support is packed in any case.  The memory of all segments is written by CPU atomics and stores of the
/// thread that polls, here or in a PE of the same node (join_node).
std::unique_ptr<Network> make_nic(std::unique_ptr<Network> inner, const NicOptions& options);

}  // namespace shm

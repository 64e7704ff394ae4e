// SPDX-License-Identifier: BSD-3-Clause
// What is found out once in the life of a process and never changes: who the PEs are, the node's shared
// memory, the network and the addresses of its peers.  init after finalize starts from here.
#pragma once

#include <memory>
#include <string>

#include "base/limits.hpp"
#include "boot/boot.hpp"
#include "heap/node_memory.hpp"
#include "nvm/options.hpp"
#include "remote/servers.hpp"
#include "transports/net.hpp"

namespace shm {

struct ProcessState {
  Boot* boot = nullptr;
  std::unique_ptr<Network> network;          // null: all PEs are on one node
  std::unique_ptr<remote::Servers> servers;  // null: the job has no memory servers
  std::unique_ptr<NodeMemory> memory;
  std::vector<int> leaders;   // lowest rank of each node, ascending
  std::size_t user_heap = 0;  // bytes of the symmetric heap that users may allocate, on every PE
  std::string mapper;
  nvm::Options nvm;
};

/// Collective over the job.  `boot` has joined; it outlives the process state.
Result<std::unique_ptr<ProcessState>> make_process_state(Boot& boot, const Env& env);

/// PEs that this machine runs, and whether there is a core for each of them.
int pes_of_host(const Job& job);
bool each_has_a_core(int pes);

/// Bytes of a PE's heap: what the program may have, what the PE gives out by itself, and what the segment
/// spans, all of which is registered with a network.  `in_memory`: default_heap().
struct HeapSizes {
  std::size_t user, own, segment;
};
HeapSizes heap_sizes(const Env& env, const nvm::Options& nvm, std::size_t in_memory);

/// What this PE registers with the network, and its node.
ToPin registered_memory(const ProcessState& state);

/// Bytes of heap that a PE gets where SHMEM_SYMMETRIC_SIZE is not set: its share of half the node's memory.
std::size_t default_heap(int pes_on_host);

}  // namespace shm

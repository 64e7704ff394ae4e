// SPDX-License-Identifier: BSD-3-Clause
// From which PEs a thread that waits expects a sign of life (WaitWatch), and how.
#pragma once

#include "heap/node_memory.hpp"

namespace shm {

/// From now on, until watch_peers(nullptr), unless the user wants none (SHMEM_PEER_TIMEOUT=0) or all PEs are
/// on one node.  REQUIRES: all PEs drive the network.
void listen_to_peers(const NodeMemory& memory);

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Contexts: streams of operations that are ordered and completed on their own (OpenSHMEM 1.6, section 9.4).
#pragma once

#include <cstdint>

#include "shmem.h"
#include "transports/net.hpp"

namespace shm {

struct Team;

/// What a shmem_ctx_t other than SHMEM_CTX_DEFAULT points to.
struct Context {
  Channel* channel = nullptr;  // null: all PEs are on this node, plain stores are all there is
  const Team* team = nullptr;  // PE numbers of calls are relative to it
  long options = 0;
};

}  // namespace shm

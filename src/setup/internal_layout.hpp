// SPDX-License-Identifier: BSD-3-Clause
// The runtime's own symmetric memory, below what users allocate in every PE's heap segment: the area of
// collective calls, then what the software NIC of each PE shows its node.
#pragma once

#include <cstddef>

#include "coll/internal.hpp"
#include "heap/node_memory.hpp"
#include "transports/net.hpp"

namespace shm {

inline constexpr std::size_t kSharedSlotsAt = round_up(sizeof(InternalArea), kCacheLine);
inline constexpr std::size_t kInternalBytes = std::size_t{4} << 20;
static_assert(kSharedSlotsAt + kSharedSlotsBytes <= kInternalBytes);

}  // namespace shm

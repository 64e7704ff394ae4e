// SPDX-License-Identifier: BSD-3-Clause
// The runtime's own symmetric memory, below what users allocate in every PE's heap segment: the area of
// collective calls, then what the software NIC of each PE shows its node, and in a job with an NVM heap the
// staging memory of collective calls.
#pragma once

#include <cstddef>

#include "coll/internal.hpp"
#include "coll/staging.hpp"
#include "heap/node_memory.hpp"
#include "transports/net.hpp"

namespace shm {

inline constexpr std::size_t kSharedSlotsAt = round_up(sizeof(InternalArea), kCacheLine);
inline constexpr std::size_t kInternalBytes = std::size_t{4} << 20;
static_assert(kSharedSlotsAt + kSharedSlotsBytes <= kInternalBytes);

inline constexpr std::size_t kStagingAt = kInternalBytes;
constexpr std::size_t internal_bytes(bool with_staging) {
  return kInternalBytes + (with_staging ? kStagingOfAllSlots : 0);
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Memory in which collective operations work on what lies in memory with rules of its own (core/region).
//
// Each slot has kStagingBytes of it, in every PE's segment in memory, at the same offset.  So the members of
// a group reach each other's as they reach any object in memory, and no two groups share any.
#pragma once

#include <cstddef>
#include <span>

#include "coll/group.hpp"

namespace shm {

/// Of a slot.  Address space: nothing is committed before the slot's group uses it.
inline constexpr std::size_t kStagingBytes = std::size_t{128} << 10;
inline constexpr std::size_t kStagingOfAllSlots = kSlots * kStagingBytes;

/// kStagingOfAllSlots bytes of this PE's segment in memory; null: there is no memory that needs them.
/// Thread safety: while no other thread is inside the library.
void set_staging(std::byte* all);

/// This PE's part for the group, aligned for every type.  REQUIRES: set_staging().
std::span<std::byte> staging_of(const Group& g);

bool is_staging(const void* address, std::size_t n);

/// Copies between staging memory and this PE's own n bytes at `own`, in any memory.  What needs pages waits
/// for them as calls do, driving the network; a page that is written wholly need not be read.
void stage_in(std::byte* to, const void* own, std::size_t n);
void stage_out(void* own, const std::byte* from, std::size_t n);

/// Before all of [own, own + n) is staged out, in parts of `part` bytes, and nothing of it is staged in:
/// pages that are longer than a part need not be read either.
void will_stage_out(void* own, std::size_t n, std::size_t part);

}  // namespace shm

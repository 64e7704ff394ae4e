// SPDX-License-Identifier: BSD-3-Clause
// Symmetric memory that collective calls share (cells, marks, scratch): the first bytes of every
// PE's heap segment (setup/internal_layout.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/address.hpp"
#include "core/runtime.hpp"
#include "heap/node_memory.hpp"

namespace shm {

/// What a PE says of the collective call that it is in, to be compared with what others say
/// (coll/check_same).  Two, used in turn: a PE can only come to the next but one after all have read this
/// one.
struct Said {
  static constexpr int kValues = 8;
  std::uint64_t turn;
  char call[48];
  std::uint64_t values[kValues];
};

/// What a PE says to the other PEs of its node in one phase of a collective operation: that it has come to
/// phase `number`, with a payload inline.  Two cache lines, which the CPU fetches as a pair.
/// Written by its PE only; coll/group.hpp has the rules.
struct alignas(128) Cell {
  static constexpr std::size_t kPayload = 112;
  std::atomic<std::uint64_t> number;  // only grows, over the life of the process
  std::uint64_t size;                 // of the payload, or what the operation says
  alignas(16) std::byte payload[kPayload];
};
static_assert(sizeof(Cell) == 128);

/// Sets of PEs that can have collective operations at the same time: teams and active sets.
inline constexpr int kSlots = 512;
inline constexpr int kCells = 16;  // phases that a PE may be ahead of the slowest, plus one

/// What PEs of other nodes write when they have put data here (coll/rendezvous): a bit for each piece that is
/// there.
inline constexpr int kParcelMarks = 4096;

/// Where operands from other nodes arrive (coll/scratch).
inline constexpr std::size_t kScratchBytes = std::size_t{2} << 20;

struct InternalArea {
  alignas(kCacheLine) std::uint64_t failures[2];  // PEs that had no room for a block; of PE 0, in turn
  Said said[2];
  Cell cells[kSlots][kCells];
  alignas(kCacheLine) std::atomic<std::uint64_t> parcel_marks[kParcelMarks];
  alignas(kCacheLine) std::byte scratch[kScratchBytes];
};

inline InternalArea& internal_area() { return *reinterpret_cast<InternalArea*>(rt.heap.origin); }

/// The same object of `pe`, as mapped here, or null.
template <class T>
T* internal_at(T* mine, int pe) {
  return reinterpret_cast<T*>(at_peer(rt.heap, reinterpret_cast<std::uintptr_t>(mine), pe));
}

}  // namespace shm

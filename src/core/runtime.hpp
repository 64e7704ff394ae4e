// SPDX-License-Identifier: BSD-3-Clause
// The one Runtime object: what the hot path reads, and who owns the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/env.hpp"
#include "base/inside.hpp"
#include "core/context.hpp"

namespace shm {

class Boot;
class HeapAllocator;
class Region;
class NodeMemory;
class Progress;
class Network;

/// No mapping of the peer's memory here.  Odd, so no page-aligned difference has this value.
inline constexpr std::ptrdiff_t kNoMapping = 1;

/// Bytes of the largest type that has operations of its own (long double, complex double).
inline constexpr std::size_t kLargestElement = 16;

/// A symmetric address range: [base, base + size) here; the same object of PE p is mapped here at a +
/// delta[p].
struct SymmetricSegment {
  std::uintptr_t base = 0;
  std::size_t whole = 0;                  // an element that starts before base + whole ends in the segment
  const std::ptrdiff_t* delta = nullptr;  // [world PE]; kNoMapping: not on this node; 0 for this PE
  std::size_t size = 0;                   // 0: no such range (also before init: every test misses)
  std::uintptr_t origin = 0;              // what RemoteAddress::offset counts from; at or below base

  SymmetricSegment() = default;
  /// The first `hidden` bytes are not the program's.
  SymmetricSegment(std::uintptr_t first, std::size_t bytes, const std::ptrdiff_t* deltas,
                   std::size_t hidden = 0)
      : base(first + hidden),
        whole(bytes - hidden > kLargestElement ? bytes - hidden - kLargestElement : 0),
        delta(deltas),
        size(bytes - hidden),
        origin(first) {}

  /// One comparison, for objects of at most kLargestElement bytes; misses a few that end at the very end.
  bool starts(std::uintptr_t address) const { return address - base < whole; }

  bool holds(std::uintptr_t address, std::size_t n) const {
    const std::uintptr_t offset = address - base;
    return offset < size && n <= size - offset;
  }
};

/// [base, base + size).
struct AddressRange {
  std::uintptr_t base = 0;
  std::size_t size = 0;

  bool holds(std::uintptr_t address) const { return address - base < size; }
  bool holds(const void* address) const { return holds(reinterpret_cast<std::uintptr_t>(address)); }
};

/// Thread safety: written by init and finalize only, while no other thread is inside the library.
struct alignas(64) Runtime {
  // Read by every operation.
  unsigned npes = 0;  // 0: not initialised, so that every PE number is out of range
  int me = -1;
  SymmetricSegment heap;
  SymmetricSegment statics;
  Context world_context;     // SHMEM_CTX_DEFAULT
  AddressRange regions;      // all that is registered with core/region, and what is between; empty: none
  bool same_statics = true;  // all PEs lay out their variables alike

  // Read off the fast path.
  Env env;
  int thread_level = 0;
  bool parallel_contexts = false;  // the program has said that it has threads which call at the same time
  int node_rank = 0;               // of this PE among its node's, 0: the leader
  std::vector<int> node_pes;       // of this node, ascending
  std::vector<int> leaders;        // lowest rank of each node, ascending
  int node_number = 0;             // of this node among the leaders
  std::size_t user_heap = 0;       // bytes that users may allocate
  unsigned spin_polls = 0;         // see core/wait.hpp
  NodeMemory* memory = nullptr;
  Boot* boot = nullptr;
  Network* network = nullptr;          // null: all PEs are on this node
  Progress* progress = nullptr;        // null: nothing to drive
  HeapAllocator* allocator = nullptr;  // PE 0 only
  AddressRange own_memory;             // at the end of the heap segment: this PE alone gives it out

  // A second heap to allocate from, in a region (core/region).  What calls do is decided by the address.
  Region* paged = nullptr;                   // null: there is none
  HeapAllocator* paged_allocator = nullptr;  // PE 0 only
  bool paged_by_default = false;             // shmem_malloc takes from it
  std::size_t paged_limit = 0;               // bytes that users may allocate there
  std::string paged_text;                    // what it is, for SHMEM_INFO
};

ATOLL_INSIDE extern Runtime rt;

inline bool initialised() { return rt.npes != 0; }

}  // namespace shm

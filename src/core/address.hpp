// SPDX-License-Identifier: BSD-3-Clause
// From (symmetric address, PE) to where the object can be reached.
#pragma once

#include "core/runtime.hpp"

namespace shm {

/// Which function the user called, for messages ("shmem_long_put").  Costs nothing unless something is wrong.
struct Call {
  const char* name;
};

/// Where an address lies in symmetric memory, in words that are the same on all PEs: "heap+0x40".
struct PlaceName {
  explicit PlaceName(const void* address);
  char text[40];
};

/// The same as numbers, to be told to another PE: which symmetric memory, and where in it.  Objects of all
/// PEs at one symmetric address have one place.
struct Place {
  std::uint64_t memory, offset;
};
[[gnu::cold]] Place place_of(const void* address);
/// The symmetric address here of what is at `place` on all PEs.
[[gnu::cold]] const void* address_of(const Place& place);

/// Where `segment` of the PE lies relative to ours, applied to `address`; null if it is not mapped here.
[[gnu::always_inline]] inline std::byte* at_peer(const SymmetricSegment& segment, std::uintptr_t address,
                                                 int pe) {
  const std::ptrdiff_t delta = segment.delta[static_cast<unsigned>(pe)];
  if (delta == kNoMapping) [[unlikely]]
    return nullptr;
  auto* there = reinterpret_cast<std::byte*>(address + static_cast<std::uintptr_t>(delta));
  if (there == nullptr) __builtin_unreachable();  // a mapping: saves the caller's test for null
  return there;
}

/// The peer's object at `address` in this process's memory, or null: then the PE is on another node, the
/// address lies in a region with rules of its own, or an argument is wrong; resolve() finds out which. This
/// is the hot path of every operation: one PE test, one range test, one load, one add.
template <class T>
[[gnu::always_inline]] inline T* mapped(const T* object, int pe) {
  static_assert(sizeof(T) <= kLargestElement);
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  if (static_cast<unsigned>(pe) >= rt.npes) [[unlikely]]
    return nullptr;
  if (rt.heap.starts(address)) [[likely]]
    return reinterpret_cast<T*>(at_peer(rt.heap, address, pe));
  if (rt.statics.starts(address)) [[likely]]
    return reinterpret_cast<T*>(at_peer(rt.statics, address, pe));
  return nullptr;
}

/// The same for a word that atomics and waits access at once, which must be aligned to its size: else null,
/// too; check_aligned() tells the user.
template <class T>
[[gnu::always_inline]] inline T* mapped_word(const T* word, int pe) {
  if ((reinterpret_cast<std::uintptr_t>(word) & (sizeof(T) - 1)) != 0) [[unlikely]]
    return nullptr;
  return mapped(word, pe);
}

/// The same for n bytes.
[[gnu::always_inline]] inline std::byte* mapped(const void* bytes, std::size_t n, int pe) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes);
  if (static_cast<unsigned>(pe) >= rt.npes) [[unlikely]]
    return nullptr;
  if (rt.heap.holds(address, n)) [[likely]]
    return at_peer(rt.heap, address, pe);
  if (rt.statics.holds(address, n)) [[likely]]
    return at_peer(rt.statics, address, pe);
  return nullptr;
}

class Region;

/// What a symmetric address turned out to be; exactly one of the three.
struct Target {
  std::byte* local = nullptr;  // mapped here
  Region* region = nullptr;    // has rules of its own
  RemoteAddress remote{};      // else: on another node, at this place
};
inline bool is_remote(const Target& target) { return target.local == nullptr && target.region == nullptr; }

/// Finds out what [address, address + n) on `pe` is.  Ends the job, naming call and argument, if it is
/// nothing that can be reached.  Constants of the program can be where `argument` is "source", which every
/// call only reads.  REQUIRES: n > 0.
[[gnu::cold]] Target resolve(Call call, const char* argument, const void* address, std::size_t n, int pe);

/// The same for an object of at most kLargestElement bytes on another node, for operations that take no
/// longer than to look: false where only resolve() can tell.
[[gnu::always_inline]] inline bool find_remote(const void* object, int pe, RemoteAddress& at) {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  if (static_cast<unsigned>(pe) >= rt.npes) [[unlikely]]
    return false;
  if (rt.heap.starts(address)) {
    at = {SegmentId::heap, address - rt.heap.origin};
    return rt.heap.delta[pe] == kNoMapping;
  }
  if (rt.statics.starts(address) && rt.same_statics) {
    at = {SegmentId::statics, address - rt.statics.origin};
    return rt.statics.delta[pe] == kNoMapping;
  }
  return false;
}

/// Ends the job unless the library is initialised.
[[gnu::cold]] void refuse_uninitialised(Call call);
[[gnu::always_inline]] inline void check_started(Call call) {
  if (!initialised()) [[unlikely]]
    refuse_uninitialised(call);
}

/// Ends the job unless the library is initialised and `pe` names a PE of the world.
[[gnu::cold]] void check_pe(Call call, int pe);

/// Ends the job if `address` is not a multiple of `alignment`, a power of two, or the library not
/// initialised.
[[noreturn, gnu::cold]] void refuse_unaligned(Call call, const char* argument, const void* address,
                                              std::size_t alignment);
[[gnu::always_inline]] inline void check_aligned(Call call, const char* argument, const void* address,
                                                 std::size_t alignment) {
  if (!initialised() || (reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) != 0) [[unlikely]]
    refuse_unaligned(call, argument, address, alignment);
}

/// Ends the job if a pointer to where a result should go is null.
[[noreturn, gnu::cold]] void refuse_null(Call call, const char* argument);
[[gnu::always_inline]] inline void check_result(Call call, const char* argument, const void* result) {
  if (result == nullptr) [[unlikely]]
    refuse_null(call, argument);
}

/// Ends the job if an array of n > 0 elements is null.
[[noreturn, gnu::cold]] void refuse_null_array(Call call, const char* argument, std::size_t n);
[[gnu::always_inline]] inline void check_array(Call call, const char* argument, const void* array,
                                               std::size_t n) {
  if (array == nullptr && n > 0) [[unlikely]]
    refuse_null_array(call, argument, n);
}

/// The context behind a handle, and the world number of `pe` in it.  Ends the job if the handle is invalid or
/// the PE is not in the context's team.
Context& find_context(Call call, shmem_ctx_t handle);
[[gnu::always_inline]] inline Context& context_of(Call call, shmem_ctx_t handle) {
  return handle == SHMEM_CTX_DEFAULT ? rt.world_context : find_context(call, handle);
}
int world_pe(Call call, shmem_ctx_t handle, int pe);

/// PE numbers of the default context are world numbers already.
[[gnu::always_inline]] inline int to_world(Call call, shmem_ctx_t handle, int pe) {
  return handle == SHMEM_CTX_DEFAULT ? pe : world_pe(call, handle, pe);
}

}  // namespace shm

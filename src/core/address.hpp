// SPDX-License-Identifier: BSD-3-Clause
// From (symmetric address, PE) to where the object can be reached.
#pragma once

#include "core/runtime.hpp"

namespace shm {

/// Which function the user called, for messages ("shmem_long_put").  Costs nothing unless something is wrong.
struct Call {
  const char* name;
};

/// Start of the peer's n bytes at `address` in this process's memory, or null: then the PE is on another node, the
/// address lies in a region with rules of its own, or an argument is wrong; resolve() finds out which.
/// This is the hot path of every operation: one PE test, one range test, one load, one add.
[[gnu::always_inline]] inline std::byte* mapped(const void* address, std::size_t n, int pe) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  if (static_cast<unsigned>(pe) >= rt.npes) [[unlikely]] return nullptr;
  std::ptrdiff_t delta;
  if (rt.heap.holds(a, n)) [[likely]] {
    delta = rt.heap.delta[pe];
  } else if (rt.statics.holds(a, n)) {
    delta = rt.statics.delta[pe];
  } else [[unlikely]] {
    return nullptr;
  }
  if (delta == kNoMapping) [[unlikely]] return nullptr;
  return reinterpret_cast<std::byte*>(a + static_cast<std::uintptr_t>(delta));
}

/// The same for one object of type T.
template <class T>
[[gnu::always_inline]] inline T* mapped(const T* address, int pe) {
  return reinterpret_cast<T*>(mapped(address, sizeof(T), pe));
}

class Region;

/// What a symmetric address turned out to be; exactly one of the three.
struct Target {
  std::byte* local = nullptr;  // mapped here
  Region* region = nullptr;    // has rules of its own
  RemoteAddress remote{};      // else: on another node, at this place
};

/// Finds out what [address, address + n) on `pe` is.  Ends the job, naming call and argument, if it is nothing
/// that can be reached.  REQUIRES: n > 0.
[[gnu::cold]] Target resolve(Call call, const char* argument, const void* address, std::size_t n, int pe);

/// Ends the job unless the library is initialised.
[[gnu::cold]] void refuse_uninitialised(Call call);
[[gnu::always_inline]] inline void check_started(Call call) {
  if (!initialised()) [[unlikely]] refuse_uninitialised(call);
}

/// Ends the job unless the library is initialised and `pe` names a PE of the world.
[[gnu::cold]] void check_pe(Call call, int pe);

/// The context behind a handle, and the world number of `pe` in it.  Ends the job if the handle is invalid or the
/// PE is not in the context's team.
Context& context_of(Call call, shmem_ctx_t handle);
int world_pe(Call call, shmem_ctx_t handle, int pe);

/// PE numbers of the default context are world numbers already.
[[gnu::always_inline]] inline int to_world(Call call, shmem_ctx_t handle, int pe) {
  return handle == SHMEM_CTX_DEFAULT ? pe : world_pe(call, handle, pe);
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// What the access was that has raised SIGSEGV, and where no access is right.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace shm {

/// Addresses below are NULL, or an element of an array or structure that is at NULL: no memory is there.
inline constexpr std::uintptr_t kNearNull = 4096;

enum class Fault { load, store, other };

/// `context`: of the signal's handler.  Async-signal-safe.
inline Fault kind_of_fault(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kStore = 2, kInstruction = 16;
  const greg_t error = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (error & kInstruction) != 0 ? Fault::other : (error & kStore) != 0 ? Fault::store : Fault::load;
#elif defined(__aarch64__)
  // The syndrome's class and WnR bit, from the record of the exception among the reserved ones.
  constexpr std::uint32_t kSyndrome = 0x45535201, kDataAbort = 0x24;
  const auto* record =
      reinterpret_cast<const std::uint32_t*>(static_cast<const ucontext_t*>(context)->uc_mcontext.__reserved);
  for (; record[0] != 0 && record[0] != kSyndrome; record += record[1] / 4) {
  }
  if (record[0] == 0 || record[2] >> 26 != kDataAbort) return Fault::other;
  return (record[2] & 0x40) != 0 ? Fault::store : Fault::load;
#else
#error "which bit says that a fault was a store?"
#endif
}

}  // namespace shm

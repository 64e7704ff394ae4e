// SPDX-License-Identifier: BSD-3-Clause
// The cold half of RMA and atomics: targets that are not mapped here, regions, and wrong arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fault_kind.hpp"
#include "core/address.hpp"

namespace shm {

/// Whether a call may return before the operation is complete.
enum class Blocking : bool { no, yes };

/// Whether `dest` of a get is NULL, or close to it.  What the network brings is stored by whichever thread
/// polls, whose crash would not tell the call: so the call itself is to fail.
inline bool goes_nowhere(const void* dest) { return reinterpret_cast<std::uintptr_t>(dest) < kNearNull; }
/// Fails by SIGSEGV if it does.
inline void check_dest(void* dest) {
  if (goes_nowhere(dest)) [[unlikely]]
    *static_cast<volatile std::byte*>(dest) = {};
}

/// `call` and `argument` name the user's call in messages.  A put returns when `source` may be reused
/// (Blocking::yes) or at once; a get when the data have arrived.  n may be 0: then only `pe` is checked.
[[gnu::cold]] void remote_put(Call call, Context&, void* dest, const void* source, std::size_t n, int pe,
                              Blocking);
/// The same for one element of n bytes, 4 or 8, which are the lower ones of `value`; blocking.  Arguments are
/// in the order of NetOps::put_word, so that most are in the right registers.
[[gnu::cold]] void remote_put_word(Call call, int pe, void* dest, shmem_ctx_t ctx, std::uint64_t value,
                                   std::size_t n);
/// remote_put() on a context that is yet to be found: words go the short way, whatever call has them.  A
/// template, so that all arguments are in registers.
template <Blocking kBlocking>
[[gnu::cold]] void remote_put_bytes(Call call, int pe, void* dest, shmem_ctx_t ctx, const void* source,
                                    std::size_t n);
/// A nonblocking get, in the order of NetOps::get_element.
[[gnu::cold]] void remote_get_nbi(Call call, int pe, void* dest, shmem_ctx_t ctx, const void* source,
                                  std::size_t n);
[[gnu::cold]] void remote_get(Call call, Context&, void* dest, const void* source, std::size_t n, int pe,
                              Blocking);

/// `fetch` is null for operations that return nothing; these never wait.
[[gnu::cold]] void remote_amo(Call call, const char* argument, Context&, AtomicOp, AtomicType, void* at,
                              const void* value, const void* compare, void* fetch, int pe, Blocking);

/// An atomic of one operand that returns nothing, in the order of NetOps::update.
struct Update {
  AtomicKind kind;
  std::uint8_t mask;       // of the bits of an address that are 0
  bool of_signal = false;  // the user knows the word as sig_addr
};
template <class T>
constexpr Update update_of(AtomicOp op, bool of_signal) {
  return {{op, atomic_type<T>()}, sizeof(T) - 1, of_signal};
}
[[gnu::cold]] void remote_update(Call call, int pe, void* at, shmem_ctx_t ctx, Update, std::uint64_t value);

/// Puts, then updates the signal word with `op` (set or add), in this order as seen at the target.
[[gnu::cold]] void remote_put_signal(Call call, Context&, void* dest, const void* source, std::size_t n,
                                     std::uint64_t* signal, std::uint64_t value, AtomicOp op, int pe,
                                     Blocking);

/// The same for the runtime's own memory (setup/internal_layout), which is on another node.
void get_internal(Call call, void* dest, const void* source, std::size_t n, int pe);
/// Adds to a word of it, which may be on this node as well; returns when it is done.
void add_internal(Call call, std::uint64_t* at, std::uint64_t value, int pe);

}  // namespace shm

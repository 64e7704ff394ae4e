// SPDX-License-Identifier: BSD-3-Clause
// THE definition of every atomic operation.
//
// Each operation is one CPU atomic on the target's memory.  The on-node path, the agent that executes remote
// requests and the operations on paged memory all come through here, so they are atomic with respect to each
// other (OpenSHMEM 1.6, section 9.7; memory model, atomicity guarantees).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace shm {

/// Values go over the wire between PEs of one job; append only.
enum class AtomicOp : std::uint8_t {
  fetch,
  set,
  swap,
  compare_swap,
  add,
  bit_and,
  bit_or,
  bit_xor,
  min,
  max
};
inline constexpr int kAtomicOps = 10;

/// How the bits of an operand are read.  Values go over the wire; append only.
enum class AtomicType : std::uint8_t { i32, i64, u32, u64, f32, f64 };
inline constexpr int kAtomicTypes = 6;

template <class T>
consteval AtomicType atomic_type() {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "OpenSHMEM atomics are 4 or 8 bytes wide");
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? AtomicType::f32 : AtomicType::f64;
  if (std::is_signed_v<T>) return sizeof(T) == 4 ? AtomicType::i32 : AtomicType::i64;
  return sizeof(T) == 4 ? AtomicType::u32 : AtomicType::u64;
}

constexpr std::size_t atomic_size(AtomicType type) {
  return type == AtomicType::i32 || type == AtomicType::u32 || type == AtomicType::f32 ? 4 : 8;
}

constexpr bool is_real(AtomicType type) { return type == AtomicType::f32 || type == AtomicType::f64; }

/// Whether `op` changes memory without needing its old value back; false for the two that only make sense
/// with a result.
constexpr bool has_non_fetching_form(AtomicOp op) {
  return op != AtomicOp::fetch && op != AtomicOp::swap && op != AtomicOp::compare_swap;
}

/// What a word holds after `op`, if it held `old`.  Adds wrap around as two's complement: the sum is formed
/// unsigned.  Minimum and maximum store `value` if < says so, and else what was there: neither a NaN, as
/// operand or in memory, nor a zero of the other sign changes anything.
template <AtomicOp op, class T>
constexpr T atomic_next(T old, T value, T compare = T{}) {
  if constexpr (op == AtomicOp::fetch) {
    return old;
  } else if constexpr (op == AtomicOp::set || op == AtomicOp::swap) {
    return value;
  } else if constexpr (op == AtomicOp::compare_swap) {
    // By their bits, as the CPU compares.
    return std::memcmp(&old, &compare, sizeof old) == 0 ? value : old;
  } else if constexpr (op == AtomicOp::add) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value));
    } else {
      return old + value;
    }
  } else if constexpr (op == AtomicOp::bit_and) {
    return old & value;
  } else if constexpr (op == AtomicOp::bit_or) {
    return old | value;
  } else if constexpr (op == AtomicOp::bit_xor) {
    return old ^ value;
  } else if constexpr (op == AtomicOp::min) {
    return value < old ? value : old;
  } else {
    return old < value ? value : old;
  }
}

/// Read-modify-write by a compare-and-swap loop, for what the CPU has no instruction for.  A word that would
/// not change is not written: many PEs may ask for the maximum of one word.
template <AtomicOp op, class T>
T atomic_update(T* at, T value) {
  std::atomic_ref<T> word(*at);
  T old = word.load(std::memory_order_acquire);
  for (;;) {
    const T next = atomic_next<op>(old, value);
    if (std::memcmp(&next, &old, sizeof old) == 0) return old;
    if (word.compare_exchange_weak(old, next, std::memory_order_seq_cst, std::memory_order_acquire))
      return old;
  }
}

/// Applies `op` to *at and returns the old value (compilers drop it, and choose the shorter instruction,
/// where the caller does).  `compare` is read by compare_swap only.  REQUIRES: `at` naturally aligned.
template <AtomicOp op, class T>
[[gnu::always_inline]] inline T atomic_apply(T* at, T value, T compare = T{}) {
  std::atomic_ref<T> word(*at);
  if constexpr (op == AtomicOp::fetch) {
    return word.load(std::memory_order_acquire);
  } else if constexpr (op == AtomicOp::set) {
    word.store(value, std::memory_order_release);
    return T{};
  } else if constexpr (op == AtomicOp::swap) {
    return word.exchange(value);
  } else if constexpr (op == AtomicOp::compare_swap) {
    word.compare_exchange_strong(compare, value);
    return compare;
  } else if constexpr (op == AtomicOp::add) {
    return word.fetch_add(value);
  } else if constexpr (op == AtomicOp::bit_and) {
    return word.fetch_and(value);
  } else if constexpr (op == AtomicOp::bit_or) {
    return word.fetch_or(value);
  } else if constexpr (op == AtomicOp::bit_xor) {
    return word.fetch_xor(value);
  } else {
    return atomic_update<op>(at, value);
  }
}

/// Whether the specification or our extensions define `op` for `type`: no bitwise operations on floating
/// point.
constexpr bool is_defined(AtomicOp op, AtomicType type) {
  return !is_real(type) || (op != AtomicOp::bit_and && op != AtomicOp::bit_or && op != AtomicOp::bit_xor);
}

namespace detail {

template <AtomicOp op, class T>
void apply_erased(void* at, const void* value, const void* compare, void* old) {
  T v{}, c{};
  if (value != nullptr) std::memcpy(&v, value, sizeof v);
  if (compare != nullptr) std::memcpy(&c, compare, sizeof c);
  const T result = atomic_apply<op>(static_cast<T*>(at), v, c);
  if (old != nullptr) std::memcpy(old, &result, sizeof result);
}

template <class T>
void apply_typed(AtomicOp op, void* at, const void* value, const void* compare, void* old) {
  switch (op) {
    case AtomicOp::fetch: return apply_erased<AtomicOp::fetch, T>(at, value, compare, old);
    case AtomicOp::set: return apply_erased<AtomicOp::set, T>(at, value, compare, old);
    case AtomicOp::swap: return apply_erased<AtomicOp::swap, T>(at, value, compare, old);
    case AtomicOp::compare_swap: return apply_erased<AtomicOp::compare_swap, T>(at, value, compare, old);
    case AtomicOp::add: return apply_erased<AtomicOp::add, T>(at, value, compare, old);
    case AtomicOp::min: return apply_erased<AtomicOp::min, T>(at, value, compare, old);
    case AtomicOp::max: return apply_erased<AtomicOp::max, T>(at, value, compare, old);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == AtomicOp::bit_and) return apply_erased<AtomicOp::bit_and, T>(at, value, compare, old);
    if (op == AtomicOp::bit_or) return apply_erased<AtomicOp::bit_or, T>(at, value, compare, old);
    if (op == AtomicOp::bit_xor) return apply_erased<AtomicOp::bit_xor, T>(at, value, compare, old);
  }
}

}  // namespace detail

/// The same operations chosen at run time: for requests that arrive as messages.  `value`, `compare` and
/// `old` point to operands of the type's size, at any alignment, and may be null where they are not needed.
/// REQUIRES: is_defined(op, type).
inline void atomic_apply(AtomicOp op, AtomicType type, void* at, const void* value, const void* compare,
                         void* old) {
  switch (type) {
    case AtomicType::i32: return detail::apply_typed<std::int32_t>(op, at, value, compare, old);
    case AtomicType::i64: return detail::apply_typed<std::int64_t>(op, at, value, compare, old);
    case AtomicType::u32: return detail::apply_typed<std::uint32_t>(op, at, value, compare, old);
    case AtomicType::u64: return detail::apply_typed<std::uint64_t>(op, at, value, compare, old);
    case AtomicType::f32: return detail::apply_typed<float>(op, at, value, compare, old);
    case AtomicType::f64: return detail::apply_typed<double>(op, at, value, compare, old);
  }
}

}  // namespace shm

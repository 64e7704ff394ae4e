// SPDX-License-Identifier: BSD-3-Clause
// THE definition of every operation that reductions and scans combine elements with (OpenSHMEM 1.6, table
// 10).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace shm {

enum class ReduceOp { bit_and, bit_or, bit_xor, min, max, sum, prod };

/// The larger (else the smaller) of two floating-point numbers.  Commutative and associative in every bit, so
/// that all PEs get the same result in whatever order they combine: NaN if there is one, and -0 is less than
/// +0.
template <bool larger, class T>
[[gnu::always_inline]] inline T extreme(T a, T b) {
  if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) == larger ? b : a;
  return (a < b) == larger ? b : a;
}

/// a op b.  Integer sums and products wrap around as two's complement: they are formed unsigned, and wide
/// enough that the promotion of narrow types does not make them signed again.
template <ReduceOp op, class T>
[[gnu::always_inline]] inline T reduce_apply(T a, T b) {
  if constexpr (op == ReduceOp::bit_and) {
    return static_cast<T>(a & b);
  } else if constexpr (op == ReduceOp::bit_or) {
    return static_cast<T>(a | b);
  } else if constexpr (op == ReduceOp::bit_xor) {
    return static_cast<T>(a ^ b);
  } else if constexpr ((op == ReduceOp::min || op == ReduceOp::max) && std::is_floating_point_v<T>) {
    return extreme<op == ReduceOp::max>(a, b);
  } else if constexpr (op == ReduceOp::min) {
    return b < a ? b : a;
  } else if constexpr (op == ReduceOp::max) {
    return a < b ? b : a;
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<sizeof(T) <= 4, unsigned, unsigned long long>;
    const auto x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return static_cast<T>(op == ReduceOp::sum ? x + y : x * y);
  } else {
    return op == ReduceOp::sum ? a + b : a * b;
  }
}

/// An operation on vectors, with its types erased.  All operations are commutative, so that PEs which combine
/// the same operands pairwise get the same bits whichever of the two comes first (but for those inside a
/// NaN).
struct Reduction {
  std::size_t element;                                         ///< bytes
  void (*into)(void* acc, const void* in, std::size_t count);  ///< acc[i] = acc[i] op in[i]; no overlap
  void (*clear)(void* acc, std::size_t count);                 ///< acc[i] = what a sum begins with
};

namespace detail {

template <ReduceOp op, class T>
void reduce_into(void* acc, const void* in, std::size_t count) {
  T* __restrict a = static_cast<T*>(acc);
  const T* __restrict b = static_cast<const T*>(in);
  for (std::size_t i = 0; i < count; ++i) a[i] = reduce_apply<op>(a[i], b[i]);
}

// What no number changes by being added to: of floating-point numbers that is -0, as +0 would make -0 to +0.
template <class T>
void clear_sums(void* acc, std::size_t count) {
  T* a = static_cast<T*>(acc);
  for (std::size_t i = 0; i < count; ++i) a[i] = static_cast<T>(-T{});
}

}  // namespace detail

template <ReduceOp op, class T>
inline constexpr Reduction kReduction{sizeof(T), detail::reduce_into<op, T>, detail::clear_sums<T>};

}  // namespace shm

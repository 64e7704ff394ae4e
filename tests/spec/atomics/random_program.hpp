// SPDX-License-Identifier: BSD-3-Clause
// What random_program.cpp does to a word of some type: every atomic operation in every form, and what comes
// of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "check.h"

using Number = std::uint64_t;

enum class Op { put, set, fetch, swap, compare_swap, inc, add, bit_and, bit_or, bit_xor };
enum class Form { silent, blocking, nbi };

// Calls f(T{}) with the type of that number: the types that a compiler can tell apart.  The first have all
// operations, the next lack those on bits, the last can only be moved.
constexpr int kBitwiseTypes = 5, kIntegerTypes = 6, kTypes = 8;
template <class F>
void with_type(int type, F f) {
  switch (type) {
    case 0: return f(int{});
    case 1: return f(unsigned{});
    case 2: return f(static_cast<long>(0));
    case 3: return f(static_cast<unsigned long>(0));
    case 4: return f(static_cast<unsigned long long>(0));
    case 5: return f(static_cast<long long>(0));
    case 6: return f(float{});
    default: return f(double{});
  }
}

template <class T>
constexpr int kOps = std::is_floating_point_v<T>    ? 4
                     : std::is_same_v<T, long long> ? 7
                                                    : 10;

template <class T>
T random_value(Random* dice) {
  if (std::is_floating_point_v<T>) return T(random_below(dice, 1 << 20)) / 8;
  return T(next_random(dice));
}

template <class T>
Number bits_of(T value) {
  Number bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
T value_of(Number bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// What a word has after the operation.
template <class T>
T result_of(Op op, T before, T value, T compare) {
  if constexpr (std::is_integral_v<T>) {
    using Modular = std::make_unsigned_t<T>;
    switch (op) {
      case Op::compare_swap: return before == compare ? value : before;
      case Op::inc: return T(Modular(before) + 1);
      case Op::add: return T(Modular(before) + Modular(value));
      case Op::bit_and: return before & value;
      case Op::bit_or: return before | value;
      case Op::bit_xor: return before ^ value;
      default: break;
    }
  }
  return op == Op::fetch ? before : value;
}

// An operation that has all forms; WITH is its operand and a comma, or nothing.
#define IN_ALL_FORMS(NAME, WITH)                                                   \
  {                                                                                \
    if (form == Form::silent) shmem_atomic##NAME(ctx, at, WITH pe);                \
    if (form == Form::blocking) *old = shmem_atomic_fetch##NAME(ctx, at, WITH pe); \
    if (form == Form::nbi) shmem_atomic_fetch##NAME##_nbi(ctx, old, at, WITH pe);  \
    return;                                                                        \
  }
#define VALUE_AND value,

// What it fetches is in *old, or will be.
template <class T>
void perform(shmem_ctx_t ctx, Op op, Form form, T* old, T* at, T value, T compare, int pe) {
  const bool now = form != Form::nbi;
  if (op == Op::put) return shmem_p(ctx, at, value, pe);
  if (op == Op::set) return shmem_atomic_set(ctx, at, value, pe);
  if (op == Op::fetch && now) *old = shmem_atomic_fetch(ctx, at, pe);
  if (op == Op::fetch && !now) shmem_atomic_fetch_nbi(ctx, old, at, pe);
  if (op == Op::swap && now) *old = shmem_atomic_swap(ctx, at, value, pe);
  if (op == Op::swap && !now) shmem_atomic_swap_nbi(ctx, old, at, value, pe);
  if constexpr (kOps<T> >= 7) {
    if (op == Op::compare_swap && now) *old = shmem_atomic_compare_swap(ctx, at, compare, value, pe);
    if (op == Op::compare_swap && !now) shmem_atomic_compare_swap_nbi(ctx, old, at, compare, value, pe);
    if (op == Op::inc) IN_ALL_FORMS(_inc, )
    if (op == Op::add) IN_ALL_FORMS(_add, VALUE_AND)
  }
  if constexpr (kOps<T> == 10) {
    if (op == Op::bit_and) IN_ALL_FORMS(_and, VALUE_AND)
    if (op == Op::bit_or) IN_ALL_FORMS(_or, VALUE_AND)
    if (op == Op::bit_xor) IN_ALL_FORMS(_xor, VALUE_AND)
  }
}

// A random form that the operation has.
inline Form random_form(Random* dice, Op op) {
  if (op == Op::put || op == Op::set) return Form::silent;
  if (op == Op::fetch || op == Op::swap || op == Op::compare_swap)
    return random_below(dice, 3) == 0 ? Form::blocking : Form::nbi;
  return Form(random_below(dice, 3));
}

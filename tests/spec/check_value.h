/* SPDX-License-Identifier: BSD-3-Clause */
/* A value of any type of the API, so that one function can compare and print all (check.h).
 *
 *   CHECK_VALUE(x)   x, an integer, an enumerator, a real or complex number or a pointer, as a CheckValue */
#ifndef CHECK_VALUE_H
#define CHECK_VALUE_H

#include <stdio.h>

/* A check that holds must cost no more than the comparison: loops check millions of elements. */
#define CHECK_INLINE static inline __attribute__((always_inline))

enum { kCheckText = 128 }; /* the longest value, printed */

typedef struct {
  char kind;         /* 's'igned or 'u'nsigned integer, 'p'ointer, 'r'eal or 'c'omplex number */
  long long integer; /* the bits of an integer or a pointer */
  long double real, imaginary;
} CheckValue;

CHECK_INLINE CheckValue check_integer(char kind, long long integer) {
  CheckValue value;
  value.kind = kind, value.integer = integer, value.real = value.imaginary = 0;
  return value;
}
CHECK_INLINE CheckValue check_number(char kind, long double real, long double imaginary) {
  CheckValue value;
  value.kind = kind, value.integer = 0, value.real = real, value.imaginary = imaginary;
  return value;
}

#ifdef __cplusplus
#include <complex>
#include <type_traits>

template <class T>
CHECK_INLINE CheckValue check_value(const T& x) {
  if constexpr (std::is_null_pointer_v<T>) {
    return check_integer('p', 0);
  } else if constexpr (std::is_pointer_v<T>) {
    return check_integer('p', reinterpret_cast<long long>(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    return check_number('r', x, 0);
  } else if constexpr (std::is_enum_v<T>) {
    return check_value(static_cast<std::underlying_type_t<T>>(x));
  } else {
    return check_integer(std::is_signed_v<T> ? 's' : 'u', static_cast<long long>(x));
  }
}
template <class T>
CHECK_INLINE CheckValue check_value(const std::complex<T>& x) {
  return check_number('c', x.real(), x.imag());
}
#define CHECK_VALUE(X) check_value(X)

#else
CHECK_INLINE CheckValue check_signed(long long x) { return check_integer('s', x); }
CHECK_INLINE CheckValue check_unsigned(unsigned long long x) { return check_integer('u', (long long)x); }
CHECK_INLINE CheckValue check_pointer(const volatile void* x) { return check_integer('p', (long long)x); }
CHECK_INLINE CheckValue check_real(long double x) { return check_number('r', x, 0); }
CHECK_INLINE CheckValue check_complex(long double _Complex x) {
  return check_number('c', __real__ x, __imag__ x);
}

// clang-format off
#define CHECK_VALUE(X) _Generic((X),                                                                        \
    char: check_signed, signed char: check_signed, short: check_signed, int: check_signed,                  \
    long: check_signed, long long: check_signed, _Bool: check_unsigned, unsigned char: check_unsigned,      \
    unsigned short: check_unsigned, unsigned: check_unsigned, unsigned long: check_unsigned,                \
    unsigned long long: check_unsigned, float: check_real, double: check_real, long double: check_real,     \
    float _Complex: check_complex, double _Complex: check_complex, long double _Complex: check_complex,     \
    default: check_pointer)(X)
// clang-format on
#endif

CHECK_INLINE int check_is_number(CheckValue x) { return x.kind == 'r' || x.kind == 'c'; }
CHECK_INLINE long double check_real_part(CheckValue x) {
  if (check_is_number(x)) return x.real;
  return x.kind == 's' ? (long double)x.integer : (long double)(unsigned long long)x.integer;
}

/* -1, 0 or 1 as a is less than, equal to or greater than b; 2 if it is none of these. */
CHECK_INLINE int check_order(CheckValue a, CheckValue b) {
  if (check_is_number(a) || check_is_number(b)) {
    const long double x = check_real_part(a), y = check_real_part(b);
    if (x != x && y != y) return a.imaginary == b.imaginary ? 0 : 2;
    if (a.imaginary != b.imaginary) return 2;
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }
  const int a_is_negative = a.kind == 's' && a.integer < 0, b_is_negative = b.kind == 's' && b.integer < 0;
  if (a_is_negative != b_is_negative) return b_is_negative - a_is_negative;
  const unsigned long long x = (unsigned long long)a.integer, y = (unsigned long long)b.integer;
  return (x > y) - (x < y);
}

/* `comparison` is an operator of C, such as ">=". */
CHECK_INLINE int check_holds(CheckValue a, const char* comparison, CheckValue b) {
  const int order = check_order(a, b);
  switch (comparison[0]) {
    case '=': return order == 0;
    case '!': return order != 0;
    case '<': return order == -1 || (comparison[1] == '=' && order == 0);
    default: return order == 1 || (comparison[1] == '=' && order == 0);
  }
}

static inline void check_print(char text[kCheckText], CheckValue x) {
  switch (x.kind) {
    case 's': snprintf(text, kCheckText, "%lld", x.integer); break;
    case 'u': snprintf(text, kCheckText, "%llu", (unsigned long long)x.integer); break;
    case 'p':
      snprintf(text, kCheckText, x.integer != 0 ? "%#llx" : "NULL", (unsigned long long)x.integer);
      break;
    case 'r': snprintf(text, kCheckText, "%.21Lg", x.real); break;
    default: snprintf(text, kCheckText, "%.21Lg%+.21Lgi", x.real, x.imaginary); break;
  }
}

#endif

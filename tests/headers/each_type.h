/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of each table once more, written down apart from shmem/types.h: a row lost there must not be lost
 * here. (The tables of types.h could not serve anyway: a generic expands them, and a macro does not expand in
 * itself.) */
#ifndef EACH_TYPE_H
#define EACH_TYPE_H

#include <stddef.h>
#include <stdint.h>

// clang-format off

#define EACH_SIGNED(X)   X(int, int) X(long, long) X(longlong, long long)
#define EACH_UNSIGNED(X) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)
#define EACH_SMALL(X)    \
  X(char, char) X(schar, signed char) X(uchar, unsigned char) X(short, short) X(ushort, unsigned short)
#define EACH_INT8_16(X)  X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t) X(uint16, uint16_t)
#define EACH_INT32_64(X) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define EACH_ADDRESS(X)  X(size, size_t) X(ptrdiff, ptrdiff_t)
#define EACH_REAL(X)     X(float, float) X(double, double)

#define EACH_AMO(X)      EACH_SIGNED(X) EACH_UNSIGNED(X) EACH_INT32_64(X) EACH_ADDRESS(X)
#define EACH_AMO_EXT(X)  EACH_AMO(X) EACH_REAL(X)
#define EACH_BITWISE(X)  EACH_UNSIGNED(X) EACH_INT32_64(X)
#define EACH_BITWISE_EXTRA(X)  EACH_SIGNED(X)
#define EACH_WAIT(X)     EACH_AMO(X) X(short, short) X(ushort, unsigned short)
#define EACH_RMA(X)      EACH_AMO_EXT(X) EACH_SMALL(X) EACH_INT8_16(X) X(longdouble, long double)
#define EACH_ARITH(X)    EACH_RMA(X) X(complexd, complexd) X(complexf, complexf)
#define EACH_BITS(X)     EACH_BITWISE(X) EACH_INT8_16(X) \
  X(uchar, unsigned char) X(ushort, unsigned short) X(size, size_t)
#define EACH_OLD_AMO(X)      EACH_SIGNED(X)
#define EACH_OLD_AMO_EXT(X)  EACH_SIGNED(X) EACH_REAL(X)

// clang-format on

__extension__ typedef double _Complex complexd;
__extension__ typedef float _Complex complexf;

#endif

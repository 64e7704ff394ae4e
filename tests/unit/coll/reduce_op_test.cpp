// SPDX-License-Identifier: BSD-3-Clause
#include "base/reduce_op.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>

namespace shm {
namespace {

template <ReduceOp op, class T>
T once(T a, T b) {
  kReduction<op, T>.into(&a, &b, 1);
  return a;
}

TEST(ReduceOp, IntegersWrapAround) {
  EXPECT_EQ((once<ReduceOp::sum>(INT_MAX, 1)), INT_MIN);
  EXPECT_EQ((once<ReduceOp::prod>(LONG_MAX, 2L)), -2L);
  EXPECT_EQ((once<ReduceOp::sum, signed char>(127, 1)), -128);
  // Promoted to int, this product would overflow.
  EXPECT_EQ((once<ReduceOp::prod, unsigned short>(65535, 65535)), 1);
}

TEST(ReduceOp, OrderIsThatOfTheType) {
  EXPECT_EQ((once<ReduceOp::max>(-1, 1)), 1);
  EXPECT_EQ((once<ReduceOp::max>(~0u, 1u)), ~0u);
  EXPECT_EQ((once<ReduceOp::min>(-0.5L, 2.0L)), -0.5L);
}

TEST(ReduceOp, BitsAndComplex) {
  EXPECT_EQ((once<ReduceOp::bit_xor, std::uint8_t>(0xf0, 0xff)), 0x0f);
  EXPECT_EQ((once<ReduceOp::bit_and, std::int64_t>(-1, 6)), 6);
  EXPECT_EQ((once<ReduceOp::bit_or>(1ul, 6ul)), 7ul);
  using Complex = double _Complex;
  Complex i = 0.0;
  __imag__ i = 1.0;
  const Complex square = once<ReduceOp::prod, Complex>(i, i);
  EXPECT_EQ(__real__ square, -1.0);
  EXPECT_EQ(__imag__ square, 0.0);
}

TEST(ReduceOp, VectorsElementByElement) {
  int acc[5] = {1, 2, 3, 4, 5};
  const int in[5] = {5, 4, 3, 2, 1};
  kReduction<ReduceOp::max, int>.into(acc, in, 4);
  EXPECT_EQ(acc[0], 5);
  EXPECT_EQ(acc[3], 4);
  EXPECT_EQ(acc[4], 5);
}

}  // namespace
}  // namespace shm

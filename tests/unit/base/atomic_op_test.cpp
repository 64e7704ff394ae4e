// SPDX-License-Identifier: BSD-3-Clause
#include "base/atomic_op.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace shm {
namespace {

template <class T>
class AtomicOps : public ::testing::Test {};
using Types = ::testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double, long,
                               long long>;
TYPED_TEST_SUITE(AtomicOps, Types);

// Runs body(thread) in 4 threads.
template <class Body>
void in_threads(Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}
constexpr int kRounds = 20000;

TYPED_TEST(AtomicOps, DoWhatTheirNamesSay) {
  using T = TypeParam;
  T word = 5;
  EXPECT_EQ(atomic_apply<AtomicOp::fetch>(&word, T{}), T{5});
  atomic_apply<AtomicOp::set>(&word, T{7});
  EXPECT_EQ(word, T{7});
  EXPECT_EQ(atomic_apply<AtomicOp::swap>(&word, T{9}), T{7});
  EXPECT_EQ(word, T{9});
  EXPECT_EQ(atomic_apply<AtomicOp::compare_swap>(&word, T{1}, T{8}), T{9});
  EXPECT_EQ(word, T{9}) << "the comparison failed";
  EXPECT_EQ(atomic_apply<AtomicOp::compare_swap>(&word, T{1}, T{9}), T{9});
  EXPECT_EQ(word, T{1});
  EXPECT_EQ(atomic_apply<AtomicOp::add>(&word, T{41}), T{1});
  EXPECT_EQ(word, T{42});
  EXPECT_EQ(atomic_apply<AtomicOp::min>(&word, T{50}), T{42});
  EXPECT_EQ(atomic_apply<AtomicOp::min>(&word, T{40}), T{42});
  EXPECT_EQ(atomic_apply<AtomicOp::max>(&word, T{30}), T{40});
  EXPECT_EQ(atomic_apply<AtomicOp::max>(&word, T{60}), T{40});
  EXPECT_EQ(word, T{60});
  if constexpr (std::is_integral_v<T>) {
    EXPECT_EQ(atomic_apply<AtomicOp::bit_and>(&word, T{0x2c}), T{60});
    EXPECT_EQ(atomic_apply<AtomicOp::bit_or>(&word, T{0x13}), T{0x2c});
    EXPECT_EQ(atomic_apply<AtomicOp::bit_xor>(&word, T{0x3e}), T{0x3f});
    EXPECT_EQ(word, T{1});
  }
}

// As shmemx.h promises, and as libfabric's providers do it in software.
TYPED_TEST(AtomicOps, ExtremesOfNumbersWithoutOrderChangeNothing) {
  using T = TypeParam;
  if constexpr (std::is_floating_point_v<T>) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const T pairs[][2] = {{T{1}, nan}, {nan, T{1}}, {nan, -nan}, {T{0}, -T{0}}, {-T{0}, T{0}}};
    for (const auto& [start, value] : pairs) {
      T word = start;
      T old = atomic_apply<AtomicOp::min>(&word, value);
      EXPECT_EQ(std::memcmp(&old, &start, sizeof old), 0) << start << " " << value;
      old = atomic_apply<AtomicOp::max>(&word, value);
      EXPECT_EQ(std::memcmp(&old, &start, sizeof old), 0) << start << " " << value;
      EXPECT_EQ(std::memcmp(&word, &start, sizeof word), 0) << start << " " << value;
    }
  }
}

// The form for requests that come over the wire.
template <AtomicOp op, class T>
void expect_same(T start, T value, T compare) {
  T one = start, other = start, old{};
  const T result = atomic_apply<op>(&one, value, compare);
  atomic_apply(op, atomic_type<T>(), &other, &value, &compare, &old);
  EXPECT_EQ(std::memcmp(&one, &other, sizeof one), 0) << "op " << static_cast<int>(op);
  EXPECT_EQ(std::memcmp(&result, &old, sizeof old), 0) << "op " << static_cast<int>(op);
  other = start;
  atomic_apply(op, atomic_type<T>(), &other, &value, &compare, nullptr);
  EXPECT_EQ(std::memcmp(&one, &other, sizeof one), 0) << "without a result, op " << static_cast<int>(op);
}

TYPED_TEST(AtomicOps, RunTimeFormEqualsTemplate) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  for (const T start : {T{0}, T{5}, Limits::max(), Limits::lowest()}) {
    for (const T value : {T{1}, T{5}, Limits::max(), Limits::lowest()}) {
      expect_same<AtomicOp::fetch>(start, value, start);
      expect_same<AtomicOp::set>(start, value, start);
      expect_same<AtomicOp::swap>(start, value, start);
      expect_same<AtomicOp::compare_swap>(start, value, start);
      expect_same<AtomicOp::compare_swap>(start, value, T{3});
      expect_same<AtomicOp::add>(start, value, start);
      expect_same<AtomicOp::min>(start, value, start);
      expect_same<AtomicOp::max>(start, value, start);
      if constexpr (std::is_integral_v<T>) {
        expect_same<AtomicOp::bit_and>(start, value, start);
        expect_same<AtomicOp::bit_or>(start, value, start);
        expect_same<AtomicOp::bit_xor>(start, value, start);
      }
    }
  }
}

TYPED_TEST(AtomicOps, OfManyThreadsLoseNothing) {
  using T = TypeParam;
  T sum = 0, swapped = 0, lowest = 0, highest = 0;
  in_threads([&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      atomic_apply<AtomicOp::add>(&sum, T{1});
      atomic_apply<AtomicOp::max>(&highest, static_cast<T>(thread * kRounds + i));
      atomic_apply<AtomicOp::min>(&lowest, static_cast<T>(0));
      T seen = atomic_apply<AtomicOp::fetch>(&swapped, T{});
      while (true) {
        const T now = atomic_apply<AtomicOp::compare_swap>(&swapped, static_cast<T>(seen + 1), seen);
        if (now == seen) break;
        seen = now;
      }
    }
  });
  EXPECT_EQ(sum, static_cast<T>(4 * kRounds));
  EXPECT_EQ(swapped, static_cast<T>(4 * kRounds));
  EXPECT_EQ(highest, static_cast<T>(4 * kRounds - 1));
  EXPECT_EQ(lowest, T{0});
}

TYPED_TEST(AtomicOps, BitsOfManyThreadsStayTheirOwn) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    T word = 0;
    in_threads([&](int thread) {
      const T mine = static_cast<T>(T{1} << (thread * 7));
      for (int i = 0; i < kRounds; ++i) {
        EXPECT_EQ(atomic_apply<AtomicOp::bit_or>(&word, mine) & mine, T{0});
        EXPECT_EQ(atomic_apply<AtomicOp::bit_and>(&word, static_cast<T>(~mine)) & mine, mine);
        EXPECT_EQ(atomic_apply<AtomicOp::bit_xor>(&word, mine) & mine, T{0});
        EXPECT_EQ(atomic_apply<AtomicOp::bit_xor>(&word, mine) & mine, mine);
      }
    });
    EXPECT_EQ(word, T{0});
  }
}

TEST(AtomicAdd, WrapsAround) {
  std::int32_t i32 = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(atomic_apply<AtomicOp::add>(&i32, 1), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(i32, std::numeric_limits<std::int32_t>::min());
  std::int64_t i64 = std::numeric_limits<std::int64_t>::min();
  atomic_apply<AtomicOp::add>(&i64, std::int64_t{-1});
  EXPECT_EQ(i64, std::numeric_limits<std::int64_t>::max());
  std::uint32_t u32 = 0;
  atomic_apply<AtomicOp::add>(&u32, ~0U);
  EXPECT_EQ(u32, ~0U);
  atomic_apply<AtomicOp::add>(&u32, 2U);
  EXPECT_EQ(u32, 1U);
}

TEST(AtomicTables, AgreeWithTheTypes) {
  EXPECT_EQ(atomic_type<long>(), AtomicType::i64);
  EXPECT_EQ(atomic_type<unsigned>(), AtomicType::u32);
  EXPECT_EQ(atomic_size(AtomicType::f32), 4U);
  EXPECT_EQ(atomic_size(AtomicType::u64), 8U);
  EXPECT_TRUE(is_defined(AtomicOp::add, AtomicType::f64));
  EXPECT_FALSE(is_defined(AtomicOp::bit_xor, AtomicType::f64));
  EXPECT_TRUE(is_defined(AtomicOp::bit_xor, AtomicType::u32));
  EXPECT_FALSE(has_non_fetching_form(AtomicOp::swap));
  EXPECT_TRUE(has_non_fetching_form(AtomicOp::set));
}

}  // namespace
}  // namespace shm

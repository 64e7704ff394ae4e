// SPDX-License-Identifier: BSD-3-Clause
#include "variables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace remote_malloc {
namespace {

using variables::Executable;
using variables::Range;

// Of this program.
constexpr std::size_t kLargeBytes = std::size_t{3} << 20;
std::uint8_t of_zeros[kLargeBytes];
std::uint8_t of_data[kLargeBytes] = {1};
const std::uint8_t of_constants[kLargeBytes] = {1};
const void* const of_addresses[kLargeBytes / sizeof(void*)] = {
    of_zeros};  // is read-only once it is relocated
std::uint8_t small_one[100];
[[gnu::used]] thread_local std::uint8_t of_thread[kLargeBytes];

Range range_of(const void* at, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  return {begin, begin + bytes};
}

bool has(const std::vector<Range>& ranges, const Range& wanted) {
  return std::ranges::any_of(ranges, [&](const Range& one) { return one.holds(wanted); });
}

bool meets(const std::vector<Range>& ranges, const Range& wanted) {
  return std::ranges::any_of(
      ranges, [&](const Range& one) { return one.begin < wanted.end && wanted.begin < one.end; });
}

TEST(Variables, OfThisProgram) {
  small_one[0] = of_thread[0] = 1;
  const Executable executable = variables::of_this_process();
  EXPECT_TRUE(executable.all_are_known);
  const std::vector<Range> large = variables::large(executable, kLargeBytes);
  EXPECT_TRUE(has(large, range_of(of_zeros, kLargeBytes)));
  EXPECT_TRUE(has(large, range_of(of_data, kLargeBytes)));
  EXPECT_FALSE(meets(large, range_of(of_constants, kLargeBytes)));
  EXPECT_FALSE(meets(large, range_of(of_addresses, kLargeBytes)));
  EXPECT_FALSE(meets(large, range_of(small_one, sizeof small_one)));
  EXPECT_FALSE(meets(large, range_of(of_thread, 1)));
  EXPECT_FALSE(meets(variables::large(executable, kLargeBytes + 1), range_of(of_zeros, kLargeBytes)));
}

TEST(Variables, ThoseThatTouchAreOne) {
  const Executable executable{
      {{0, 1000}}, {{500, 1000}}, {{0, 100}, {131, 200}, {300, 400}, {432, 500}}, true};
  EXPECT_EQ(variables::large(executable, 60), (std::vector<Range>{{0, 200}, {300, 400}, {432, 500}}));
}

TEST(Variables, NothingSmallIsTakenAlong) {
  const Executable executable{{{0, 1000}}, {}, {{0, 100}, {108, 112}, {120, 220}}, true};
  EXPECT_EQ(variables::large(executable, 100), (std::vector<Range>{{0, 100}, {120, 220}}));
}

TEST(Variables, OfAStrippedProgramWhatBeginsAsZeros) {
  const Executable executable{{{0, 1000}}, {{400, 1000}}, {{0, 200}, {410, 420}, {700, 710}}, false};
  EXPECT_EQ(variables::large(executable, 200), (std::vector<Range>{{0, 200}, {420, 700}, {710, 1000}}));
  EXPECT_EQ(variables::large(executable, 281), (std::vector<Range>{{710, 1000}}));
  EXPECT_EQ(variables::large({{{0, 1000}}, {{400, 1000}}, {}, false}, 600),
            (std::vector<Range>{{400, 1000}}));
  EXPECT_TRUE(variables::large({{{0, 1000}}, {{400, 1000}}, {}, true}, 1).empty());
}

// Byte by byte.
TEST(Variables, AnySymbolsAgainstAModel) {
  const char* text = std::getenv("ATOLL_TEST_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device()();
  std::printf("ATOLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 dice(seed);
  for (int round = 0; round < 500; ++round) {
    constexpr std::size_t kBytes = 2000, kLeast = 100;
    Executable executable{{{0, kBytes}}, {{kBytes / 2, kBytes}}, {}, dice() % 2 == 0};
    std::vector<char> kind(kBytes, ' ');  // s: small, l: large
    for (std::size_t at = dice() % 50; at < kBytes;) {
      const std::size_t bytes = std::min<std::size_t>(1 + dice() % (dice() % 2 == 0 ? 20 : 300), kBytes - at);
      executable.known.push_back({at, at + bytes});
      std::fill_n(kind.begin() + static_cast<std::ptrdiff_t>(at), bytes, bytes < kLeast ? 's' : 'l');
      at += bytes + (dice() % 2 == 0 ? 0 : dice() % 150);
    }
    std::ranges::shuffle(executable.known, dice);
    const std::vector<Range> large = variables::large(executable, kLeast);
    std::size_t last = 0;
    for (const Range& one : large) {
      ASSERT_TRUE(one.begin >= last && one.bytes() >= kLeast);
      last = one.end;
    }
    for (std::size_t at = 0; at < kBytes; ++at) {
      const bool taken = meets(large, {at, at + 1});
      ASSERT_TRUE(kind[at] != 'l' || taken) << at;
      ASSERT_TRUE(kind[at] != 's' || !taken) << at;
      if (kind[at] != ' ' || !taken || !executable.all_are_known) continue;
      // Between two large ones, less than their alignment.
      const auto place = kind.begin() + static_cast<std::ptrdiff_t>(at);
      const auto used = [](char c) { return c != ' '; };
      const auto behind = std::find_if(place, kind.end(), used);
      const auto before = std::find_if(std::make_reverse_iterator(place), kind.rend(), used).base();
      ASSERT_LT(behind - before, 32) << at;
    }
  }
}

}  // namespace
}  // namespace remote_malloc

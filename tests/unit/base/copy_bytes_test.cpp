// SPDX-License-Identifier: BSD-3-Clause
#include "base/copy_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace shm {
namespace {

constexpr std::size_t kPage = 4096;

struct AlignedDelete {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{kPage}); }
};

std::unique_ptr<std::byte[], AlignedDelete> pages(std::size_t n) {
  std::unique_ptr<std::byte[], AlignedDelete> bytes(new (std::align_val_t{kPage}) std::byte[n]);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

TEST(CopyBytes, CopiesEachByteAndNoOther) {
  constexpr std::size_t kRoom = 16 * kPage;
  const auto from = pages(kRoom), to = pages(kRoom);
  for (const std::size_t n : {0, 1, 2047, 2048, 2049, 3840, 3841, 4096, 5000, 40000}) {
    for (const std::size_t behind : {0, 1, 16, 31, 32, 4095}) {
      for (const std::size_t at : {0, 5, 4090}) {
        std::fill_n(to.get(), kRoom, std::byte{0});
        std::vector<std::byte> expected(kRoom);
        std::copy_n(from.get() + at, n, expected.begin() + at + behind);
        copy_bytes(to.get() + at + behind, from.get() + at, n);
        EXPECT_TRUE(std::ranges::equal(expected, std::span(to.get(), kRoom)))
            << n << " bytes from " << at << ", " << behind << " behind";
      }
    }
  }
}

// A ratio in one process, of which each part is the best of many: what this is for makes it 20.
TEST(CopyBytes, IsAsFastJustBehindAnAlignedSource) {
  constexpr std::size_t kBytes = 64 * 1024;
  using Time = std::chrono::steady_clock::duration;
  const auto from = pages(kBytes), to = pages(kBytes + kPage);
  Time behind = Time::max(), apart = Time::max();
  const auto best = [&](Time& least, std::size_t offset) {
    const auto start = std::chrono::steady_clock::now();
    copy_bytes(to.get() + offset, from.get(), kBytes);
    least = std::min(least, std::chrono::steady_clock::now() - start);
  };
  for (int i = 0; i < 1000; ++i) {
    best(behind, 16);
    best(apart, 1024);
  }
  EXPECT_LT(behind, 5 * apart);
}

}  // namespace
}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Strided transfers and their limits, on PEs of this node.
#include "core/rma.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>

#include "array_heap.hpp"
#include "base/fatal.hpp"
#include "shmem.h"

namespace shm {
namespace {

constexpr Call kPut{"shmem_long_iput"};
constexpr Call kGet{"shmem_long_iget"};
constexpr std::ptrdiff_t kWords = 16;

class RmaTest : public ArrayHeap<long, kWords> {
 protected:
  void SetUp() override {
    rt.env.checks = Checks::usual;
    std::iota(local.begin(), local.end(), 100L);
  }
  void TearDown() override { rt.env.checks = Checks::usual; }
  static Strides words(std::size_t blocks, std::ptrdiff_t to, std::ptrdiff_t from) {
    return {blocks, sizeof(long), to * static_cast<std::ptrdiff_t>(sizeof(long)),
            from * static_cast<std::ptrdiff_t>(sizeof(long))};
  }
  void put(std::ptrdiff_t first, const Strides& strides) {
    put_strided(kPut, SHMEM_CTX_DEFAULT, heap.data() + first, local.data(), strides, 0);
  }
  void get(std::ptrdiff_t first, const Strides& strides) {
    get_strided(kGet, SHMEM_CTX_DEFAULT, local.data(), heap.data() + first, strides, 0);
  }
  static auto error() { return ::testing::ExitedWithCode(kErrorExit); }

  std::array<long, 64> local{};
};

TEST_F(RmaTest, StridedPutsAndGetsTouchTheirBlocksOnly) {
  put(1, words(4, 3, 2));
  for (std::ptrdiff_t i = 0; i < kWords; ++i)
    EXPECT_EQ(heap[static_cast<std::size_t>(i)], i % 3 == 1 && i <= 10 ? 100 + (i - 1) / 3 * 2 : 0)
        << "word " << i;
  std::iota(heap.begin(), heap.end(), 0L);
  local = {};
  get(0, words(4, 2, 5));
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(local[i], i % 2 == 0 ? static_cast<long>(i / 2 * 5) : 0) << "word " << i;
}

TEST_F(RmaTest, BlocksOfEverySizeAreCopied) {
  for (const std::size_t block : {1, 2, 3, 4, 7, 8, 12, 16, 24}) {
    std::array<unsigned char, sizeof heap> from{}, back{};
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(block));
    const Strides strides{3, block, 33, 32};
    heap = {};
    put_strided(kPut, SHMEM_CTX_DEFAULT, heap.data(), from.data(), strides, 0);
    const Strides returned{3, block, 32, 33};
    get_strided(kGet, SHMEM_CTX_DEFAULT, back.data(), heap.data(), returned, 0);
    for (std::size_t i = 0; i < 3 * 32; ++i)
      EXPECT_EQ(back[i], i % 32 < block ? from[i] : 0) << "block of " << block << ", byte " << i;
  }
}

TEST_F(RmaTest, TheLastBlockMayEndWithTheHeap) {
  put(0, words(4, 5, 1));
  EXPECT_EQ(heap[15], 103);
  get(0, words(4, 1, 5));
  EXPECT_EQ(local[3], 103);
}

TEST_F(RmaTest, NoBlocksTouchNothing) {
  put(0, words(0, 5, 1));
  get(0, words(0, 1, 5));
  put(0, {4, 0, 8, 8});
  EXPECT_EQ(heap[0], 0);
  EXPECT_EQ(local[0], 100);
}

using RmaDeathTest = RmaTest;

TEST_F(RmaDeathTest, ABlockPastTheEndIsRefusedIfItIsTheLastAlone) {
  EXPECT_EXIT(put(1, words(4, 5, 1)), error(),
              "shmem_long_iput: dest .* the 128 bytes .* past the end of the symmetric heap");
  EXPECT_EXIT(get(1, words(4, 1, 5)), error(), "shmem_long_iget: source .* the 128 bytes .* past the end");
  const Strides half{2, 8, 124, 8};  // half of the last block is beyond
  EXPECT_EXIT(put_strided(kPut, SHMEM_CTX_DEFAULT, heap.data(), local.data(), half, 0), error(),
              "past the end");
}

TEST_F(RmaDeathTest, ExtentsThatCannotBeCountedAreRefused) {
  EXPECT_EXIT(put(0, words(SIZE_MAX / 8, 2, 1)), error(), "shmem_long_iput: dest");
  EXPECT_EXIT(get(0, words(SIZE_MAX / 16 + 2, 1, 2)), error(), "shmem_long_iget: source");
  const Strides last_block{3, 8, PTRDIFF_MAX, 8};  // the strides can be counted, what follows them cannot
  EXPECT_EXIT(put_strided(kPut, SHMEM_CTX_DEFAULT, heap.data(), local.data(), last_block, 0), error(),
              "shmem_long_iput: dest");
}

TEST_F(RmaDeathTest, StridesBelowABlockAreRefusedWhileArgumentsAreChecked) {
  EXPECT_EXIT(put(0, words(2, 0, 1)), error(),
              "the strides dst and sst are 0 and 8 bytes; allowed is at least one block, 8 bytes\n");
  EXPECT_EXIT(get(0, words(2, 1, 0)), error(), "the strides dst and sst are 8 and 0 bytes");
  rt.env.checks = Checks::least;
  put(0, words(2, 0, 1));
  EXPECT_EQ(heap[0], 101);
}

TEST_F(RmaDeathTest, WrongPesAndSignalsAreNamed) {
  std::uint64_t* signal = reinterpret_cast<std::uint64_t*>(heap.data());
  EXPECT_EXIT(put_strided(kPut, SHMEM_CTX_DEFAULT, heap.data(), local.data(), words(0, 1, 1), 1), error(),
              "pe is 1; allowed is 0 to 0");
  EXPECT_EXIT(
      put_signal(kPut, SHMEM_CTX_DEFAULT, heap.data() + 1, local.data(), 8, signal, 1, 77, 0, Blocking::yes),
      error(),
      "sig_op is 77; allowed are SHMEM_SIGNAL_SET \\(" + std::to_string(SHMEM_SIGNAL_SET) +
          "\\) and SHMEM_SIGNAL_ADD \\(" + std::to_string(SHMEM_SIGNAL_ADD) + "\\)\n");
  const auto put_with = [&](int op) {
    put_signal(kPut, SHMEM_CTX_DEFAULT, heap.data() + 1, local.data(), 8, signal, 5, op, 0, Blocking::yes);
  };
  put_with(SHMEM_SIGNAL_SET);
  put_with(SHMEM_SIGNAL_ADD);
  EXPECT_EQ(heap[0], 10);
  put_with(SHMEM_SIGNAL_SET);
  EXPECT_EQ(heap[0], 5);
  EXPECT_EQ(heap[1], 100);
}

}  // namespace
}  // namespace shm

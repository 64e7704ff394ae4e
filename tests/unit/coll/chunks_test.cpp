// SPDX-License-Identifier: BSD-3-Clause
#include "coll/chunks.hpp"

#include <gtest/gtest.h>

namespace shm {
namespace {

TEST(Chunks, SharesCoverTheVectorOnceAndInOrder) {
  for (const std::size_t element : {1, 2, 4, 8, 16, 32}) {
    for (const std::size_t count : {1, 2, 63, 64, 65, 1000, 4097}) {
      for (const int parts : {1, 2, 3, 5, 8, 64}) {
        std::size_t at = 0;
        for (int i = 0; i < parts; ++i) {
          const Share share = share_of(count, element, i, parts);
          EXPECT_EQ(share.begin, at);
          EXPECT_LE(share.begin, share.end);
          at = share.end;
        }
        EXPECT_EQ(at, count);
      }
    }
  }
}

TEST(Chunks, SharesDoNotDivideCacheLines) {
  for (int i = 1; i < 7; ++i) {
    const Share share = share_of(1000, 8, i, 7);
    EXPECT_TRUE(share.begin == 1000 || share.begin * 8 % kCacheLine == 0);
  }
}

TEST(Chunks, ChunksCoverTheShareAndFit) {
  std::size_t at = 10;
  for_chunks({10, 5000}, 16, [&](std::size_t begin, std::size_t n) {
    EXPECT_EQ(begin, at);
    EXPECT_LE(n * 16, kChunk);
    at += n;
  });
  EXPECT_EQ(at, 5000u);
}

}  // namespace
}  // namespace shm

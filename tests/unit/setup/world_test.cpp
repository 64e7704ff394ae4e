// SPDX-License-Identifier: BSD-3-Clause
#include "setup/world.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace shm {
namespace {

TEST(DefaultHeap, IsAShareOfTheNodesMemory) {
  const auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t last = SIZE_MAX;
  for (int pes : {1, 2, 4, 64, 512}) {
    const std::size_t heap = default_heap(pes);
    EXPECT_LE(heap * static_cast<std::size_t>(pes), memory / 2);
    EXPECT_EQ(heap % (std::size_t{2} << 20), 0U) << "whole huge pages";
    EXPECT_LE(heap, last);
    last = heap;
  }
  EXPECT_EQ(default_heap(0), default_heap(1));
}

}  // namespace
}  // namespace shm

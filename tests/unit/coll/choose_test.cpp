// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.hpp"

#include <gtest/gtest.h>

#include "core/internal.hpp"

namespace shm {
namespace {

constexpr Collective kAll[] = {Collective::broadcast, Collective::collect, Collective::alltoall,
                               Collective::reduce, Collective::scan};

TEST(Choose, PayloadsRideOnlyIfTheyFitACell) {
  for (const Collective what : kAll) {
    EXPECT_EQ(choose(what, Cell::kPayload, 4, true), Algorithm::riding);
    EXPECT_NE(choose(what, Cell::kPayload + 1, 4, true), Algorithm::riding);
    EXPECT_NE(choose(what, Cell::kPayload + 1, 4, false), Algorithm::riding);
  }
}

TEST(Choose, WholeVectorsFitTheBufferOnTheStack) {
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 30); bytes *= 2) {
    if (choose(Collective::reduce, bytes, 2, true) == Algorithm::whole) {
      EXPECT_LE(bytes, 8192u);
    }
  }
}

TEST(Choose, HasARuleForTheLargest) {
  EXPECT_EQ(choose(Collective::reduce, SIZE_MAX, 1 << 20, true), Algorithm::shares);
  EXPECT_EQ(choose(Collective::reduce, SIZE_MAX, 1 << 20, false), Algorithm::leading);
  EXPECT_EQ(choose(Collective::alltoall, SIZE_MAX, 1 << 20, false), Algorithm::pairwise);
  EXPECT_EQ(choose(Collective::leaders_reduce, SIZE_MAX, 2, false), Algorithm::halving);
}

}  // namespace
}  // namespace shm

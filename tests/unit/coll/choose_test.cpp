// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.hpp"

#include <gtest/gtest.h>

#include "coll/chunks.hpp"
#include "core/internal.hpp"

namespace shm {
namespace {

constexpr Collective kOnNode[] = {Collective::broadcast, Collective::collect, Collective::alltoall,
                                  Collective::reduce, Collective::scan};

TEST(Choose, PayloadsRideOnlyIfTheyFitACell) {
  for (const Collective what : kOnNode) {
    EXPECT_EQ(choose(what, Cell::kPayload, 4, true), Algorithm::riding);
    EXPECT_NE(choose(what, Cell::kPayload + 1, 4, true), Algorithm::riding);
    EXPECT_NE(choose(what, Cell::kPayload + 1, 4, false), Algorithm::riding);
  }
}

TEST(Choose, WholeVectorsFitTheBufferOnTheStack) {
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 30); bytes *= 2) {
    if (choose(Collective::reduce, bytes, 2, true) == Algorithm::whole) {
      EXPECT_LE(bytes, kChunk);
    }
  }
}

TEST(Choose, HasARuleForTheLargest) {
  EXPECT_EQ(choose(Collective::reduce, SIZE_MAX, 1 << 20, true), Algorithm::shares);
  EXPECT_EQ(choose(Collective::reduce, SIZE_MAX, 1 << 20, false), Algorithm::leading);
  EXPECT_EQ(choose(Collective::scan, SIZE_MAX, 1 << 20, false), Algorithm::shares);
  EXPECT_EQ(choose(Collective::alltoall, SIZE_MAX, 1 << 20, false), Algorithm::pairwise);
  EXPECT_EQ(choose(Collective::leaders_reduce, SIZE_MAX, 2, false), Algorithm::halving);
}

TEST(Choose, ShortVectorsHaveOneLaneAndLongOnesAllThatThereAre) {
  EXPECT_EQ(lanes_for(1, 8), 1);
  EXPECT_EQ(lanes_for(std::size_t{1} << 30, 8), 8);
  EXPECT_EQ(lanes_for(std::size_t{1} << 30, 1), 1);
}

// Each in a process of its own, as the runner gives it: what is overruled stays so.
TEST(Overrule, HoldsWhereTheAlgorithmCanBeUsed) {
  ASSERT_TRUE(overrule_choice("reduce=whole,alltoall=combined,eager=1000").ok());
  EXPECT_EQ(choose(Collective::reduce, 8, 2, true), Algorithm::whole);
  EXPECT_EQ(choose(Collective::reduce, kChunk, 2, true), Algorithm::whole);
  EXPECT_EQ(choose(Collective::reduce, kChunk + 1, 2, true), Algorithm::shares);
  EXPECT_EQ(choose(Collective::reduce, 8, 2, false), Algorithm::riding);  // is none between nodes
  EXPECT_EQ(choose(Collective::alltoall, 8, 2, false), Algorithm::combined);
  EXPECT_EQ(choose(Collective::alltoall, 1 << 20, 2, true), Algorithm::reading);
  EXPECT_EQ(eager_limit(), 1000u);
}

TEST(Overrule, RefusesWhatItDoesNotKnow) {
  for (const char* words : {"reduce", "reduce=", "reduce=quick", "sort=riding", "eager=", "lane=3x"}) {
    const Status status = overrule_choice(words);
    EXPECT_FALSE(status.ok()) << words;
    EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
  }
  EXPECT_TRUE(overrule_choice("").ok());
}

}  // namespace
}  // namespace shm

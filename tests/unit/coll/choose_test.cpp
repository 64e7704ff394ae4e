// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.hpp"

#include <gtest/gtest.h>

#include "coll/chunks.hpp"
#include "coll/internal.hpp"
#include "processes.hpp"

namespace shm {
namespace {

constexpr Collective kOnNode[] = {Collective::broadcast, Collective::collect, Collective::alltoall,
                                  Collective::reduce, Collective::scan};

TEST(Choose, PayloadsRideOnlyIfTheyFitACell) {
  for (const Collective what : kOnNode) {
    EXPECT_EQ(choose(what, Cell::kPayload, 4, true), Algorithm::inlined);
    EXPECT_NE(choose(what, Cell::kPayload + 1, 4, true), Algorithm::inlined);
    EXPECT_NE(choose(what, Cell::kPayload + 1, 4, false), Algorithm::inlined);
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
  EXPECT_EQ(choose(Collective::internode_reduce, SIZE_MAX, 2, false), Algorithm::halving);
}

TEST(Choose, AlltoallsBetweenNodesGoTogetherWhileTheyAreShort) {
  EXPECT_EQ(choose(Collective::alltoall, 4096, 8, false), Algorithm::leading);
  EXPECT_EQ(choose(Collective::alltoall, 4097, 8, false), Algorithm::combined);
  EXPECT_EQ(choose(Collective::alltoall, 1024, 64, false), Algorithm::leading);
  EXPECT_EQ(choose(Collective::alltoall, 1025, 9, false), Algorithm::combined);
  EXPECT_EQ(choose(Collective::alltoall, 16384, 9, false), Algorithm::combined);
  EXPECT_EQ(choose(Collective::alltoall, 16385, 2, false), Algorithm::pairwise);
}

TEST(Choose, LongVectorsAreHalvedBetweenNodes) {
  EXPECT_EQ(choose(Collective::internode_reduce, 16384, 4, false), Algorithm::doubling);
  EXPECT_EQ(choose(Collective::internode_reduce, 524288, 2, false), Algorithm::doubling);
  EXPECT_EQ(choose(Collective::internode_reduce, 524289, 2, false), Algorithm::halving);
  EXPECT_EQ(choose(Collective::internode_reduce, 16385, 4, false), Algorithm::halving);
}

TEST(Choose, ShortVectorsHaveOneLaneAndLongOnesAllThatThereAre) {
  EXPECT_EQ(stripes_for(1, 8), 1);
  EXPECT_EQ(stripes_for(65536 - 1, 8), 1);
  EXPECT_EQ(stripes_for(65536, 8), 2);
  EXPECT_EQ(stripes_for(std::size_t{1} << 30, 8), 8);
  EXPECT_EQ(stripes_for(std::size_t{1} << 30, 1), 1);
}

// In processes of their own: what is overruled stays so, and other tests rely on the table.
TEST(Overrule, HoldsWhereTheAlgorithmCanBeUsed) {
  test::run_process([] {
    EXPECT_TRUE(overrule_choice("reduce=whole,alltoall=combined,eager=1000").ok());
    EXPECT_EQ(choose(Collective::reduce, 8, 2, true), Algorithm::whole);
    EXPECT_EQ(choose(Collective::reduce, kChunk, 2, true), Algorithm::whole);
    EXPECT_EQ(choose(Collective::reduce, kChunk + 1, 2, true), Algorithm::shares);
    EXPECT_EQ(choose(Collective::reduce, 8, 2, false), Algorithm::inlined);  // is none between nodes
    EXPECT_EQ(choose(Collective::alltoall, 8, 2, false), Algorithm::combined);
    EXPECT_EQ(choose(Collective::alltoall, 1 << 20, 2, true), Algorithm::reading);
    EXPECT_EQ(eager_limit(), 1000u);
    return true;
  });
}

TEST(Overrule, ForcesTheChainAndTheWayToCombineAnyLength) {
  test::run_process([] {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 30}) {
      EXPECT_TRUE(overrule_choice("internode_broadcast=chain,internode_reduce=halving").ok());
      EXPECT_EQ(choose(Collective::internode_broadcast, bytes, 3, false), Algorithm::chain);
      EXPECT_EQ(choose(Collective::internode_reduce, bytes, 3, false), Algorithm::halving);
      EXPECT_TRUE(overrule_choice("internode_broadcast=tree,internode_reduce=doubling,stripe=1").ok());
      EXPECT_EQ(choose(Collective::internode_broadcast, bytes, 3, false), Algorithm::tree);
      EXPECT_EQ(choose(Collective::internode_reduce, bytes, 3, false), Algorithm::doubling);
    }
    EXPECT_EQ(stripes_for(3, 8), 3);
    return true;
  });
}

struct Forced {
  const char* words;
  Collective what;
  std::size_t bytes;
  bool one_node;
  Algorithm algorithm;  // which is another one by the table
};

TEST(Overrule, KnowsCollectivesAndAlgorithmsByTheirNames) {
  constexpr std::size_t kShort = 8, kLong = 1 << 20;
  static constexpr Forced kForced[] = {
      {"broadcast=reading", Collective::broadcast, kShort, true, Algorithm::reading},
      {"collect=reading", Collective::collect, kShort, true, Algorithm::reading},
      {"alltoall=reading", Collective::alltoall, kShort, true, Algorithm::reading},
      {"alltoall=leading", Collective::alltoall, kLong, false, Algorithm::leading},
      {"alltoall=combined", Collective::alltoall, kLong, false, Algorithm::combined},
      {"alltoall=pairwise", Collective::alltoall, kShort, false, Algorithm::pairwise},
      {"reduce=whole", Collective::reduce, kShort, true, Algorithm::whole},
      {"reduce=shares", Collective::reduce, kShort, true, Algorithm::shares},
      {"reduce=leading", Collective::reduce, kShort, false, Algorithm::leading},
      {"scan=shares", Collective::scan, kShort, true, Algorithm::shares},
      {"internode_broadcast=chain", Collective::internode_broadcast, kShort, false, Algorithm::chain},
      {"internode_reduce=halving", Collective::internode_reduce, kShort, false, Algorithm::halving},
      {"internode_reduce=doubling", Collective::internode_reduce, kLong, false, Algorithm::doubling},
  };
  test::run_process([] {
    for (const Forced& forced : kForced) {
      EXPECT_TRUE(overrule_choice(forced.words).ok()) << forced.words;
      EXPECT_EQ(choose(forced.what, forced.bytes, 4, forced.one_node), forced.algorithm) << forced.words;
    }
    return true;
  });
}

TEST(Overrule, RefusesWhatItDoesNotKnow) {
  test::run_process([] {
    for (const char* words :
         {"reduce", "reduce=", "reduce=quick", "sort=inline", "eager=", "eager=0", "stripe=3x"}) {
      const Status status = overrule_choice(words);
      EXPECT_FALSE(status.ok()) << words;
      EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
    }
    EXPECT_TRUE(overrule_choice("").ok());
    return true;
  });
}

}  // namespace
}  // namespace shm

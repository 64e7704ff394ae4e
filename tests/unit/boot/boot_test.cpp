// SPDX-License-Identifier: BSD-3-Clause
#include "boot/boot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "environment.hpp"

namespace shm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(VirtualNode, SplitsIntoBlocks) {
  const std::vector<int> host = {3, 4, 8, 9, 12};
  EXPECT_THAT(virtual_node(host, 8, 0), ElementsAre(3, 4, 8, 9, 12));
  EXPECT_THAT(virtual_node(host, 8, 1), ElementsAre(3, 4, 8, 9, 12));
  EXPECT_THAT(virtual_node(host, 3, 2), ElementsAre(3, 4, 8));
  EXPECT_THAT(virtual_node(host, 12, 2), ElementsAre(9, 12));
  EXPECT_THAT(virtual_node(host, 9, 5), ElementsAre(9));
  EXPECT_THAT(virtual_node(host, 9, 1000), ElementsAre(9)) << "not more nodes than PEs";
}

TEST(VirtualNode, TakesEveryNthInCyclicOrder) {
  const std::vector<int> host = {3, 4, 8, 9, 12};
  EXPECT_THAT(virtual_node(host, 8, 2, true), ElementsAre(3, 8, 12));
  EXPECT_THAT(virtual_node(host, 9, 2, true), ElementsAre(4, 9));
  EXPECT_THAT(virtual_node(host, 4, 3, true), ElementsAre(4, 12));
  EXPECT_THAT(virtual_node(host, 8, 3, true), ElementsAre(8));
  EXPECT_THAT(virtual_node(host, 8, 0, true), ElementsAre(3, 4, 8, 9, 12));
  EXPECT_THAT(virtual_node(host, 12, 9, true), ElementsAre(12));
}

TEST(VirtualNode, IsTheSamePartitionForAll) {
  for (int size = 1; size <= 17; ++size) {
    std::vector<int> host(static_cast<std::size_t>(size));
    std::iota(host.begin(), host.end(), 100);
    for (std::uint64_t nodes = 1; nodes <= 18; ++nodes) {
      int blocks = 0;
      std::vector<int> all;
      for (int rank : host) {
        const std::vector<int> block = virtual_node(host, rank, nodes);
        ASSERT_THAT(block, ::testing::Contains(rank));
        if (block.front() != rank) continue;
        ++blocks;
        all.insert(all.end(), block.begin(), block.end());
      }
      EXPECT_EQ(all, host) << size << " PEs, " << nodes << " nodes";
      EXPECT_EQ(blocks, std::min<int>(size, static_cast<int>(nodes)));
    }
  }
}

class MakeBoot : public ::testing::Test {
 protected:
  MakeBoot() {
    for (const char* name :
         {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_SIZE", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"}) {
      environment.unset(name);
    }
  }
  test::ScopedEnvironment environment;
};

TEST_F(MakeBoot, StartsASingletonWhereNoLauncherIsInSight) { EXPECT_TRUE(make_boot().ok()); }

TEST_F(MakeBoot, RefusesLaunchersThatSpeakPmi1) {
  environment.set("PMI_FD", "5");
  EXPECT_THAT(make_boot().status().text(), HasSubstr("a PMI-1 launcher"));
  EXPECT_THAT(make_boot().status().text(), HasSubstr("oshrun"));
  environment.unset("PMI_FD");
  environment.set("PMI_SIZE", "2");
  EXPECT_THAT(make_boot().status().text(), HasSubstr("PMI-1"));
  environment.set("PMI_SIZE", "1");
  EXPECT_TRUE(make_boot().ok());
}

TEST_F(MakeBoot, RefusesSlurmStepsWithoutPmix) {
  environment.set("SLURM_STEP_ID", "0");
  environment.set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_THAT(make_boot().status().text(), HasSubstr("one of several tasks of a Slurm step"));
  EXPECT_THAT(make_boot().status().text(), HasSubstr("srun --mpi=pmix"));
  environment.set("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_TRUE(make_boot().ok());
  environment.set("SLURM_STEP_NUM_TASKS", "4");
  environment.unset("SLURM_STEP_ID");  // no step: what is left of an allocation's environment
  EXPECT_TRUE(make_boot().ok());
}

// Some launchers speak both.
TEST_F(MakeBoot, TakesAPmixServerWhateverElseIsThere) {
  environment.set("PMIX_NAMESPACE", "job");
  environment.set("PMI_FD", "5");
  environment.set("PMI_SIZE", "2");
  environment.set("SLURM_STEP_ID", "0");
  environment.set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_TRUE(make_boot().ok()) << make_boot().status().text();
}

}  // namespace
}  // namespace shm

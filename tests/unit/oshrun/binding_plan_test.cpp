// SPDX-License-Identifier: BSD-3-Clause
#include "binding_plan.hpp"

#include <gtest/gtest.h>

#include <set>

namespace oshrun {
namespace {

using Cpus = std::vector<int>;

/// Cores with one processor each, in `nodes` NUMA nodes of equal size.
std::vector<Core> machine(int cores, int nodes = 1) {
  std::vector<Core> result;
  for (int i = 0; i < cores; ++i) result.push_back({i * nodes / cores, {i}});
  return result;
}

TEST(BindingPlan, NeverBindsMorePesThanCores) {
  for (Bind bind : {Bind::kCore, Bind::kNuma, Bind::kAuto}) {
    const BindingPlan plan = plan_binding(bind, {5}, machine(4));
    EXPECT_TRUE(plan.cpus_of.empty());
    EXPECT_EQ(plan.why_no_pe, "5 PEs are more than the 4 cores this job may use");
  }
  EXPECT_TRUE(plan_binding(Bind::kCore, {1}, {}).cpus_of.empty());
}

TEST(BindingPlan, NoneAndAutoOfOnePeNeedNoTopology) {
  EXPECT_FALSE(needs_topology(Bind::kNone, 4));
  EXPECT_FALSE(needs_topology(Bind::kAuto, 1));
  EXPECT_TRUE(needs_topology(Bind::kAuto, 2));
  EXPECT_TRUE(needs_topology(Bind::kCore, 1));
  for (const BindingPlan& plan : {plan_binding(Bind::kNone, {4}, {}), plan_binding(Bind::kAuto, {1}, {})}) {
    EXPECT_TRUE(plan.cpus_of.empty());
    EXPECT_FALSE(plan.why_no_pe.empty());
  }
}

TEST(BindingPlan, CoreGivesOneCoreWithAllItsThreads) {
  const std::vector<Core> cores = {{0, {0, 4}}, {0, {1, 5}}, {0, {2, 6}}};
  EXPECT_EQ(plan_binding(Bind::kCore, {2}, cores).cpus_of, (std::vector<Cpus>{{0, 4}, {1, 5}}));
}

TEST(BindingPlan, AutoSharesAllCores) {
  EXPECT_EQ(plan_binding(Bind::kAuto, {2}, machine(4)).cpus_of, (std::vector<Cpus>{{0, 1}, {2, 3}}));
  EXPECT_EQ(plan_binding(Bind::kAuto, {4}, machine(4)).cpus_of, (std::vector<Cpus>{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(plan_binding(Bind::kAuto, {3}, machine(4)).cpus_of, (std::vector<Cpus>{{0}, {1}, {2, 3}}));
}

TEST(BindingPlan, AutoIsADisjointCover) {
  for (int cores = 2; cores <= 24; ++cores) {
    for (int pes = 2; pes <= cores; ++pes) {
      std::multiset<int> used;
      for (const Cpus& cpus : plan_binding(Bind::kAuto, {pes}, machine(cores)).cpus_of) {
        EXPECT_FALSE(cpus.empty());
        used.insert(cpus.begin(), cpus.end());
      }
      EXPECT_EQ(used.size(), static_cast<std::size_t>(cores));
      EXPECT_EQ(std::set<int>(used.begin(), used.end()).size(), used.size());
    }
  }
}

TEST(BindingPlan, NumaGivesWholeNodesInBlocks) {
  EXPECT_EQ(plan_binding(Bind::kNuma, {2}, machine(4, 2)).cpus_of, (std::vector<Cpus>{{0, 1}, {2, 3}}));
  EXPECT_EQ(plan_binding(Bind::kNuma, {4}, machine(4, 2)).cpus_of,
            (std::vector<Cpus>{{0, 1}, {0, 1}, {2, 3}, {2, 3}}));
}

TEST(BindingPlan, MemoryServersGetACoreEachBehindThePes) {
  EXPECT_EQ(plan_binding(Bind::kAuto, {2, 2}, machine(8)).cpus_of,
            (std::vector<Cpus>{{0, 1, 2}, {3, 4, 5}, {6}, {7}}));
  EXPECT_EQ(plan_binding(Bind::kAuto, {2, 1}, machine(3)).cpus_of, (std::vector<Cpus>{{0}, {1}, {2}}));
  EXPECT_EQ(plan_binding(Bind::kCore, {1, 2}, machine(8)).cpus_of, (std::vector<Cpus>{{0}, {1}, {2}}));
  EXPECT_EQ(plan_binding(Bind::kNuma, {2, 1}, machine(8, 2)).cpus_of,
            (std::vector<Cpus>{{0, 1, 2, 3}, {0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(plan_binding(Bind::kAuto, {2, 2}, machine(8)).why_no_server, "");
}

TEST(BindingPlan, MemoryServersAreNotBoundWhereThePesTakeTheCores) {
  for (Bind bind : {Bind::kCore, Bind::kAuto}) {
    const BindingPlan plan = plan_binding(bind, {3, 2}, machine(4));
    EXPECT_EQ(plan.cpus_of.size(), 3u) << "all PEs, as if there were no servers";
    EXPECT_EQ(plan.cpus_of, plan_binding(bind, {3}, machine(4)).cpus_of);
    EXPECT_EQ(plan.why_no_pe, "");
    EXPECT_EQ(plan.why_no_server, "3 PEs and 2 memory servers are more than the 4 cores this job may use");
  }
  const BindingPlan full = plan_binding(Bind::kAuto, {5, 1}, machine(4));
  EXPECT_TRUE(full.cpus_of.empty());
  EXPECT_EQ(full.why_no_pe, "5 PEs and 1 memory server are more than the 4 cores this job may use");
  EXPECT_EQ(full.why_no_server, full.why_no_pe);
}

TEST(BindingPlan, MemoryServersOfAPeThatMayRunAnywhereMayToo) {
  const BindingPlan plan = plan_binding(Bind::kAuto, {1, 2}, machine(8));
  EXPECT_TRUE(plan.cpus_of.empty());
  EXPECT_EQ(plan.why_no_server, plan.why_no_pe);
  EXPECT_FALSE(plan.why_no_pe.empty());
}

TEST(BindingPlan, NeighboursShareANodeThoughCoresAlternate) {
  const std::vector<Core> cores = {{0, {0}}, {1, {1}}, {0, {2}}, {1, {3}}};
  EXPECT_EQ(plan_binding(Bind::kAuto, {2}, cores).cpus_of, (std::vector<Cpus>{{0, 2}, {1, 3}}));
}

TEST(CpuList, IsShort) {
  EXPECT_EQ(cpu_list({}), "");
  EXPECT_EQ(cpu_list({3}), "3");
  EXPECT_EQ(cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace oshrun

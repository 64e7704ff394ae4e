// SPDX-License-Identifier: BSD-3-Clause
#include "memory_cgroup.hpp"

#include <gtest/gtest.h>

namespace oshrun {
namespace {

constexpr const char* kMounts =
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(MemoryCgroup, OfBothVersions) {
  const auto first = memory_cgroup("4:memory:/job 7\n1:cpu:/\n0::/other\n", kMounts);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->events, "/sys/fs/cgroup/memory/job 7/memory.oom_control");
  EXPECT_EQ(first->limit, "/sys/fs/cgroup/memory/job 7/memory.limit_in_bytes");
  const auto second = memory_cgroup("1:cpu:/\n0::/job\n", kMounts);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->events, "/sys/fs/cgroup/unified/job/memory.events");
  EXPECT_EQ(second->limit, "/sys/fs/cgroup/unified/job/memory.max");
}

TEST(MemoryCgroup, WhereAContainerSeesItsOwnAlone) {
  constexpr const char* kOwn = "41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(memory_cgroup("0::/docker/1/job\n", kOwn)->limit, "/sys/fs/cgroup/job/memory.max");
  EXPECT_FALSE(memory_cgroup("0::/docker/2\n", kOwn));
  EXPECT_FALSE(memory_cgroup("0::/docker/11\n", kOwn));
}

TEST(MemoryCgroup, WhereThereIsNone) {
  EXPECT_FALSE(memory_cgroup("", kMounts));
  EXPECT_FALSE(memory_cgroup("4:memory:/job\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"));
  EXPECT_FALSE(memory_cgroup("4\nmemory:/job\n", "nonsense\n - cgroup\n"));
}

TEST(MemoryCgroup, CountsKills) {
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 12\n"), 12);
  EXPECT_EQ(oom_kills("low 0\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
  EXPECT_FALSE(oom_kills("oom_kill\n"));
  EXPECT_FALSE(oom_kills(""));
}

TEST(MemoryCgroup, SaysWhatIsKnown) {
  EXPECT_EQ(out_of_memory(3, 3, "1024\n", "file"), "");
  EXPECT_EQ(
      out_of_memory(3, 4, "268435456\n", "memory.max"),
      ", and since the job began the kernel's OOM killer has killed 1 process of oshrun's cgroup: memory "
      "ran out (memory.max allows 256 MiB)");
  const std::string of_the_host =
      ", and since the job began the kernel's OOM killer has killed 2 processes of oshrun's cgroup: memory "
      "ran out";
  EXPECT_EQ(out_of_memory(0, 2, "max\n", "file"), of_the_host);
  EXPECT_EQ(out_of_memory(0, 2, "9223372036854771712\n", "file"), of_the_host);
  EXPECT_EQ(out_of_memory(0, 2, "", "file"), of_the_host);
}

}  // namespace
}  // namespace oshrun

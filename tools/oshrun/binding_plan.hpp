// SPDX-License-Identifier: BSD-3-Clause
// Which processors each PE gets: a pure function of what the machine allows. Thread safe.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace oshrun {

/// One core the launcher may use: the processors (hardware threads, operating system numbers) of it that the
/// affinity mask and the cgroup leave, and the NUMA node it is on.
struct Core {
  int numa = 0;
  std::vector<int> cpus;
};

/// cpus_of[pe] lists the processors of a PE, sorted. An empty plan binds nothing, and `why_none` says why.
struct BindingPlan {
  std::vector<std::vector<int>> cpus_of;
  std::string why_none;
};

/// `cores` in the machine's order. Never binds when there are more PEs than cores.
BindingPlan plan_binding(Bind bind, int pes, const std::vector<Core>& cores);

/// True when the plan needs to know the machine at all (discovery costs about a millisecond).
bool needs_topology(Bind bind, int pes);

/// "0-3,8" for people.
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace oshrun

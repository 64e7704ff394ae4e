// SPDX-License-Identifier: BSD-3-Clause
// Which processors each process of the job gets: a pure function of what the machine allows. Thread safe.
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

/// cpus_of[rank] lists the processors of a process, sorted. It is empty, or has the PEs and not the memory
/// servers, or has all; `why_no_pe` and `why_no_server` say why not.
struct BindingPlan {
  std::vector<std::vector<int>> cpus_of;
  std::string why_no_pe;
  std::string why_no_server;
};

/// `cores` in the machine's order. Never binds when there are more PEs than cores. PEs come first: memory
/// servers are bound if that leaves a core for each, and not to more.
BindingPlan plan_binding(Bind bind, const Roster& roster, const std::vector<Core>& cores);

/// True when the plan needs to know the machine at all (discovery costs about a millisecond).
bool needs_topology(Bind bind, int pes);

/// "0-3,8" for people.
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace oshrun

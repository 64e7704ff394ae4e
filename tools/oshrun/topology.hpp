// SPDX-License-Identifier: BSD-3-Clause
// What hwloc tells about this machine; the only part of the launcher that uses it. Call from the main thread,
// before the PMIx server starts (hwloc reads environment variables that are set here).
#pragma once

#include <vector>

#include "binding_plan.hpp"

namespace oshrun {

/// The cores this process may use: its affinity mask and its cgroup are respected. Empty when discovery
/// fails.
std::vector<Core> allowed_cores();

/// A made-up machine of one core (an hwloc_topology_t), or null. Given to the PMIx server it saves the
/// discovery of the real one, which PMIx never needs here: about 12 ms of every start. Lives until the
/// process ends.
void* placeholder_topology();

}  // namespace oshrun

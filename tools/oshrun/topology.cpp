// SPDX-License-Identifier: BSD-3-Clause
#include "topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>

namespace oshrun {
namespace {

/// Plug-ins of hwloc load XML and OpenCL libraries and ask X servers for displays: nothing a launcher needs.
void keep_hwloc_small() {
  setenv("HWLOC_COMPONENTS", "-gl,-opencl", 0);
  setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
}

void configure(hwloc_topology_t topology) {
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  // The second flag has no effect without the first.
  hwloc_topology_set_flags(topology,
                           HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
}

Core describe(hwloc_const_cpuset_t cpuset, hwloc_const_nodeset_t nodeset) {
  Core core;
  core.numa = nodeset != nullptr ? std::max(0, hwloc_bitmap_first(nodeset)) : 0;
  for (int cpu = hwloc_bitmap_first(cpuset); cpu >= 0; cpu = hwloc_bitmap_next(cpuset, cpu))
    core.cpus.push_back(cpu);
  return core;
}

}  // namespace

std::vector<Core> allowed_cores() {
  keep_hwloc_small();
  std::vector<Core> cores;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return cores;
  configure(topology);
  if (hwloc_topology_load(topology) == 0) {
    // Some virtual machines show processors without cores; each processor then counts as one.
    const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
    const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr)
      cores.push_back(describe(object->cpuset, object->nodeset));
  }
  hwloc_topology_destroy(topology);
  return cores;
}

void* placeholder_topology() {
  keep_hwloc_small();
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  if (hwloc_topology_set_synthetic(topology, "core:1 pu:1") == 0 && hwloc_topology_load(topology) == 0)
    return topology;
  hwloc_topology_destroy(topology);
  return nullptr;
}

}  // namespace oshrun

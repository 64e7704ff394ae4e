// SPDX-License-Identifier: BSD-3-Clause
#include "base/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace shm {
namespace {

// Memory limits of containers (cgroup version 2, then 1).
std::size_t container_limit() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::size_t limit = 0;
    if (file >> limit && limit > 0) return limit;
  }
  return SIZE_MAX;
}

}  // namespace

std::size_t host_memory() {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  return std::min(pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), container_limit());
}

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  constexpr auto kWholeLine = std::numeric_limits<std::streamsize>::max();
  for (std::string name; file >> name; file.ignore(kWholeLine, '\n')) {
    std::size_t kib = 0;
    if (name == "MemAvailable:" && file >> kib) return std::min(kib * 1024, host_memory());
  }
  return host_memory();
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// What the system says of a thread of this process.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>
#include <string_view>

namespace shm::test {

/// Whether it sleeps in the system.
inline bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end + 2 < text.size() && text[name_end + 2] == 'S';
}

/// How often it has gone to sleep there.
inline unsigned long switches(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  constexpr std::string_view kName = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kName)) return std::stoul(line.substr(kName.size()));
  return 0;
}

}  // namespace shm::test

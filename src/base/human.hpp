// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people.
#pragma once

#include <cstdio>
#include <string>

namespace shm {

/// "12.5 MiB"
inline std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, "%.4g %s", bytes, kUnits[unit]);
  return text;
}

}  // namespace shm

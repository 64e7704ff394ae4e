// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people.
#pragma once

#include <concepts>
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

template <std::integral Count>
std::string human_bytes(Count bytes) {
  return human_bytes(static_cast<double>(bytes));
}

/// "0.5", "120": as it would be written in a variable.
inline std::string plain_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Text as printf would write it.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace shm {

/// At most 1023 bytes of it.
[[gnu::format(printf, 1, 2)]] inline std::string format(const char* how, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, how);
  std::vsnprintf(text, sizeof text, how, arguments);
  va_end(arguments);
  return text;
}

}  // namespace shm

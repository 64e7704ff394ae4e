// SPDX-License-Identifier: BSD-3-Clause
#include "base/fatal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace shm {
namespace {

std::string& identity = *new std::string;  // empty until the rank is known; threads may warn during exit()
AbortHook abort_hook = nullptr;
bool debug_on = false;

std::string line_of(const char* format, va_list arguments) {
  char line[1024];
  int length = identity.empty() ? std::snprintf(line, sizeof line, "atoll: ")
                                : std::snprintf(line, sizeof line, "atoll: %s: ", identity.c_str());
  length +=
      std::vsnprintf(line + length, sizeof line - static_cast<std::size_t>(length) - 1, format, arguments);
  const std::size_t kept = std::min(static_cast<std::size_t>(length), sizeof line - 2);
  return std::string(line, kept) + '\n';
}

}  // namespace

// One write(2), so that lines of several PEs are not mixed.
void print_line(const std::string& line) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void set_identity(int pe, int npes, const std::string& host) {
  identity = "PE " + std::to_string(pe) + " of " + std::to_string(npes) + " on " + host;
}

void set_abort_hook(AbortHook hook) { abort_hook = hook; }

void fatal(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(line_of(format, arguments));
  va_end(arguments);
  if (abort_hook != nullptr) abort_hook(kErrorExit, nullptr);
  _exit(kErrorExit);
}

void lost_peer(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string line = line_of(format, arguments);
  va_end(arguments);
  if (abort_hook != nullptr) abort_hook(kErrorExit, line.c_str());
  print_line(line);
  _exit(kErrorExit);
}

void set_debug(bool on) { debug_on = on; }

void debug(const char* format, ...) {
  if (!debug_on) return;
  va_list arguments;
  va_start(arguments, format);
  print_line(line_of(format, arguments));
  va_end(arguments);
}

void warn(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(line_of(format, arguments));
  va_end(arguments);
}

}  // namespace shm

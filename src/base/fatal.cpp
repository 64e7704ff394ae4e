// SPDX-License-Identifier: BSD-3-Clause
#include "base/fatal.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace shm {
namespace {

std::string& identity = *new std::string;  // empty until the rank is known; threads may warn during exit()
int pes = INT_MAX;                         // of the job, once that is known
AbortHook abort_hook = nullptr;
void (*fatal_note)() = nullptr;
bool debug_on = false;

// Takes no memory from the heap: who waits for a page of remote memory may be a signal handler that has
// interrupted malloc.
struct Line {
  char text[1024];
  std::size_t length;

  Line(const char* format, va_list arguments) {
    int n = identity.empty() ? std::snprintf(text, sizeof text, "atoll: ")
                             : std::snprintf(text, sizeof text, "atoll: %s: ", identity.c_str());
    n += std::vsnprintf(text + n, sizeof text - static_cast<std::size_t>(n) - 1, format, arguments);
    length = std::min(static_cast<std::size_t>(n), sizeof text - 2);
    text[length++] = '\n';
    text[length] = '\0';
  }
};

// One write(2), so that lines of several PEs are not mixed.
void print(const char* text, std::size_t length) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, length);
}

void print(const char* format, va_list arguments) {
  const Line line(format, arguments);
  print(line.text, line.length);
}

}  // namespace

void print_line(const std::string& line) { print(line.data(), line.size()); }

void set_identity(int rank, int npes, const std::string& host) {
  pes = npes;
  identity = process_name(rank);
  if (rank < npes) identity += " of " + std::to_string(npes);
  identity += " on " + host;
}

std::string process_name(int rank) {
  return rank < pes ? "PE " + std::to_string(rank) : "memory server " + std::to_string(rank - pes);
}

const char* identity_text() { return identity.c_str(); }

void print_text(const char* text, std::size_t length) { print(text, length); }

void set_fatal_note(void (*note)()) { fatal_note = note; }

void set_abort_hook(AbortHook hook) { abort_hook = hook; }

void fatal(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
  if (fatal_note != nullptr) fatal_note();
  if (abort_hook != nullptr) abort_hook(kErrorExit, nullptr);
  _exit(kErrorExit);
}

void lost_peer(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const Line line(format, arguments);
  va_end(arguments);
  if (abort_hook != nullptr) abort_hook(kErrorExit, line.text);
  print(line.text, line.length);
  _exit(kErrorExit);
}

void refuse_message(int from, const char* what, const char* wrong) {
  fatal("internal error: %s sent %s %s", from == kUnknownRank ? "a PE" : process_name(from).c_str(), what,
        wrong);
}

void refuse_answer(int from, const char* what, int asked) {
  fatal("internal error: %s sent %s to a request that was sent to %s", process_name(from).c_str(), what,
        process_name(asked).c_str());
}

void die_within(int seconds) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec once{};
  once.it_value.tv_sec = seconds;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &once, nullptr);
}

void set_debug(bool on) { debug_on = on; }

void debug(const char* format, ...) {
  if (!debug_on) return;
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

void warn(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

}  // namespace shm

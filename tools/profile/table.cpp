// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include <pshmem.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace profile {
namespace {

/// What is known of one function.  Threads add to it at the same time; nothing is ordered by it.
struct alignas(64) Counter {
  std::atomic<std::uint64_t> calls, bytes, nanoseconds;
};

/// One line of the table; `slowest` is the time of the PE that spent most.
struct Line {
  std::uint64_t calls = 0, bytes = 0, nanoseconds = 0, slowest = 0;
};

/// Lives as long as the process: calls come before and after everything else in it.
Counter* counters() {
  static Counter* const all = new Counter[kFunctions]();
  return all;
}

std::atomic<bool> wanted{true};  // by the program, see control()
std::atomic<bool> open{true};    // false from a summary to the next initialization
std::atomic<int> depth{0};       // initializations under way
int me = 0, npes = 1;            // of the last library that was seen alive

void clear() {
  for (std::size_t i = 0; i < kFunctions; ++i) {
    counters()[i].calls = 0;
    counters()[i].bytes = 0;
    counters()[i].nanoseconds = 0;
  }
}

std::vector<Line> own_lines() {
  std::vector<Line> lines(kFunctions);
  for (std::size_t i = 0; i < kFunctions; ++i) {
    const Counter& counter = counters()[i];
    lines[i] = {counter.calls, counter.bytes, counter.nanoseconds, counter.nanoseconds};
  }
  return lines;
}

bool alive() {
  int started = 0;
  pshmem_query_initialized(&started);
  if (started == 0) return false;
  me = pshmem_my_pe();
  npes = pshmem_n_pes();
  return true;
}

void append(std::string& text, const char* name, const Line& line) {
  char row[200];
  const double seconds = static_cast<double>(line.nanoseconds) * 1e-9;
  std::snprintf(row, sizeof row, "%-36s %12llu %16llu %12.6f %12.6f %12.3f\n", name,
                static_cast<unsigned long long>(line.calls), static_cast<unsigned long long>(line.bytes),
                seconds, static_cast<double>(line.slowest) * 1e-9,
                seconds * 1e6 / static_cast<double>(line.calls));
  text += row;
}

/// The functions that were called, the one that took most time first.
void print(const std::string& title, const std::vector<Line>& lines) {
  std::vector<std::size_t> order(kFunctions);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lines[a].nanoseconds > lines[b].nanoseconds; });
  char header[200];
  std::snprintf(header, sizeof header, "%-36s %12s %16s %12s %12s %12s\n", "function", "calls", "bytes",
                "seconds", "slowest PE", "us/call");
  std::string text = "shmem_profile: " + title + "\n" + header;
  for (const std::size_t i : order) {
    if (lines[i].calls > 0) append(text, kNames[i], lines[i]);
  }
  std::fwrite(text.data(), 1, text.size(), stderr);  // at once: other PEs print too
}

std::string own_title(const char* why) {
  return "PE " + std::to_string(me) + " of " + std::to_string(npes) + ", " + why;
}

/// Sums the lines over all PEs; false if the symmetric heap has no room for it.  Collective.
bool sum_over_pes(std::vector<Line>& lines) {
  constexpr std::size_t kFields = 3;  // those of Line that are summed
  const std::size_t n = kFunctions * (kFields + 1);
  auto* const mine = static_cast<uint64_t*>(pshmem_malloc(2 * n * sizeof(uint64_t)));
  if (mine == nullptr) return false;
  uint64_t* const all = mine + n;
  for (std::size_t i = 0; i < kFunctions; ++i) {
    const Line& line = lines[i];
    const uint64_t fields[] = {line.calls, line.bytes, line.nanoseconds, line.slowest};
    for (std::size_t f = 0; f <= kFields; ++f) mine[f * kFunctions + i] = fields[f];
  }
  pshmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all, mine, kFields * kFunctions);
  pshmem_uint64_max_reduce(SHMEM_TEAM_WORLD, all + kFields * kFunctions, mine + kFields * kFunctions,
                           kFunctions);
  for (std::size_t i = 0; i < kFunctions; ++i) {
    lines[i] = {all[i], all[kFunctions + i], all[2 * kFunctions + i], all[3 * kFunctions + i]};
  }
  pshmem_free(mine);
  return true;
}

/// For programs that end without shmem_finalize.
struct AtExit {
  ~AtExit() { print_own("which ended without shmem_finalize"); }
} at_exit;

}  // namespace

void add(std::size_t function, std::uint64_t bytes, Clock::duration time) {
  Counter& counter = counters()[function];
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  counter.bytes.fetch_add(bytes, std::memory_order_relaxed);
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  counter.nanoseconds.fetch_add(static_cast<std::uint64_t>(nanoseconds), std::memory_order_relaxed);
}

bool counting() { return wanted.load(std::memory_order_relaxed) && open.load(std::memory_order_relaxed); }

void control(int level) {
  wanted = level > 0;
  if (level == 2) print_own("until shmem_pcontrol(2)");
}

void starts() {
  if (!alive()) depth = 0;  // an initialization that failed has not begun anything
  ++depth;
  open = true;
}

void starts(int level, const int*) {
  if (level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE) starts();
}

void starts_once() {
  if (!alive()) starts();
}

void ends() {
  if (!alive() || --depth > 0) return;
  open = false;
  std::vector<Line> lines = own_lines();
  if (!sum_over_pes(lines)) {
    print_own("the symmetric heap has no room to sum over the PEs");
  } else if (me == 0) {
    print(std::to_string(npes) + (npes == 1 ? " PE" : " PEs, calls, bytes and seconds summed"), lines);
  }
  clear();
}

void ends_job(const char* call) {
  print_own(call);
  open = false;
  clear();
}

void print_own(const char* why) {
  alive();
  const std::vector<Line> lines = own_lines();
  const bool any = std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.calls > 0; });
  if (any) print(own_title(why), lines);
}

}  // namespace profile

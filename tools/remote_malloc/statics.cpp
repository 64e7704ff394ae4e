// SPDX-License-Identifier: BSD-3-Clause
#include "statics.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/ranges_meet.hpp"
#include "inside.hpp"
#include "remote_memory.hpp"
#include "start.hpp"
#include "variables.hpp"

namespace remote_malloc::statics {
namespace {

using variables::Range;

constinit bool wanted = false;

// Those that are remote; as many as Atoll takes over (shmem/remote.h).
constexpr std::size_t kMost = 64;
constinit std::array<Range, kMost> taken{};
constinit std::atomic<std::size_t> taken_count{0};

void note(const Range& range) {
  const std::size_t n = taken_count.load();
  taken[n] = range;
  taken_count.store(n + 1);
  hull.add(range.begin, range.bytes());
}

// The largest ones first.
std::vector<Range> find_large() {
  std::vector<Range> found = variables::large(variables::of_this_process(), limit.load());
  std::ranges::stable_sort(found, [](const Range& a, const Range& b) { return a.bytes() > b.bytes(); });
  return found;
}

void take_over(std::vector<Range> found) {
  if (!memory::alone()) {
    dprintf(STDERR_FILENO,
            "libshmem_remote: SHMEM_REMOTE_BSS: static variables stay local, as they are symmetric in a job "
            "of several "
            "PEs; allowed is one PE\n");
    return;
  }
  if (found.size() > kMost) {
    dprintf(STDERR_FILENO,
            "libshmem_remote: SHMEM_REMOTE_BSS: the %zu largest of %zu static variables are remote\n", kMost,
            found.size());
    found.resize(kMost);
  }
  for (const Range& range : found) {
    // Where the servers are full it stays where it is, and a line says so.
    if (memory::take_over(reinterpret_cast<void*>(range.begin), range.bytes()) != 0) note(range);
  }
}

}  // namespace

bool look_for(std::uintptr_t at, std::size_t n) {
  const std::size_t count = taken_count.load(std::memory_order_acquire);
  return std::any_of(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(count),
                     [=](const Range& range) { return shm::ranges_meet(at, n, range.begin, range.bytes()); });
}

void enable() { wanted = true; }

void before_main() {
  if (!wanted) return;
  const int saved = errno;
  const Inside inside;
  std::vector<Range> found = find_large();
  if (!found.empty() && start_for_statics()) take_over(std::move(found));
  errno = saved;
}

void after_start() {
  if (!wanted) return;
  const int saved = errno;
  const Inside inside;
  if (std::vector<Range> found = find_large(); !found.empty()) take_over(std::move(found));
  errno = saved;
}

}  // namespace remote_malloc::statics

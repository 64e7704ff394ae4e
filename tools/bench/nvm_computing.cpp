// SPDX-License-Identifier: BSD-3-Clause
// The kernel `computing`: what the library's own threads take of a core beside a program that computes.
#include <shmem.h>

#include <algorithm>
#include <ctime>

#include "measure.hpp"
#include "nvm_kernels.hpp"
#include "nvm_pages.hpp"

namespace bench {
namespace {

constexpr double kBetweenGets = 0.01;  // seconds
constexpr double kShortest = 0.1;      // seconds, so that there are some gets
constexpr int kTurns = 20000;          // of the computation between two looks at the clock

/// Seconds of processor that all threads of this process but the calling one have taken.
double of_other_threads() {
  const auto taken = [](clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  return taken(CLOCK_PROCESS_CPUTIME_ID) - taken(CLOCK_THREAD_CPUTIME_ID);
}

std::uint64_t compute(std::uint64_t value) {
  for (int turn = 0; turn < kTurns; ++turn) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}

/// Each PE computes for a while; with `gets` all but PE 0 get one of its pages now and then.
Row measure_beside(const NvmOptions& options, Pages& pages, bool gets) {
  const double length = std::max(options.seconds, kShortest);
  bool right = true;
  std::size_t got = 0;
  std::uint64_t value = 1;
  shmem_barrier_all();
  const double others = of_other_threads(), start = now();
  double next = start, turns = 0;
  for (double at = start; at - start < length; at = now(), ++turns) {
    value = compute(value);
    if (!gets || shmem_my_pe() == 0 || at < next) continue;
    pages.get(got++ % pages.count());
    right = pages.right(true) && right;
    next += kBetweenGets;
  }
  const double share = (of_other_threads() - others) / (now() - start);
  right = right && value != 0;  // so that it is computed
  shmem_barrier_all();
  return {.kernel = "computing",
          .what = gets ? "a page each 10 ms" : "no page",
          .rate = total(turns) * kTurns * 1e-6 / length,
          .each = largest(share) * 100,
          .right = right};
}

}  // namespace

bool measure_computing(const NvmOptions& options, const NvmReport& report) {
  Pages pages(options, options.pages_of_gets());
  if (!pages.valid()) return false;
  for (const bool gets : {false, true}) report(measure_beside(options, pages, gets));
  return true;
}

}  // namespace bench

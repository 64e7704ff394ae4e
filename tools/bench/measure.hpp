// SPDX-License-Identifier: BSD-3-Clause
// What subcommands measure with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// Seconds since some moment.
double now();

// Collective: over all PEs.
double largest(double value);
double total(double value);
/// How many nodes the job is on.
int nodes();
/// "4 PEs on 2 nodes".
std::string job_in_words();

/// How long single calls took: so many of 100 at most so long, and the longest.
struct Tail {
  double median = 0, p99 = 0, p99_9 = 0, p99_99 = 0, longest = 0;
};
/// REQUIRES: not empty.
Tail tail_of(std::vector<float> times);

/// "s", but not for one.
inline const char* plural(std::size_t count) { return count == 1 ? "" : "s"; }

/// How often to do something so that it takes about `seconds`: by trying.  `measure(count)` returns the
/// seconds that `count` times take; those and the result are the same on all PEs.
template <class Measure>
std::size_t calibrate(double seconds, Measure measure, std::size_t count = 64) {
  for (int tries = 0; tries < 20; ++tries) {
    double took = measure(count);
    // Another program may have had the core: few that took long must do so twice.
    if (took >= seconds / 2) took = std::min(took, measure(count));
    if (took >= seconds / 2) break;
    count = static_cast<std::size_t>(static_cast<double>(count) * std::min(16.0, 1.1 * seconds / took)) + 1;
  }
  return count;
}

/// Seconds of one of `count` times, in the median of so many rounds; `measure` as above.
template <class Measure>
double median_of(std::size_t rounds, std::size_t count, Measure measure) {
  std::vector<double> took;
  for (std::size_t i = 0; i < rounds; ++i) took.push_back(measure(count));
  std::sort(took.begin(), took.end());
  return took[took.size() / 2] / static_cast<double>(count);
}

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// What `rma`, `signal`, `coll`, `lock` and `init` share: operations of many sizes, how long one takes, on
// average in each of several rounds and one by one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace bench {

struct SweepOptions : ReportOptions {
  Names kinds;                     ///< empty: all
  std::vector<std::size_t> sizes;  ///< bytes
  std::size_t window = 64;         ///< operations that are under way at a time, of kinds that have several
  double seconds = 0.02;
  std::size_t rounds = 10;
};

/// What was measured of one kind, at one size.
struct Swept {
  std::vector<double> samples;  ///< microseconds of an operation, in each round
  Tail tail;                    ///< microseconds of an operation, where single steps are timed
  std::size_t step = 1;         ///< operations of it
  double at_once = 1;           ///< PEs that do so at the same time, and do not wait for each other
  bool right = true;            ///< on this PE
};

/// Steps, of some operations each, that this PE does, or waits until others have done.
struct Steps {
  bool takes_part;
  std::size_t operations = 1;
  std::function<void(std::size_t)>
      run;  ///< so many steps, one after the other; what they have issued is complete
};

/// Collective: rounds of so many steps that they take options.seconds; then steps one by one.
Swept sweep(const SweepOptions& options, const Steps& steps);

/// A kind of operation.  `measure` is collective.
struct SweepKind {
  std::string_view name;
  bool sized;  ///< else there is one row
  Swept (*measure)(const SweepOptions& options, std::size_t bytes);
  int least_pes = 1;  ///< with fewer there is nothing to measure
};

struct SweepCommand {
  const char* name;
  const char* about;  ///< a line of the heading, and of the usage
  std::span<const SweepKind> kinds;
  const char* kinds_usage;             ///< lines on them
  std::span<const std::size_t> sizes;  ///< where none are said; empty: there are none
};

/// Collective: the whole command.
int run_sweep(const SweepCommand& command, Words words);

/// Symmetric memory, from the construction to the end of the scope; collective.  Without room the job ends,
/// and says so.
class Symmetric {
 public:
  explicit Symmetric(std::size_t bytes);
  ~Symmetric();
  Symmetric(const Symmetric&) = delete;
  Symmetric& operator=(const Symmetric&) = delete;
  unsigned char* bytes() const { return block_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(block_);
  }

 private:
  unsigned char* block_;
};

/// Byte `at` of what PE `pe` sends in round `round`.
inline unsigned char pattern(int pe, std::size_t at, std::size_t round) {
  return static_cast<unsigned char>(31 * static_cast<std::size_t>(pe) + at + 7 * round + 1);
}

}  // namespace bench

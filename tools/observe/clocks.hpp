// SPDX-License-Identifier: BSD-3-Clause
// One time for all PEs: what is to be added to the clock of this PE to have that of PE 0.
//
// Processes of one kernel, and of one time namespace, have one clock.  Of each other clock its lowest PE asks
// PE 0 for the time, kRounds times, and believes the answer that came fastest: PE 0 gave it somewhere between
// question and answer, and is taken to have done so in the middle, so it is wrong by half of that time at
// most.  That is done at the start and at the end; in between the difference goes from one to the other in a
// line, as crystals do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace observe {

struct RoundTrip {
  std::uint64_t asked, answered;  // by the clock here
  std::uint64_t there;            // the answer
};
struct Difference {
  std::int64_t nanoseconds = 0;  // to be added to times here
  std::int64_t wrong_by = 0;     // at most
  std::uint64_t at = 0;          // here
};
/// Of the trip that took the least time.
Difference difference_of(std::span<const RoundTrip> trips);

/// Two measurements, and what is between them and beyond.
struct Clock {
  Difference first, last;
  /// `time` of this PE as PE 0 would have read it.
  std::uint64_t of_all(std::uint64_t time) const;
};

inline constexpr std::size_t kRounds = 32;

/// What measure_difference() needs of symmetric memory, in bytes.
std::size_t bytes_for_clocks(int npes);
/// Collective.  `room`: symmetric, for anything, at multiples of 8.
Difference measure_difference(void* room);

}  // namespace observe

// SPDX-License-Identifier: BSD-3-Clause
// How long swaps take, stage by stage: a swap is a fault that brings a page into a frame.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/stats.hpp"

namespace shm::pages {

/// The points in time that the paper on the DLM measures, its A1 to A6.  What they are where each thread
/// brings its own pages stands behind the semicolon.
enum class SwapPoint : std::uint8_t {
  fault,
  taken,     // by the com-thread, from the internal queue; it has a slot and a frame
  received,  // R77: is about to be
  applied,   // begins to be: the request is taken from the external queue; is `received`.  R3, R77 too
  resumed,   // the user threads are; the page is mapped
  complete,  // the thread that has faulted goes on
};
inline constexpr std::size_t kSwapPoints = 6;

/// When one swap came to each point.
class SwapTimes {
 public:
  using Clock = std::chrono::steady_clock;
  void note(SwapPoint point) { note(point, Clock::now()); }
  void note(SwapPoint point, Clock::time_point when) { at_[static_cast<std::size_t>(point)] = when; }
  Clock::time_point at(SwapPoint point) const { return at_[static_cast<std::size_t>(point)]; }
  /// Of the stage that begins with that point.
  Clock::duration stage(std::size_t n) const { return at_[n + 1] - at_[n]; }

 private:
  std::array<Clock::time_point, kSwapPoints> at_{};
};

/// Sums over swaps, from each point to the next; they are counted for SHMEM_STATS too.  Thread safety: any
/// thread.
class SwapStages {
 public:
  static constexpr std::size_t kStages = kSwapPoints - 1;
  /// What each is counted as, in nanoseconds.
  static constexpr std::array<Stat, kStages> kSums{Stat::swap_queued_ns, Stat::swap_received_ns,
                                                   Stat::swap_kept_ns, Stat::swap_placed_ns,
                                                   Stat::swap_ended_ns};

  void add(const SwapTimes& times) {
    for (std::size_t i = 0; i < kStages; ++i) {
      const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(times.stage(i)).count());
      sums_[i].fetch_add(ns, std::memory_order_relaxed);
      count(kSums[i], ns);
    }
    swaps_.fetch_add(1, std::memory_order_release);
    count(Stat::swaps);
  }
  std::uint64_t swaps() const { return swaps_.load(std::memory_order_acquire); }
  /// Of the stage that begins with that point: microseconds.  0 if there was no swap.
  double mean(std::size_t stage) const {
    const auto swaps = static_cast<double>(swaps_.load(std::memory_order_acquire));
    return swaps == 0 ? 0 : static_cast<double>(sums_[stage].load(std::memory_order_relaxed)) / 1e3 / swaps;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kStages> sums_{};
  std::atomic<std::uint64_t> swaps_{0};
};

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
// How a thread that looks again and again gives its core away meanwhile.
#pragma once

#include <chrono>

namespace shm {

/// A wait that takes longer than this sleeps.
inline constexpr std::chrono::milliseconds kYieldTime{1};

/// How long who has waited for `waited` sleeps before the next look: 1/16 of that, and at most 2 ms, so a
/// long wait takes next to no CPU and is prolonged by at most 6 %.
std::chrono::microseconds next_sleep(std::chrono::steady_clock::duration waited);

/// Between two looks that found nothing: yields, and sleeps when there has been no progress for kYieldTime.
/// For waits below the core, whose Waiter also sleeps on descriptors.
class Backoff {
 public:
  void pause();
  /// Something has happened: what is waited for may be next.
  void restart() { yields_ = 0; }

 private:
  using Clock = std::chrono::steady_clock;
  unsigned yields_ = 0;
  bool sleepy_ = false;
  Clock::time_point start_{};
};

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// The alarm that makes somebody look at messages that are held, again and again while some are.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/progress.hpp"

namespace shm::nvm {

/// Thread safety: any thread; start() and stop() by one.
class HoldAlarm {
 public:
  ~HoldAlarm() {
    if (fd_ >= 0) close(fd_);
  }

  /// From now on threads that block wake for it.
  void start(Progress& progress) {
    fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    progress.add_source({fd_, may_block, this, kNoLimit});
  }
  void stop(Progress& progress) { progress.remove_source(this); }

  /// It goes off after kPeriod, if not before.
  void set() {
    if (at_.load(std::memory_order_seq_cst) != 0) return;
    std::int64_t none = 0;
    if (!at_.compare_exchange_strong(none, now() + kPeriod, std::memory_order_seq_cst)) return;
    constexpr itimerspec once{{0, 0}, {0, kPeriod}};
    if (fd_ >= 0) timerfd_settime(fd_, 0, &once, nullptr);
  }
  /// Returns true to one of those who ask when it has gone off; it is not set any more then.
  bool went_off() {
    std::int64_t at = at_.load(std::memory_order_relaxed);
    if (at == 0 || now() < at) [[likely]]
      return false;
    if (!at_.compare_exchange_strong(at, kBeingRead, std::memory_order_seq_cst)) return false;
    std::uint64_t times;
    if (fd_ >= 0) [[maybe_unused]]
      const ssize_t got = read(fd_, &times, sizeof times);
    at_.store(0, std::memory_order_seq_cst);
    return true;
  }

  /// Half of how long a message may be held (nanoseconds).
  static constexpr std::int64_t kPeriod = 500'000;

 private:
  static constexpr long kNoLimit = 1'000'000'000;
  static constexpr std::int64_t kBeingRead = INT64_MAX;
  static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  static bool may_block(void* alarm) {
    const HoldAlarm& self = *static_cast<HoldAlarm*>(alarm);
    return self.fd_ >= 0 || self.at_.load(std::memory_order_seq_cst) == 0;
  }

  int fd_ = -1;
  std::atomic<std::int64_t> at_{0};  // 0: not set
};

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
// The alarm that makes somebody look at messages that are held, again and again while some are.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/mutex.hpp"
#include "base/spin.hpp"
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
    progress.add_source({fd_, may_block, this, fd_ >= 0 ? kNoLimit : kPeriod / 1000});
  }
  void stop(Progress& progress) { progress.remove_source(this); }

  /// It goes off after kPeriod, if not before.
  void set() {
    if (at_.load(std::memory_order_seq_cst) != 0) return;
    const LockGuard guard(lock_);
    if (at_.load(std::memory_order_relaxed) != 0) return;
    constexpr itimerspec once{{0, 0}, {0, kPeriod}};
    if (fd_ >= 0) timerfd_settime(fd_, 0, &once, nullptr);
    at_.store(now() + kPeriod, std::memory_order_seq_cst);
  }
  /// Returns true to one of those who ask when it has gone off; it is not set any more then.
  bool went_off() {
    const auto is_due = [this] {
      const std::int64_t at = at_.load(std::memory_order_relaxed);
      return at != 0 && now() >= at;
    };
    if (!is_due()) [[likely]]
      return false;
    const LockGuard guard(lock_);
    if (!is_due()) return false;
    // So the descriptor is not readable any more, nor will be.
    constexpr itimerspec never{};
    if (fd_ >= 0) timerfd_settime(fd_, 0, &never, nullptr);
    at_.store(0, std::memory_order_seq_cst);
    return true;
  }

  /// Half of how long a message may be held (nanoseconds).
  static constexpr std::int64_t kPeriod = 500'000;

 private:
  static constexpr long kNoLimit = 1'000'000'000;
  static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  static bool may_block(void* alarm) {
    const HoldAlarm& self = *static_cast<HoldAlarm*>(alarm);
    return self.fd_ >= 0 || self.at_.load(std::memory_order_seq_cst) == 0;
  }

  int fd_ = -1;
  SpinLock lock_;
  std::atomic<std::int64_t> at_{0};  // 0: not set
};

}  // namespace shm::nvm

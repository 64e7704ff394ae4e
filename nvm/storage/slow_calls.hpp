// SPDX-License-Identifier: BSD-3-Clause
// Calls of a device that the system may take long for (room in a file, making it durable, closing it), made
// by a thread of their own, one after the other: the pager goes on with other pages meanwhile.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <semaphore>
#include <thread>

#include "base/mutex.hpp"
#include "base/status.hpp"

namespace shm::nvm {

/// Thread safety: one thread at a time, who makes a round of the pager; `make` and `ring` are called by the
/// other one.
class SlowCalls {
 public:
  /// `ring` tells that a call has ended.
  explicit SlowCalls(std::function<void()> ring) : ring_(std::move(ring)) {}
  /// Waits for the call that is being made; those behind it are not made.
  ~SlowCalls();
  SlowCalls(const SlowCalls&) = delete;
  SlowCalls& operator=(const SlowCalls&) = delete;

  /// REQUIRES: the result of the last call for this caller has been taken.
  void begin(const void* caller, std::function<Status()> make) { begin({caller, std::move(make), true}); }
  /// The same, for a call whose end nobody waits for: `ring` is not called.
  void begin_untold(const void* caller, std::function<Status()> make) {
    begin({caller, std::move(make), false});
  }
  /// Takes the result of the caller's call; nothing: it has not ended.
  std::optional<Status> result(const void* caller);
  /// Whether there is a result to be taken.
  bool any_result();

 private:
  struct Call {
    const void* caller;
    std::function<Status()> make;
    bool rings;
  };
  struct Ended {
    const void* caller;
    Status status;
  };
  void begin(Call call);
  void run();

  const std::function<void()> ring_;
  Mutex mutex_;
  std::deque<Call> begun_ GUARDED_BY(mutex_);  // that nobody makes yet
  std::deque<Ended> ended_ GUARDED_BY(mutex_);
  std::counting_semaphore<> work_{0};  // calls that have begun, and the end
  std::atomic<bool> stop_{false};
  std::thread thread_;  // from the first call on
};

}  // namespace shm::nvm

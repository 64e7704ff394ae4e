// SPDX-License-Identifier: BSD-3-Clause
// How threads wait for pages that only their node uses: one of them polls, the others sleep, and whoever
// stops polling hands that on.
//
//   wait_until: ready? -> nobody polls: poll, again and again -> ready: hand on
//                      -> somebody does: sleep until rung ----> ready? ...
//
// As long as anybody sleeps here, some thread polls, or has been rung to.  What is waited for is announced by
// who brings it about (wake); what is not, as it may come by many ways, by the poller when nothing has
// happened for a while.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/wait_report.hpp"

namespace shm::pages {

/// What is asked again and again: refers to a callable, which must outlive it.
class Asked {
 public:
  template <class Callable>
  explicit Asked(const Callable& callable)
      : object_(&callable),
        run_([](const void* object) { return (*static_cast<const Callable*>(object))(); }) {}
  bool operator()() const { return run_(object_); }

 private:
  const void* object_;
  bool (*run_)(const void*);
};

/// Thread safety: any thread that takes no signals.  Async-signal-safe.  No lock is held while asleep.
class LocalWaits {
 public:
  /// Looks once whether anything has happened, for all who wait; returns whether it has.  By one thread at a
  /// time, whose wait `watch` is.
  class Poller {
   public:
    virtual bool poll(WaitWatch& watch) = 0;

   protected:
    ~Poller() = default;
  };

  explicit LocalWaits(Poller& poller) : poller_(poller) {}

  /// Returns when `ready` has returned true, to this thread; it is not called again then.  `what` is a name
  /// for that, for wake().
  void wait_until(const void* what, Asked ready);
  /// Between two looks at what will not take long and is not announced: polls, or yields if another thread
  /// polls.
  void pause();
  /// Lets all who sleep for `what` look again, or one of them.
  void wake(const void* what) { ring(what, false); }
  void wake_one(const void* what) { ring(what, true); }

 private:
  static constexpr unsigned kPollsBeforePause = 20;
  static constexpr std::size_t kPlaces = 64;  // threads beyond so many yield instead of sleeping

  struct Place {
    std::atomic<const void*> what{nullptr};  // null: nobody's
    std::atomic<std::uint32_t> rung{1};
  };
  bool drive(Asked ready);
  bool sleep(const void* what, Asked ready);
  void hand_on();
  void ring(const void* what, bool one);

  Poller& poller_;
  std::atomic<bool> polled_{false};  // by a thread that is inside drive()
  std::atomic<unsigned> sleepers_{0};
  std::array<Place, kPlaces> places_;
};

}  // namespace shm::pages

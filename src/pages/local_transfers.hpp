// SPDX-License-Identifier: BSD-3-Clause
// Transfers between frames and where pages are kept: so many of each kind at a time, and who waits for them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "pages/backing.hpp"
#include "pages/local_waits.hpp"

namespace shm::pages {

/// Thread safety: any thread that takes no signals.  Async-signal-safe.
class LocalTransfers final : private LocalWaits::Poller {
 public:
  enum class Kind : std::uint8_t {
    call,      // a thread waits for it, and gives it back
    ahead,     // a page is read ahead of its use
    cleaning,  // a page is written so that its frame can be used for another one
  };
  static constexpr std::size_t kKinds = 3;

  /// One that may be under way.  Belongs to who has taken it.
  class Transit {
   public:
    PageNumber page = 0;
    FrameNumber frame = kNoFrame;

   private:
    friend LocalTransfers;
    enum State : std::uint8_t { kFree, kTaken, kUnderWay };
    Completion done_;
    Kind kind_ = Kind::call;
    std::atomic<State> state_{kFree};
    std::atomic<std::int64_t> since_{0};  // nanoseconds of the steady clock
  };

  /// Who gets those that no thread waits for when they have ended; they are taken back afterwards.
  class Finisher {
   public:
    virtual void finish(Kind kind, const Transit& transit) = 0;

   protected:
    ~Finisher() = default;
  };

  struct Limits {
    unsigned calls, ahead, cleanings;
  };
  LocalTransfers(Backing& backing, Finisher& finisher, const Limits& limits);

  /// One that nobody has, or null.
  Transit* take(Kind kind);
  void give(Transit& transit) { transit.state_.store(Transit::kFree, std::memory_order_release); }
  bool any_taken(Kind kind) const;
  bool any_free(Kind kind) const;

  /// REQUIRES: taken, page set; not begun.
  void read(Transit& transit, std::size_t within, std::byte* into, std::size_t n);
  void write(Transit& transit, std::size_t within, const std::byte* from, std::size_t n);
  /// Until a transit of the kind `call` has ended.
  void wait(const Transit& transit);

  LocalWaits& waits() { return waits_; }
  // Names of what is waited for.
  /// By who needs a frame: a transfer that no thread waits for has ended.  Wakes one at a time.
  const void* ended() const { return this; }
  /// It has been taken back.  Wakes all.
  const void* given() const { return transits_.get(); }

 private:
  template <class Is>
  bool any(Kind kind, Is is) const;
  bool poll(WaitWatch& watch) override;
  bool serve();
  void tell_of_waits(WaitWatch& watch);
  void begun(Transit& transit);

  Backing& backing_;
  Finisher& finisher_;
  unsigned first_[kKinds + 1];  // of each kind
  std::unique_ptr<Transit[]> transits_;
  unsigned idle_polls_ = 0;  // of who polls
  LocalWaits waits_;
};

}  // namespace shm::pages

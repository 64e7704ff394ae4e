// SPDX-License-Identifier: BSD-3-Clause
// A channel that packs small operations: one lane per PE that it batches to.
//
// Thread safety: any thread, unless it says otherwise.  lock_ guards the lanes; it is held for a copy into a
// packet and never while the inner network posts or polls, so handlers may take it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/spin.hpp"
#include "base/wait_report.hpp"
#include "batch/packet.hpp"
#include "net.hpp"

namespace shm::batch {

/// Packets of a lane that may be under way or not yet acknowledged.
inline constexpr std::uint64_t kWindow = 8;

/// A packet that is held for longer is sent by whoever polls (nanoseconds).
inline constexpr std::int64_t kLongestHold = 1'000'000;
inline constexpr std::int64_t kNever = INT64_MAX;

/// Nanoseconds of the steady clock.
std::int64_t clock_now();

/// What a channel needs from the network it belongs to.
class Carrier {
 public:
  /// Sends a packet; may poll the inner network while there is no room.
  virtual void carry(int pe, const std::byte* packet, std::size_t n) = 0;
  /// Makes progress; returns whether there was any.
  virtual bool progress() = 0;
  /// A packet that leaves at `deadline` at the latest was opened, or is not to be watched any more.
  virtual void opened(std::int64_t deadline) = 0;
  virtual void forgotten() = 0;
  virtual int me() const = 0;

 protected:
  ~Carrier() = default;
};

class Batcher : public Channel {
 public:
  Batcher(Carrier& carrier, const NetOps* table, Channel* inner, int npes)
      : Channel{table},
        carrier_(carrier),
        inner_(inner),
        npes_(npes),
        lanes_(std::make_unique<Lane[]>(static_cast<std::size_t>(npes))) {}

  ~Batcher() {
    for (std::size_t i = 0; i < held_.size(); ++i) carrier_.forgotten();
  }

  Channel* inner() const { return inner_; }

  /// Batching begins, with this many operations expected, or ends; the latter sends what is held.
  void set_batching(bool on, std::size_t total_ops);

  /// Whether an operation of `n` bytes at most kLargestPut on `pe` may go into a packet.
  bool batches(int pe) {
    return batching_.load(std::memory_order_acquire) && pe != carrier_.me() && !follows_direct();
  }

  /// Packs one operation.  `operands` has head.length bytes; `result` may be null.  Waits for room.
  void append(int pe, const RecordHead& head, const void* operands, const Awaited* result);

  /// To be called before an operation goes the direct way: waits for what a fence has put ahead of it.
  void before_direct(int pe) {
    if (pending_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wait_for_fenced(pe);
  }

  /// Sends what is held towards `pe`, as soon as the window permits.
  void flush_to(int pe);
  /// The same for all PEs: packets opened at `limit` or before.
  void flush(std::int64_t limit);
  /// When the oldest packet wants to leave; kNever if none is held.
  std::int64_t next_deadline() const { return deadline_.load(std::memory_order_relaxed); }

  /// As in NetOps.
  bool fence();
  // Acquire: pairs with the release in acknowledge().
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0 && inner_->ops->idle(inner_); }
  bool idle_to(int pe) const {
    return lane(pe).pending.load(std::memory_order_acquire) == 0 && inner_->ops->idle_to(inner_, pe);
  }

  /// The target has applied the oldest packet that was not acknowledged; `results` of n bytes.  Handler: does
  /// not wait.  The channel may be closed as soon as this has lowered its counters.
  void acknowledge(int pe, const std::byte* results, std::size_t n);

 private:
  // Packets are numbered from 0: [0, acked) are applied, [acked, closed) under way, `closed` is being filled.
  struct Lane {
    std::unique_ptr<Packet> open;  // null: nothing is held
    std::uint64_t closed = 0, acked = 0;
    std::uint64_t barrier = 0;  // packets below precede the last fence
    std::uint64_t fences = 0;   // of the channel, when `barrier` was computed
    bool sending = false;       // a thread is sending a packet: the next must stay behind it
    bool wanted = false;        // `open` is to leave as soon as it can
    std::array<std::vector<Awaited>, kWindow> results;
    std::atomic<std::uint32_t> pending{0};  // packets not acknowledged, the open one included
  };
  // In the order of opening.  Void once packet `number` has left.
  struct Held {
    int pe;
    std::uint64_t number;
    std::int64_t opened;
  };

  Lane& lane(int pe) const { return lanes_[static_cast<std::size_t>(pe)]; }
  bool follows_direct();
  void wait_for_fenced(int pe);

  // With the lock.  make_room() drops it for a moment.
  void open(int pe, Lane& lane);
  std::unique_ptr<Packet> close(Lane& lane);
  void make_room(int pe, Lane& lane, WaitWatch& watch);
  void note_fence(Lane& lane);
  std::unique_ptr<Packet> take_wanted(Lane& lane) { return lane.wanted ? close(lane) : nullptr; }
  void set_deadline();

  // Without.
  void transmit(int pe, std::unique_ptr<Packet> packet);
  void want(int pe);
  void pause(int pe, WaitWatch& watch);

  Carrier& carrier_;
  Channel* const inner_;
  const int npes_;
  SpinLock lock_;
  std::unique_ptr<Lane[]> lanes_;
  std::vector<std::unique_ptr<Packet>> spare_;
  std::deque<Held> held_;
  std::size_t expected_ = SIZE_MAX;  // operations of the session still to come
  std::uint64_t fences_ = 0;
  std::atomic<std::int64_t> deadline_{kNever};
  std::atomic<bool> batching_{false};
  std::atomic<bool> direct_fenced_{false};  // a fence has put direct operations ahead of what follows
  // Packets not acknowledged, and packets being sent: until then somebody uses the channel.
  std::atomic<std::uint32_t> pending_{0};
};

}  // namespace shm::batch

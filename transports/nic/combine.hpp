// SPDX-License-Identifier: BSD-3-Clause
// The initiator's end: a channel that packs small operations, one flow per node that it packs for.
//
// Thread safety: any thread, unless it says otherwise.  lock_ guards the flows; it is held for a copy into a
// packet and never while the inner network posts or polls, so handlers may take it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/backoff.hpp"
#include "base/epochs.hpp"
#include "base/mutex.hpp"
#include "base/spin.hpp"
#include "base/wait_report.hpp"
#include "net.hpp"
#include "nic/issuers.hpp"
#include "nic/packet.hpp"

namespace shm::nic {

/// Packets of a flow that may be under way or not yet acknowledged.
inline constexpr std::uint64_t kWindow = 8;

/// A packet that is held for longer is sent by whoever polls (nanoseconds).
inline constexpr std::int64_t kLongestHold = 1'000'000;
inline constexpr std::int64_t kNever = INT64_MAX;

/// Operations in a row that went the direct way because of a fence, after which a fence waits, so that the
/// next are packed again.
inline constexpr int kMostDiverted = 16;

/// Nanoseconds of the steady clock.
std::int64_t clock_now();

/// Counts a packet that leaves.
void count_packet(Leaves why, std::size_t bytes);

/// Where the packets for a PE go: to the PE that executes them, with the node rank of their target on its
/// node.
struct alignas(16) Route {
  int executor;
  unsigned node_rank;
  unsigned flow;  // one for each executor
};

/// The word of a record that goes that way.
constexpr std::uint64_t record_word(const Route& way, RemoteAddress at, std::uint8_t code,
                                    AtomicType type = {}, bool result = false) {
  return encode({at.offset, way.node_rank, at.segment, type, code, result, false});
}

class NicNetwork;

/// What a channel packs.
enum class Packing : std::uint8_t {
  nothing,  // but what the inner network does not support
  atomics,  // which leave as soon as their node has answered what was sent before
  all,      // puts and gets too
  batches,  // a session: the same, and packets leave when they are full
};

class Combiner final : public Channel, private Issuer {
 public:
  Combiner(NicNetwork& nic, const NetOps* table, Channel* inner, Packing packing);
  ~Combiner();

  NicNetwork& nic() const { return nic_; }
  Channel* inner() const { return inner_; }

  /// Changes what is packed, with this many operations expected; what is held by then leaves.
  void set_packing(Packing packing, std::size_t total_ops);

  /// Whether a put, or an atomic, to `pe` may go into a packet.
  bool packs_puts(int pe) { return packs_all() && pe != me_ && !follows_direct(); }
  /// A fence does not order gets.
  bool packs_gets(int pe) const { return packs_all() && pe != me_; }
  bool packs_atomics(int pe) {
    return packing_.load(std::memory_order_acquire) != Packing::nothing && pe != me_ && !follows_direct();
  }
  /// Whether puts may be in packets now.
  bool packs_all() const { return packing_.load(std::memory_order_acquire) >= Packing::all; }
  bool packs_any() const { return packing_.load(std::memory_order_relaxed) != Packing::nothing; }
  /// Whether nothing that a packet to `pe` would have to stay behind is under way.
  bool fresh(int pe) const { return flow_to(pe).pending.load(std::memory_order_acquire) == 0; }

  /// The PE that must act before what is pending towards the node of `pe` is complete.
  int waits_for(int pe) const {
    const LockGuard guard(lock_);
    const int detour = flow_to(pe).detour;
    return detour >= 0 ? detour : route(pe).executor;
  }

  /// Packs one operation; waits for room.  0 < n <= kLargestPacked.
  void put(int pe, RemoteAddress to, const void* source, std::size_t n);
  /// A put where is_put_word().  Returns whether anything but the packet has changed.
  bool put_word(int pe, RemoteAddress at, std::uint64_t value, std::size_t n) {
    const Route& way = route(pe);
    Flow& to = flows_[way.flow];
    const std::uint64_t word = record_word(way, at, kPutWordCode, put_word_type(n));
    lock_.lock();
    const std::uint64_t ordered = begin(way.executor, to, kSmallestRecord);
    to.open->add_put_word(word | ordered, value, n);
    return end(way.executor, to);
  }
  /// The same where nothing but the packet changes, as for nearly all of a stream.  It calls nothing, so no
  /// register has to be kept.  Returns whether it did.  REQUIRES: `pe` is not this PE.
  [[gnu::always_inline]] bool put_word_quickly(int pe, RemoteAddress at, std::uint64_t value, std::size_t n) {
    return quickly(pe, &Combiner::steady_puts_, kSmallestRecord, [&](Packet& packet, const Route& way) {
      packet.add_put_word(record_word(way, at, kPutWordCode, put_word_type(n)), value, n);
      return true;
    });
  }
  /// Returns whether anything but the packet has changed.
  bool get(int pe, void* dest, RemoteAddress from, std::size_t n, Completion* completion = nullptr);
  /// As put_word_quickly().  REQUIRES: is_short_get(n).
  [[gnu::always_inline]] bool get_quickly(int pe, void* dest, RemoteAddress from, std::size_t n) {
    return quickly(pe, &Combiner::steady_puts_, kSmallestRecord, [&](Packet& packet, const Route& way) {
      if (!packet.has_room_for_result()) return false;
      packet.add_get(record_word(way, from, kGetCode, {}, true), from.offset, n);
      packet.results.push_back({dest, nullptr, n});
      return true;
    });
  }
  /// A put, and an atomic on a word of 64 bits that is executed after it: in one packet, so that what is
  /// alone travels once.
  /// Returns whether anything but the packet has changed.
  bool put_signal(int pe, RemoteAddress to, const void* source, std::size_t n, RemoteAddress at, AtomicOp op,
                  std::uint64_t value);
  /// The same of a word, as put_word_quickly().
  [[gnu::always_inline]] bool put_signal_quickly(int pe, RemoteAddress to, const void* source, std::size_t n,
                                                 RemoteAddress at, AtomicOp op, std::uint64_t value) {
    return quickly(pe, &Combiner::steady_puts_, 2 * kSmallestRecord, [&](Packet& packet, const Route& way) {
      const AtomicType type = put_word_type(n);
      packet.add_put_word(record_word(way, to, kPutWordCode, type), bits(source, type), n);
      packet.add_update(record_word(way, at, code_of(op), AtomicType::u64), value);
      return true;
    });
  }
  /// All blocks, in records of up to kStridedData bytes.  REQUIRES: is_better_strided().
  void put_strided(int pe, RemoteAddress to, const std::byte* source, const Strides& s);
  void get_strided(int pe, std::byte* dest, RemoteAddress from, const Strides& s);
  /// An atomic whose old value goes to `result`.
  [[gnu::always_inline]] void fetch(int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                    std::uint64_t value, std::uint64_t compare, const Awaited& result) {
    const Route& way = route(pe);
    Flow& to = flows_[way.flow];
    const std::uint64_t word = record_word(way, at, code_of(op), type, true);
    lock_.lock();
    const std::uint64_t ordered = begin(way.executor, to, atomic_record(op));
    to.open->add_fetch(word | ordered, op, value, compare);
    to.open->results.push_back(result);
    end(way.executor, to);
  }
  /// The same for a thread that waits elsewhere, and that may close the channel as soon as it has the result.
  void fetch_for_another(int pe, RemoteAddress at, AtomicOp op, AtomicType type, std::uint64_t value,
                         std::uint64_t compare, const Awaited& result);
  /// One that nobody waits for.  Returns whether anything but the packet has changed.
  [[gnu::always_inline]] bool update(int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                     std::uint64_t value) {
    const Route& way = route(pe);
    Flow& to = flows_[way.flow];
    const std::uint64_t word = record_word(way, at, code_of(op), type);
    lock_.lock();
    const std::uint64_t ordered = begin(way.executor, to, kSmallestRecord);
    if (ordered != 0 || !to.open->combine(word, op, value)) to.open->add_update(word | ordered, value);
    return end(way.executor, to);
  }
  /// The same as put_word_quickly().
  [[gnu::always_inline]] bool update_quickly(int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                             std::uint64_t value) {
    return quickly(pe, &Combiner::steady_atomics_, kSmallestRecord, [&](Packet& packet, const Route& way) {
      const std::uint64_t word = record_word(way, at, code_of(op), type);
      if (!packet.combine(word, op, value)) packet.add_update(word, value);
      return true;
    });
  }

  /// To be called before an operation goes the direct way: waits for what a fence has put ahead of it.
  /// `diverted`: it would have been packed but for a fence.
  void before_direct(int pe, bool diverted) {
    if (direct_fenced_.load(std::memory_order_relaxed)) [[unlikely]]
      diverted_.store(diverted ? diverted_.load(std::memory_order_relaxed) + 1 : 0,
                      std::memory_order_relaxed);
    if (!pending_.idle()) [[unlikely]]
      wait_for_fenced(pe);
  }
  /// To be called before an atomic is packed which cannot go the direct way, if packs_atomics() says no.
  void wait_for_direct();

  /// Sends what is held towards the node of `pe`, as soon as the window permits.
  void flush_to(int pe);
  /// The same for all: packets opened at `limit` or before.
  void flush(std::int64_t limit, Leaves why = Leaves::wanted);
  /// When the oldest packet wants to leave; kNever if none is held.
  std::int64_t next_deadline() const { return deadline_.load(std::memory_order_relaxed); }

  /// As in NetOps.
  bool fence();
  bool idle() const { return pending_.idle() && inner_->ops->idle(inner_); }
  bool drained(Drain& wait) {
    const bool packets = pending_.drained(wait.packets);  // also begins that wait, whatever the wire says
    return shm::drained(inner_, wait) && packets;
  }
  bool idle_to(int pe) const { return fresh(pe) && inner_->ops->idle_to(inner_, pe); }

 private:
  // Packets are numbered from 0: [0, acked) are applied, [acked, closed) under way, `closed` is being filled.
  // Guarded by lock_, all but `pending`.  `watched` implies that there is an open packet.
  struct Flow {
    std::unique_ptr<Packet> open;  // null: nothing is held
    std::uint64_t closed = 0, acked = 0;
    std::uint64_t barrier = 0;  // see barrier()
    std::uint64_t fences = 0;   // of the channel, when `barrier` was computed
    bool sending = false;       // a thread is sending a packet: the next must stay behind it
    bool wanted = false;        // `open` is to leave as soon as it can
    bool watched = false;       // `open` is in held_
    int detour = -1;  // PE that the one packet under way goes to instead of the executor: none may follow
    std::array<std::vector<Awaited>, kWindow> results;
    std::array<std::uint8_t, kWindow> epochs{};  // of pending_, in which they were opened
    std::atomic<std::uint32_t> pending{0};       // packets not acknowledged, the open one included
  };
  // In the order of holding.  Void once packet `number` has left.
  struct Held {
    int executor;
    std::uint64_t number;
    std::int64_t since;
  };

  Flow& flow(int executor) const { return flows_[route(executor).flow]; }
  const Route& route(int pe) const { return routes_[pe]; }
  Flow& flow_to(int pe) const { return flows_[route(pe).flow]; }
  bool follows_direct() { return direct_fenced_.load(std::memory_order_relaxed) && still_follows_direct(); }
  bool still_follows_direct();
  void wait_for_fenced(int pe);
  void acknowledge(int pe, const std::byte* results, std::size_t n) override;

  // Records of blocks that lie `step` apart there: calls add(packet, word, shape, blocks in records before).
  template <class Add>
  void add_strided(int pe, RemoteAddress at, const Strides& s, std::ptrdiff_t step, std::uint8_t code,
                   std::size_t (*room)(std::size_t bytes), Add add);

  // make_room() drops the lock for a moment, end() for good.
  //
  // begin() finds room for a record of `size` bytes in the open packet; it returns kOrderedBit if a fence was
  // between it and what the packet has.
  std::uint64_t begin(int executor, Flow& to, std::size_t size) REQUIRES(lock_) {
    if (to.open != nullptr && !to.open->has_room(size)) [[unlikely]]
      make_room(executor, to, size);
    const bool ordered = note_fence(to) && to.open != nullptr;
    if (to.open == nullptr) [[unlikely]]
      open(to);
    return ordered ? kOrderedBit : 0;
  }
  // After a change of what it depends on.
  void find_steady() REQUIRES(lock_) {
    const bool steady = !direct_fenced_.load(std::memory_order_relaxed) && expected_ == SIZE_MAX;
    steady_puts_ = steady && packs_all();
    steady_atomics_ = steady && packs_any();
  }
  // Whether the next records, of n bytes, have room in the open packet, follow no fence, and just stay. There
  // is a record in it then.  `steady`: of their kind.
  bool will_stay(const Flow& to, bool steady, std::size_t n) const REQUIRES(lock_) {
    return steady && to.fences == fences_ && to.watched && !to.wanted && !leaves_alone(to) &&
           to.open->has_room(n + kSmallestRecord);
  }
  // Calls add(packet, way) where the lock is free and the next records, of n bytes, will just stay; it may
  // decline, and returns whether it did not.  Returns whether they have been added.  `steady`: the flag of
  // their kind.
  template <class Add>
  [[gnu::always_inline]] bool quickly(int pe, const bool Combiner::*steady, std::size_t n, Add add) {
    if (!lock_.take_if_free()) [[unlikely]]
      return false;
    const Route& way = route(pe);
    Flow& to = flows_[way.flow];
    const bool stays = will_stay(to, this->*steady, n) && add(*to.open, way);
    lock_.unlock();
    return stays;
  }
  // Returns whether the record did not just stay in its packet.
  bool end(int executor, Flow& to) RELEASE(lock_) {
    const bool stays = to.watched && !to.wanted && !leaves_alone(to) && to.open->has_room(kSmallestRecord);
    if (!stays || expected_ != SIZE_MAX) [[unlikely]] {
      end_slowly(executor, to);
      return true;
    }
    lock_.unlock();
    return false;
  }
  // Whether a packet that is not full leaves, as its node has answered all that came before it.
  bool leaves_alone(const Flow& of) const REQUIRES(lock_) {
    return of.closed == of.acked && packing_.load(std::memory_order_relaxed) != Packing::batches;
  }
  [[gnu::noinline]] void end_slowly(int executor, Flow& to) RELEASE(lock_);
  void open(Flow& flow) REQUIRES(lock_);
  [[gnu::noinline]] void make_room(int executor, Flow& flow, std::size_t size) REQUIRES(lock_);
  void hold(int executor, Flow& flow) REQUIRES(lock_);
  std::unique_ptr<Packet> close(int executor, Flow& flow) REQUIRES(lock_);
  std::unique_ptr<Packet> take_ready(int executor, Flow& flow) REQUIRES(lock_);
  // Packets below this precede the last fence: all that a flow has, if it is not used since.
  std::uint64_t barrier(const Flow& of) const REQUIRES(lock_) {
    return of.fences == fences_ ? of.barrier : of.closed + (of.open != nullptr ? 1 : 0);
  }
  // Only for who adds a record next, with the lock held until then: it is the one that follows the fence.
  // Returns whether the flow has not been used since the last fence.
  bool note_fence(Flow& of) const REQUIRES(lock_) {
    if (of.fences == fences_) [[likely]]
      return false;
    of.barrier = barrier(of);
    of.fences = fences_;
    return true;
  }
  void set_deadline() REQUIRES(lock_);

  static void count_contents(const Packet& packet);
  static void settle(int pe, const std::vector<Awaited>& waiting, const std::byte* results, std::size_t n);
  void transmit(int executor, std::unique_ptr<Packet> packet) EXCLUDES(lock_);
  void want(int executor) EXCLUDES(lock_);
  struct Pause {
    WaitWatch watch{};
    Backoff backoff{};
  };
  void pause(int executor, Pause& between) EXCLUDES(lock_);
  void pause(const WaitReason& reason, Pause& between) EXCLUDES(lock_);

  NicNetwork& nic_;
  const std::uint64_t name_;  // in issuers()
  Channel* const inner_;
  const int me_;
  const Route* const routes_;
  mutable SpinLock lock_;
  std::unique_ptr<Flow[]> flows_;
  std::vector<std::unique_ptr<Packet>> spare_ GUARDED_BY(lock_);
  std::deque<Held> held_ GUARDED_BY(lock_);
  std::size_t expected_ GUARDED_BY(lock_) = SIZE_MAX;  // operations of the session still to come
  std::uint64_t fences_ GUARDED_BY(lock_) = 0;
  // Puts and gets, or atomics, are packed, nothing direct is ahead of a fence, and a session does not count:
  // see find_steady().
  bool steady_puts_ GUARDED_BY(lock_) = false, steady_atomics_ GUARDED_BY(lock_) = false;
  std::atomic<std::int64_t> deadline_{kNever};
  std::atomic<Packing> packing_;
  std::atomic<bool> direct_fenced_{false};  // a fence has put direct operations ahead of what follows
  Drain fenced_ GUARDED_BY(lock_);          // of these operations
  // Operations in a row that were not packed because of that.  Only a rate: other threads' may be lost.
  std::atomic<int> diverted_{0};
  // Packets not acknowledged, and threads of others that send: until then somebody uses the channel.
  Epochs pending_;
};

}  // namespace shm::nic

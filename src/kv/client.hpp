// SPDX-License-Identifier: BSD-3-Clause
// Requests of this PE to other nodes: gathered into packets, completed by replies.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "core/address.hpp"
#include "kv/members.hpp"
#include "kv/request.hpp"
#include "kv/wire.hpp"

namespace shm::kv {

/// What awaits a reply, and where its result goes.  Lives until done() or, if `mine`, until the reply comes.
struct Outstanding {
  int* status = nullptr;  // may be null, as the two that follow
  void* value = nullptr;
  std::size_t* n = nullptr;                         // set where the status is OK, or one that tells a length
  bool mine = false;                                // of Client: made by new
  bool gives = false;                               // a value: by issue(), as what follows but for `left`
  bool by_rma = false;                              // or where it is
  std::uint32_t weight = 0;                         // of under_way
  std::uint32_t room = 0;                           // bytes of the value that the reply may bring
  std::atomic<std::uint64_t>* left = nullptr;       // counted down last; null: quiet() waits for it
  std::atomic<std::uint64_t>* under_way = nullptr;  // of its target
  std::atomic<std::uint64_t>* handle = nullptr;     // counted down, too: Handle::left
  std::int32_t pe = 0;                              // who is asked, and alone may answer
  std::uint32_t arrived = 0;                        // bytes of a reply that comes in pieces
};

/// PEs are members of the table (kv/members).  Thread safety: all of it.
class Client {
 public:
  /// A table that has one number on all PEs of the world.
  Client(std::uint32_t table, unsigned npes);
  /// One of a team: whom each member is, and the table's number there.
  Client(const Members& members, const std::vector<MemberShard>& told);
  ~Client() { set_holds(false); }

  /// Puts the request into the packet for `pe`; keys and values are copied.  May wait for room, polling.
  /// `reply_bytes`: of the reply's value at most.
  void issue(Call call, int pe, const KvRequest& request, std::uint64_t reply_bytes, Outstanding& pending);
  /// Sends a packet with a run of `count` requests, behind what has been gathered for `pe`.  May wait for
  /// room.
  void send_run(Call call, int pe, const std::byte* packet, std::size_t n, std::uint32_t count);
  /// Puts the run, of `n` bytes from its RunHead on, into the packet for `pe`.  May wait for room.
  void gather_run(Call call, int pe, const std::byte* run, std::size_t n, std::uint32_t count);
  /// So many of them have been answered.
  void answered(int pe, std::uint32_t count) {
    targets_[static_cast<std::size_t>(pe)].under_way.fetch_sub(count, std::memory_order_relaxed);
  }

  /// Starts what has been gathered for `pe`, or for all.
  void flush(int pe);
  void flush();

  /// Waits for a thread that is in quiet() still, though all has been answered.  Not under a lock that
  /// polling takes.  REQUIRES: nothing is under way, or will be.
  void rest();
  /// Gives its packets up.  REQUIRES: nobody polls it, and rest() has returned.
  void end();

  /// Waits until `left` is 0.  `pe`: whom of the world for, or WaitRecord::kNobody.
  static void wait(Call call, const std::atomic<std::uint64_t>& left, int pe);

  /// Waits for what was issued before, without anybody who waits for it.
  void quiet(Call call);
  /// Sends what has waited for kLongestHold in its packet; returns whether it has sent anything.  Neither
  /// waits nor polls.
  bool send_held();
  /// Whether anything may wait so, here or in any table of this PE.
  bool holds() const { return holds_.load(std::memory_order_seq_cst); }
  static bool any_holds() { return holding.load(std::memory_order_acquire) != 0; }
  /// Something that quiet() has to wait for, until what is returned is passed to end_unattended().
  std::atomic<std::uint64_t>* begin_unattended();
  static void end_unattended(std::atomic<std::uint64_t>* counter) {
    all_unattended.fetch_sub(1, std::memory_order_release);
    counter->fetch_sub(1, std::memory_order_release);
  }
  /// Whether quiet() of some table of this PE would wait.
  static bool any_unattended() { return all_unattended.load(std::memory_order_acquire) != 0; }

  /// Sends what has been gathered; returns whether nothing is under way.
  bool test();
  bool is_quiet() const {
    return unattended_[0].load(std::memory_order_acquire) == 0 &&
           unattended_[1].load(std::memory_order_acquire) == 0;
  }
  /// Its number for packets to `pe`.
  std::uint32_t table_at(int pe) const { return targets_[static_cast<std::size_t>(pe)].table; }
  /// Whether `pe` has answered all that it was asked, by any thread.
  bool is_idle_to(int pe) const {
    return targets_[static_cast<std::size_t>(pe)].under_way.load(std::memory_order_acquire) == 0;
  }
  std::uint64_t packets() const { return packets_.load(std::memory_order_relaxed); }

  /// A packet of replies has come, or of a piece of one, whose head has been looked at.  Runs in a handler.
  /// Ends the job, naming the PE, if it cannot be meant (kv/message_check).
  static void take(int from, const std::byte* packet, std::size_t n, KvPacketHead::Kind kind);

 private:
  /// What is under way to one PE, in requests and KiB of them and their replies: bounds what waits there and
  /// here for room.
  static constexpr std::uint64_t kMostUnderWay = 16384;
  /// How long a request waits in its packet for others: as long as a packet takes there and back.
  static constexpr std::chrono::microseconds kLongestHold{50};

  struct Target {
    Mutex mutex;  // held while its packets are sent, so that they stay in order; no handler takes it
    std::unique_ptr<std::byte[]> packet GUARDED_BY(mutex);
    std::size_t used GUARDED_BY(mutex) = 0;
    std::uint32_t in_runs GUARDED_BY(mutex) = 0;  // requests; 0: those in the packet are no runs
    // When send_held() first saw what is in the packet; the clock's zero: it has not.
    std::chrono::steady_clock::time_point seen GUARDED_BY(mutex);
    std::atomic<std::uint64_t> under_way{0};  // weights
    int pe = 0;                               // of the world
    std::uint32_t table = 0;                  // its number there
  };
  /// The head of a packet, if there is none.
  static void begin(Target& target, KvPacketHead::Kind kind) REQUIRES(target.mutex);
  /// There may be something in a packet from now on.
  void hold();
  /// Into the packet, or where it is too long for one, away in pieces.
  template <class Write>
  void gather(Target& target, std::size_t size, Write write) REQUIRES(target.mutex);
  void make_room(Call call, int pe, Target& target) EXCLUDES(target.mutex);
  void send(Target& target) REQUIRES(target.mutex);
  void count_packet();
  void send_pieces(const Target& target, const std::byte* request, std::size_t n);
  static void take_replies(int from, const std::byte* packet, std::size_t n);
  static void take_reply_piece(int from, const std::byte* packet, std::size_t n);

  std::vector<Target> targets_;
  // What was issued in even epochs, and in odd ones.  quiet() begins the next epoch, so that what other
  // threads issue meanwhile does not keep it.
  std::atomic<std::uint64_t> unattended_[2]{};
  std::atomic<unsigned> epoch_{0};
  Mutex quiet_mutex_;  // an epoch lasts until all of the one before it is done
  std::atomic<std::uint64_t> packets_{0};
  /// Returns whether it was so.
  bool set_holds(bool holds);
  std::atomic<bool> holds_{false};
  static std::atomic<std::uint64_t> all_unattended, holding;
};

}  // namespace shm::kv

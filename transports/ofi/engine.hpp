// SPDX-License-Identifier: BSD-3-Clause
// What the operations and the poller share: the lock, the pools, the peers, and the queue of arrived
// messages.
//
// One per endpoint: the first is the one that peers know, the others carry data of contexts (lanes.hpp).
//
// Thread safety: two locks.  lock_ guards the endpoint and all members; it is held for one provider call and
// its bookkeeping.  poller_ is held by the one thread in poll(), handlers included, so that messages are
// delivered in order; it is taken before lock_ and never waited for. Who waits for whom: post() waits for
// room, reaping completions itself, so it needs no other thread of this process.  A message that a handler
// sends never waits, nor does what goes by a channel that defers: with no room it goes to deferred_, which
// the next poll() posts; so two PEs that flood each other cannot block each other.
#pragma once

#include <rdma/fi_errno.h>

#include <chrono>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/backoff.hpp"
#include "base/mutex.hpp"
#include "base/random.hpp"
#include "base/spin.hpp"
#include "base/stats.hpp"
#include "base/wait_report.hpp"
#include "net.hpp"
#include "ofi/endpoint.hpp"
#include "ofi/inbox.hpp"
#include "ofi/memory.hpp"
#include "ofi/op.hpp"
#include "ofi/reception.hpp"
#include "ofi/slab.hpp"

namespace shm::ofi {

/// How a line ends that says what became of operations on a peer.
inline constexpr const char kLost[] = "it has died, or the connection to it broke";

class Engine {
 public:
  /// Largest put with `copy`.
  static constexpr std::size_t kCopyLimit = 4096;

  /// `max_transfer`: see FabricOptions.  `first`: the engine that peers know, which outlives this one; null
  /// for that one itself.
  Engine(std::unique_ptr<Endpoint> endpoint, std::size_t max_transfer, Engine* first = nullptr);
  ~Engine();

  /// Lets peers write short messages into this process where that is faster; returns what they must know of
  /// it (size 0: it is not).  Once, before connect(), on the engine that peers know.
  Result<RemoteSegment> open_inbox(std::size_t rings = Inbox::kRings);

  /// Inserts all addresses, registers the pools, and posts the receives unless there is no sink: messages go
  /// over the first engine.  Once, before any operation.
  Status connect(int me, int npes, Network::AddressLookup lookup,
                 MessageSink sink) NO_THREAD_SAFETY_ANALYSIS;  // nobody else uses it yet

  /// What an operation needs to describe itself to the provider.  Calls on the endpoint need the lock.
  Endpoint& endpoint() { return *endpoint_; }
  const Endpoint& endpoint() const { return *endpoint_; }
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }
  int me() const { return me_; }
  int npes() const { return static_cast<int>(peers_.size()); }
  /// What each message to this engine must carry, but for those in the inbox.
  std::uint64_t cookie() const { return cookie_; }
  std::size_t max_transfer() const { return max_transfer_; }
  const Peer& peer(int pe) const { return peers_[static_cast<std::size_t>(pe)]; }

  /// Whether puts and atomics stay behind earlier puts without any help.
  bool fence_is_free() const { return fence_is_free_; }

  /// As in Network.
  bool poll();
  bool in_flight() const NO_THREAD_SAFETY_ANALYSIS { return ops_.in_use() != 0; }  // any thread: see Slab
  std::size_t buffers_in_use() const NO_THREAD_SAFETY_ANALYSIS {                   // for tests; any thread
    return small_.in_use() + large_.in_use();
  }
  std::uint32_t polls() const { return polls_.load(std::memory_order_relaxed); }  // so far; wraps
  bool needs_poll() const { return backlog_.load(std::memory_order_relaxed); }
  bool may_block();
  long max_block_us() const { return block_limit_us_.load(std::memory_order_relaxed); }
  Silence silence_of(int pe, double period);
  /// Tells which PEs share the node: they are not asked for signs of life.
  void join_node(std::span<const int> pes);
  /// As in Network.
  void watch_room(RoomWatch watch) { watch_room_ = std::move(watch); }
  /// Adds the names of those that something was injected to, with "or" between; see broken_inject.hpp.
  [[gnu::cold]] void name_injected(std::string& names) const;

  /// A record for an operation to `pe`, counted as outstanding, and the lock.  Polls while the peer's credits
  /// or the records are used up.  Fill it in and pass it to post().
  Op* begin(OfiChannel* channel, int pe, OpKind kind, Completion* completion) ACQUIRE(lock_);

  /// Points the operation at a bounce buffer of at least n bytes.  Lock held; returns null if there is none.
  void* take_buffer(Op* op, std::size_t n) REQUIRES(lock_);

  /// As take_buffer(), but polls until there is one.
  void* wait_buffer(Op* op, std::size_t n) REQUIRES(lock_);

  /// Calls `attempt`, which posts to the provider and returns its code, until it is accepted.  Drops the
  /// lock.
  template <class Attempt>
  void post(Op* op, Attempt attempt) RELEASE(lock_) {
    long code = attempt();
    for (Stall stall{op->pe, op->kind}; code == -FI_EAGAIN; code = attempt()) wait_room(stall);
    lock_.unlock();
    count(Stat::posts);
    if (code != 0) [[unlikely]]
      fail_post(*op, code);
  }

  /// rma.cpp: posts a transfer of a channel that defers.
  void transfer(const Transfer& transfer) EXCLUDES(lock_);

  /// The lock that begin() takes, for annotations.
  SpinLock& lock() RETURN_CAPABILITY(lock_) { return lock_; }

  /// message.cpp: as in NetOps.  Header and payload go as one message, copied.
  void send(OfiChannel* channel, int pe, std::uint16_t id, const void* message, std::size_t n);

  /// Where address `at` of `pe` lies on the wire.  Ends the job if [at, at + n) is not within the segment:
  /// over tcp a bad address would take the whole connection down.
  const RemoteSegment& check(int pe, RemoteAddress at, std::size_t n, const char* what) const {
    const RemoteSegment& segment = peer(pe).segments[static_cast<std::size_t>(at.segment)];
    if (n > segment.size || at.offset > segment.size - n) [[unlikely]]
      fail_range(pe, at, n, what);
    return segment;
  }

 private:
  // The list, which is about to get an entry that waits for a poll.
  template <class List>
  List& backlog(List& list) {
    backlog_.store(true, std::memory_order_relaxed);
    return list;
  }

  static constexpr int kReceives = 64;
  static constexpr std::uint32_t kMessageCredits = 32;
  static constexpr std::uint8_t kMostOvertaken = 6;  // probes, at least half a second apart
  static constexpr std::uint8_t kMostAnswers = 3;

  // Receives that are always posted: a sender's burst lands in them while a handler runs.
  // kMessageCredits of one PE leave buffers to the others when it stalls.

  // completion.cpp.  wait_room() drops the lock for a moment.
  bool reap() REQUIRES(lock_);
  void complete(Op* op) REQUIRES(lock_);
  void release(Op* op) REQUIRES(lock_);
  struct Stall {
    int pe;
    OpKind kind;
    int tries = 0;
    std::chrono::steady_clock::time_point since{};  // the peer has done nothing, or the wait has lasted
    std::uint64_t life = 0;                         // of the peer, then
    WaitWatch watch{};
    Backoff backoff{};
  };
  void wait_room(Stall& stall) REQUIRES(lock_);
  [[gnu::cold]] void check_connection(int pe, OpKind kind, std::chrono::steady_clock::time_point since) const
      REQUIRES(lock_);
  [[gnu::cold]] void look_after(Stall& stall) EXCLUDES(lock_);
  [[gnu::cold]] void look_for_descriptors(const Stall& stall) const EXCLUDES(lock_) NO_THREAD_SAFETY_ANALYSIS;
  void report_error() REQUIRES(lock_);
  [[noreturn, gnu::cold]] void fail_post(const Op& op, long code) const;
  [[noreturn, gnu::cold]] void fail_range(int pe, RemoteAddress at, std::size_t n, const char* what) const;

  // watch.cpp.  Called when operations are in flight and nothing happens.
  void watch() REQUIRES(lock_);
  bool probe(int pe) REQUIRES(lock_);

  // liveness.cpp.
  struct SignOfLife {
    std::chrono::steady_clock::time_point looked{};  // for one, last
    std::chrono::duration<double> silent{};  // since one was seen, as far as this process has listened
    std::uint64_t seen = 0;                  // life_of(), then
    bool awaited = false;                    // it is to be asked, or has been
    bool asked = false;                      // the provider has taken the question
  };
  std::uint64_t life_of(int pe) const REQUIRES(lock_);
  double listen(int pe, double period, std::chrono::steady_clock::time_point now, bool may_ask)
      REQUIRES(lock_);

  // message.cpp.
  Status post_receives() REQUIRES(lock_);
  bool post_receive(Receive* receive) REQUIRES(lock_);
  void post_again(Receive* receive) REQUIRES(lock_) {
    if (!post_receive(receive)) backlog(unposted_).push_back(receive);
  }
  [[gnu::cold]] void refuse(Receive* receive) REQUIRES(poller_) EXCLUDES(lock_);
  bool deliver() REQUIRES(poller_) EXCLUDES(lock_);
  void deliver_ordinary(Receive* receive) REQUIRES(poller_) EXCLUDES(lock_);
  [[noreturn, gnu::cold]] void messages_are_missing(const MessageHeader& header,
                                                    std::uint16_t expected) const;
  void defer(Deferred later) REQUIRES(lock_);
  // Whether a poll may post something that waits.
  bool may_post_deferred() const REQUIRES(lock_) {
    return !unposted_.empty() || (!deferred_.empty() && deferred_may_go_);
  }
  bool lacks_own_room(const Deferred& it) const REQUIRES(lock_);
  [[gnu::cold]] void look_at(Deferred& it) const REQUIRES(lock_);
  bool post_deferred() REQUIRES(lock_);
  bool try_transfer(const Transfer& transfer) REQUIRES(lock_);  // rma.cpp
  bool try_send(OfiChannel* channel, int pe, std::uint16_t id, const void* payload, std::size_t n)
      REQUIRES(lock_);
  bool write_inbox(int pe, const MessageHeader& header, const void* payload, std::size_t n) REQUIRES(lock_);
  long inject_write(int pe, const void* bytes, std::size_t n, std::uint64_t to);  // with lock_ held
  void tell_grants() REQUIRES(poller_, lock_);
  // These two by who has poller_, through functions of Inbox, which do not know the lock.
  void run_handler(const MessageHeader& header, const std::byte* payload, std::size_t n) EXCLUDES(lock_);
  [[gnu::cold]] void serve(int pe, std::uint16_t id) EXCLUDES(lock_);

  bool has_credit(const Peer& peer, OpKind kind) const {
    return peer.outstanding < credits_ && (kind != OpKind::message || peer.messages < kMessageCredits);
  }
  Op* take_op(OfiChannel* channel, int pe, OpKind kind, Completion* completion) REQUIRES(lock_);
  // With fewer operations than this in flight, a provider without room is one without a connection.
  bool busy() const REQUIRES(lock_) { return ops_.in_use() >= 512; }

  Engine* const first_;  // null: this is the first

  // The order of closing: see ~Engine().
  std::unique_ptr<Endpoint> endpoint_;
  Memory memory_;
  SpinLock lock_;
  SpinLock poller_ ACQUIRED_BEFORE(lock_);
  std::uint32_t credits_;
  bool fence_is_free_;
  std::size_t max_transfer_;
  const std::uint64_t cookie_ = random_number();
  int me_ = -1;
  MessageSink sink_ = nullptr;
  RoomWatch watch_room_ = nullptr;
  std::vector<Peer> peers_;

  Inbox inbox_;  // open if the provider's row says so
  Reception reception_ GUARDED_BY(poller_){inbox_, cookie_};
  Slab ops_ GUARDED_BY(lock_);       // Op
  Slab small_ GUARDED_BY(lock_);     // bounce buffers of kCopyLimit
  Slab large_ GUARDED_BY(lock_);     // bounce buffers of kMessageBuffer
  Slab incoming_ GUARDED_BY(lock_);  // receive buffers
  std::vector<Receive> receives_;
  bool refused_ GUARDED_BY(poller_) = false;          // a message, and said so
  std::vector<Receive*> arrived_ GUARDED_BY(lock_);   // in order of arrival, handlers not yet run
  std::vector<Receive*> unposted_ GUARDED_BY(lock_);  // handlers run, provider had no room
  std::deque<Deferred> deferred_ GUARDED_BY(lock_);   // in order per PE
  // One of these is new, the provider had no room for it, or something has completed since all were tried.
  bool deferred_may_go_ GUARDED_BY(lock_) = false;
  bool grants_owed_ GUARDED_BY(lock_) = false;  // provider had no room for a grant
  std::atomic<bool> backlog_{false};            // something waits for a poll; may say so a poll too long
  std::deque<Deferred> to_self_ GUARDED_BY(lock_);
  std::uint32_t round_ GUARDED_BY(lock_) = 0;
  std::atomic<std::uint32_t> polls_{0};  // written with poller_

  // watch.cpp.
  std::atomic<long> block_limit_us_{-1};
  std::chrono::steady_clock::time_point watched_ GUARDED_BY(lock_){};  // when watch() looked last
  std::unique_ptr<OfiChannel> own_;  // of probes, and of the engine's own messages
  std::unordered_map<int, SignOfLife> signs_ GUARDED_BY(lock_);  // by PE, of those that were waited for
  int asked_last_ GUARDED_BY(lock_) = 0;
  std::atomic<bool> joined_{false};  // join_node() was called: this is the network of the PEs
};

}  // namespace shm::ofi

// SPDX-License-Identifier: BSD-3-Clause
// The network as the core sees it: how data, atomics and messages reach PEs whose memory is not mapped here.
//
// Two parts.  Network is the set-up interface, virtual because it is off every fast path.  Channel with its
// flat NetOps table is the data interface: one predictable indirect call before the wire.  A decorator (the
// software NIC, the faulty network of the tests) is a Network that opens channels of its own with its own
// table and holds the inner channel.
//
// Nothing here blocks.  Every operation is posted and completes later; the core waits, by polling the
// network, because only the core knows how to wait (spin, yield, block) and what else must make progress
// meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_op.hpp"
#include "base/epochs.hpp"
#include "base/silence.hpp"
#include "base/status.hpp"
#include "base/strides.hpp"

namespace shm {

class WaitWatch;

/// Address ranges that every PE has and that the network can reach.  Values index tables.
enum class SegmentId : std::uint8_t {
  heap,
  statics,
  pool,  // what the node keeps of the NVM heap, if there is one; for puts only
  lent,  // of memory servers: what they lend
};
inline constexpr int kSegments = 4;

/// A place in a segment of another PE: byte offset from that PE's own base of the segment.
struct RemoteAddress {
  SegmentId segment;
  std::uint64_t offset;
};

/// Set to true, once, by whoever polls the network, when the operation it was passed to has completed.  Lives
/// until then, usually on the stack of the waiting call.  The release store pairs with done()'s acquire load:
/// what the operation wrote (a get's data, a fetched value) is visible to the thread that saw it done.
class Completion {
 public:
  bool done() const { return done_.load(std::memory_order_acquire); }
  void set_done() { done_.store(true, std::memory_order_release); }
  /// For another operation.  REQUIRES: none is under way.
  void reset() { done_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> done_{false};
};

/// What a session promises about a channel: many small operations (`batch`), `total_ops` of them if it knows.
struct BatchHint {
  bool batch = false;
  std::size_t total_ops = SIZE_MAX;
};

/// One wait of a thread for what is outstanding on a channel when it begins; each network of those around
/// each other has a part.
struct Drain {
  Epochs::Wait operations;  // on the wire
  Epochs::Wait packets;     // of the software NIC
};

struct Channel;

/// An atomic operation, in one register.
struct AtomicKind {
  AtomicOp op;
  AtomicType type;
};

/// What has become of an operation that the network may decline.
enum class Taken : std::uint8_t {
  no,     // nothing has been done
  stays,  // it has been taken, and Network::needs_poll() need not be asked
  yes,
};

/// Operations on one channel.  All may be called by any thread; all return at once, but may poll the network
/// while the provider has no room.  An operation counts as outstanding until it is complete AT THE TARGET: a
/// put's data are visible there, an atomic has been applied, a get's data have arrived here.  `completion`
/// may be null: the operation is then only found complete by idle().  Errors end the job (fatal()).
struct NetOps {
  /// Stores n bytes at `to` on `pe`.  With `copy`, `source` may be reused on return (REQUIRES: n <=
  /// Network::copy_limit()); without, it must stay until the operation is complete.
  void (*put)(Channel*, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy, Completion*);

  /// Fetches n bytes at `from` on `pe` into `dest`.
  void (*get)(Channel*, int pe, void* dest, RemoteAddress from, std::size_t n, Completion*);

  /// Applies `op`; operands are copied before return.  A fetching operation passes `fetch`, which stays in
  /// use until completion; others pass null.  REQUIRES: natural alignment, is_defined(op, type).
  void (*amo)(Channel*, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
              const void* compare, void* fetch, Completion*);

  /// Has handler `id` (core/progress) run at `pe` with a copy of n bytes.  Messages of one channel to one PE
  /// are delivered in order.  They are not ordered with atomics, and with puts as messages_follow_puts()
  /// says. Complete when `message` may be changed and the network delivers it as long as this process makes
  /// progress: who needs to know that it has arrived awaits an answer. REQUIRES: n <= kMaxMessage.
  void (*send)(Channel*, int pe, std::uint16_t id, const void* message, std::size_t n);

  /// Starts everything that the channel holds back (batches).  Called before any wait for idleness.
  void (*flush)(Channel*);

  /// Whether nothing is outstanding: on the channel, or on the channel towards `pe`.
  bool (*idle)(const Channel*);
  bool (*idle_to)(const Channel*, int pe);

  /// Orders puts and atomics issued before the call ahead of those issued after it, per target (shmem_fence).
  /// Returns false where the wire gives no such promise: the caller must then wait for idleness instead.
  bool (*fence)(Channel*);

  /// Tells what the program is going to do, until the next hint.  Changes speed only.  Null: hints are of no
  /// use.
  void (*hint)(Channel*, const BatchHint&) = nullptr;

  /// Whether a message that is sent from now on, by any common channel, is delivered to its PE after the data
  /// of all puts to that PE that were issued before, and their sources are read no more once it has been
  /// delivered.  Null: the wire gives no such promise.
  bool (*messages_follow_puts)(const Channel*) = nullptr;

  /// The PE that must act before what is outstanding towards `pe` is complete, for reports of waits.  Null:
  /// `pe`.
  int (*waits_for)(const Channel*, int pe) = nullptr;

  /// Whether all that was outstanding on the channel at the first call with this wait is complete: other
  /// threads may go on issuing.  After flush() it will be.  Null: only idle() tells.
  bool (*drained)(Channel*, Drain&) = nullptr;

  /// A put of one element of 4 or 8 bytes, the lower ones of `value`, which is in a register.  Returns
  /// whether Network::needs_poll() is to be asked, as after all other operations.  Null: put() does it.
  /// REQUIRES: to.offset is a multiple of 4; `pe` is not this PE.
  bool (*put_word)(Channel*, int pe, RemoteAddress to, std::uint64_t value, std::size_t n) = nullptr;

  /// Puts or gets of all blocks of a strided transfer, as if by one put, with `copy`, or one get for each,
  /// and no completion.  They return false, and have done nothing, where the caller had better do that. Null:
  /// always.  REQUIRES: blocks and block not 0.
  bool (*put_strided)(Channel*, int pe, RemoteAddress to, const std::byte* source, const Strides&) = nullptr;
  bool (*get_strided)(Channel*, int pe, std::byte* dest, RemoteAddress from, const Strides&) = nullptr;

  /// A put of n > 0 bytes, with `copy`, and an atomic without result on a word of 64 bits, which is executed
  /// after it.  Taken::no where the caller had better put, fence and do the atomic.  Null: always.
  /// REQUIRES: `pe` is not this PE.
  Taken (*put_signal)(Channel*, int pe, RemoteAddress to, const void* source, std::size_t n,
                      RemoteAddress word, AtomicOp, std::uint64_t value) = nullptr;

  /// A get of at most 16 bytes, and an atomic of one operand without a result, the lower bytes of
  /// `value`: both without a completion.  They return what put_word() does.  Null: get() and amo() do it.
  /// REQUIRES: `pe` is not this PE.
  bool (*get_element)(Channel*, int pe, void* dest, RemoteAddress from, std::size_t n) = nullptr;
  bool (*update)(Channel*, int pe, RemoteAddress at, AtomicKind, std::uint64_t value) = nullptr;

  /// As flush(), of what is held back towards `pe`: before a wait for that PE alone.  Null: flush() does it.
  void (*flush_to)(Channel*, int pe) = nullptr;
};

/// A stream of operations that completes on its own: one per OpenSHMEM context.  Implementations derive.
struct Channel {
  const NetOps* ops;
};
inline void flush_to(Channel* channel, int pe) {
  if (channel->ops->flush_to == nullptr) return channel->ops->flush(channel);
  channel->ops->flush_to(channel, pe);
}
inline bool drained(Channel* channel, Drain& wait) {
  return channel->ops->drained != nullptr ? channel->ops->drained(channel, wait)
                                          : channel->ops->idle(channel);
}

/// Which small operations travel many in a packet, and are executed by the software NIC of the target's node;
/// from one value to the next there are more.
enum class Packed : std::uint8_t {
  nothing,      // in sessions neither
  in_sessions,  // all, but only within sessions with SHMEM_CTX_SESSION_BATCH
  atomics,      // and in sessions all
  all,          // puts and nonblocking gets too
};

/// What a channel is for, so that a network can give it resources of its own.
enum class ChannelUse : std::uint8_t {
  common,    // what all threads of the PE share: the default context
  library,   // the library's own: messages follow its puts, if the wire gives that promise
  service,   // likewise, for who must go on: put() without `copy`, get() and send() never wait.  What finds
             // no room is posted by a later poll, in their order.  put() with `copy` and amo() may wait, and
             // overtake what does
  parallel,  // a stream that a thread drives while other threads drive theirs
};

/// Which PEs share memory.  A PE's node rank is its index among the PEs of its node.
struct Placement {
  struct Peer {
    int node;
    unsigned node_rank;
  };
  std::vector<Peer> peers;                // of all PEs of the job
  std::vector<std::vector<int>> members;  // PEs of each node, by node rank

  /// The next PE is on `node`.  REQUIRES: members has an entry for it.
  void add(int node) {
    std::vector<int>& there = members[static_cast<std::size_t>(node)];
    const auto pe = static_cast<int>(peers.size());
    peers.push_back({node, static_cast<unsigned>(there.size())});
    there.push_back(pe);
  }
};

/// The same, for a network that serves a node as a whole.
struct NodeMap : Placement {
  struct Segment {
    std::byte* base = nullptr;
    std::size_t size = 0;
  };
  using Segments = std::array<Segment, kSegments>;  // indexed by SegmentId

  std::vector<Segments> segments;  // of the PEs of this node, by node rank, as mapped in this process
  std::vector<std::byte*>
      shared_slots;  // of these PEs: kSharedSlotsBytes each, of zeros, which all of them map
};
inline constexpr std::size_t kSharedSlotsBytes = 16384;

/// Largest payload of a message: 16 KiB and what the sender writes before it.
inline constexpr std::size_t kMaxMessage = 16512;

/// Message numbers from here on are the decorators', which take them out of the stream; the core's are below.
inline constexpr std::uint16_t kFirstDecoratorMessage = 0xff00;

/// Called on whichever thread polls.  REQUIRES of the handler: it does not wait and does not poll; it may
/// send.
using MessageSink =
    std::function<void(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n)>;

/// Called now and then by a thread that waits until `pe` has room for an operation, with since when it does.
/// It does not poll, and may end the job.  `watch` is that wait's.
using RoomWatch = std::function<void(int pe, std::chrono::steady_clock::time_point since, WaitWatch& watch)>;

/// One network of a process.  Thread safety: set-up from one thread; poll() from any, at any time.
class Network {
 public:
  virtual ~Network() = default;

  /// What carries the data, for SHMEM_INFO and error messages ("libfabric tcp;ofi_rxm").
  virtual std::string describe() const = 0;

  /// Makes a local range reachable as `id`.  Before address(); the range stays for the life of the process.
  virtual Status add_segment(SegmentId id, void* base, std::size_t size) = 0;

  /// What a peer needs to reach this process, at most kMaxAddress bytes; exchanged by boot.
  virtual Result<std::vector<std::byte>> address() = 0;

  /// Gives the addresses of all PEs: `lookup(pe)` returns what that PE's address() returned (stable memory),
  /// or nothing if this process will have nothing to do with it.  Connections are made on first use.  `me` is
  /// this PE; messages from a PE carry its number.
  using AddressLookup = std::span<const std::byte> (*)(int pe);
  virtual Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) = 0;

  /// Tells who shares memory with whom; after connect(), before the first operation.  Most networks need not
  /// know.
  virtual void join_node(const NodeMap&) {}

  /// Who waits for room calls `watch`, from now on, instead of asking that peer for signs of life.  Before
  /// the first operation.
  virtual void watch_room(RoomWatch) {}

  /// Channels live until close_channel(), which REQUIRES idle().
  virtual Channel* open_channel(ChannelUse use = ChannelUse::common) = 0;
  virtual void close_channel(Channel*) = 0;

  /// Makes progress once: reaps completions, runs message handlers.  Returns whether anything happened.
  /// Returns false at once when another thread is polling.  What the calling thread posted or flushed last is
  /// looked at each time, other threads' parallel channels now and then.
  virtual bool poll() = 0;

  /// For a thread that has nothing else to do: a descriptor that becomes readable when poll() has work, and
  /// whether it is safe to block on it now (false: poll again first).  may_block() may itself store what a
  /// peer sent or complete operations: look again at what you wait for between it and blocking.  The
  /// descriptor is the calling thread's: ask anew after each may_block().
  virtual int wait_fd() const = 0;
  virtual bool may_block() = 0;

  /// Whether something that was posted waits for a poll() that nothing else will announce: the core then
  /// wakes whoever blocks.  Cheap; asked after each operation.
  virtual bool needs_poll() const { return false; }

  /// The agent will call max_block_us() before it sleeps, or looks away for 200 us while other threads poll:
  /// needs_poll() may say no until then.
  virtual void will_be_polled() {}

  /// Longest time to block on wait_fd(), in microseconds, where some events (a first connection, a batch that
  /// gets too old) do not wake it; negative: no limit.  Asked by the agent only, just before it blocks.
  virtual long max_block_us() const { return -1; }

  /// A thread of this PE is about to block on wait_fd(), or does not any more.  It may wait for what others
  /// store in its memory, and looks once more between begin_sleep() and blocking.  REQUIRES: paired.
  virtual void begin_sleep() {}
  virtual void end_sleep() {}

  /// Starts what all channels hold back: a thread of this PE begins to wait, perhaps for the answer to it.
  virtual void flush_all() {}

  /// A thread waits for `pe`, or, with Silence::kAnyPe, for somebody: asks it for a sign of life, unless it
  /// has given one within `period` seconds, and says how long one has been owed, by the one that owes it
  /// longest. Counts the time between calls, at most a second of each.  Any thread.  A network that cannot
  /// lose a peer says 0.
  virtual Silence silence_of(int, double /*period*/) { return {}; }

  /// Whether gets are served by the target's NIC alone, so that a few of them, one after the other, had
  /// better read what a message would ask that PE for.
  virtual bool reads_alone() const { return false; }

  /// Whether the pages of segments stay where they are once they have been added: the network has their
  /// physical addresses, so pages that are given back are not those that peers write to from then on.
  virtual bool pins_segments() const { return false; }

  /// Largest put with `copy`.
  virtual std::size_t copy_limit() const = 0;

  /// Whether amo() supports the pair, in one atomicity domain with the CPUs of the target's node.  The
  /// software NIC supports all that is defined.
  virtual bool supports(AtomicOp op, AtomicType type, bool fetching) const = 0;

  /// What is better packed for the software NIC (nic/nic.hpp) than sent one by one over this network: where
  /// SHMEM_PACK=auto.
  virtual Packed prefers_packed() const { return Packed::atomics; }
};

inline constexpr std::size_t kMaxAddress = 232;

}  // namespace shm

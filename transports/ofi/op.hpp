// SPDX-License-Identifier: BSD-3-Clause
// The record of one operation in flight, the channel it belongs to and the PE it goes to.
#pragma once

#include <rdma/fabric.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "net.hpp"
#include "ofi/memory.hpp"
#include "ofi/ring.hpp"
#include "ofi/slab.hpp"

namespace shm::ofi {

class Engine;
class Lanes;

/// One channel.  The counters are raised by the thread that posts, before it posts, and lowered by the thread
/// that polls, with a release that pairs with the acquire of who looks: who sees 0 sees what the operations
/// wrote.
struct OfiChannel : Channel {
  OfiChannel(Lanes* owner, int number, bool never_waits, const NetOps* table, int npes)
      : Channel{table},
        lanes(owner),
        lane(number),
        defers(never_waits),
        to(std::make_unique<std::atomic<std::uint32_t>[]>(npes)) {}

  Lanes* const lanes;  // null for the engine's own
  const int lane;      // its data go over this one; see lanes.hpp
  const bool defers;   // what finds no room is posted by a later poll, rather than that the caller waits
  Epochs outstanding;
  std::atomic<std::uint64_t> atomics{0};             // of these, atomics: see fence()
  std::unique_ptr<std::atomic<std::uint32_t>[]> to;  // of these, per PE
};

/// What we know of a PE.  Under the engine's lock after connect().
struct Peer {
  fi_addr_t address = FI_ADDR_UNSPEC;
  RemoteSegments segments{};
  std::uint32_t outstanding = 0;     // operations of all channels, messages included
  std::uint32_t messages = 0;        // of these, messages
  std::uint32_t atomics = 0;         // ... and atomics
  std::uint32_t deferred = 0;        // messages and transfers not yet posted
  std::uint32_t undeferred = 0;      // of these, posted since, ever; wraps
  std::uint32_t round = 0;           // last round in which one of these could not be posted
  RemoteSegment inbox{};             // where short messages are written, see inbox.hpp
  std::uint64_t cookie = 0;          // that it wants to see in others
  RingCursor ring;                   // ... from here on
  std::uint16_t sequence = 0;        // of the next message
  bool reached = false;              // an operation to it has completed
  bool neighbour = false;            // of this node
  bool injected = false;             // something has been written to its inbox or its table of grants
  bool probing = false;              // watch.cpp's probe is in flight
  std::uint8_t refused = 0;          // probes that the provider had no connection for, in a row
  std::uint8_t overtaken = 0;        // probes answered since another transfer was posted or completed
  std::uint8_t answers = 0;          // kAnswers since then
  std::uint32_t completed = 0;       // operations, ever
  std::uint32_t completed_then = 0;  // when watch() looked last
  std::uint32_t life = 0;            // transfers that it has completed, messages that came the ordinary way
};

enum class OpKind : std::uint8_t { put, get, atomic, message, receive };

/// A transfer longer than the provider takes at once: shared by its parts, freed with the last.
struct Split {
  std::size_t parts;
  Completion* completion;
};

/// A put or a get, or a part of one.
struct Transfer {
  OfiChannel* channel;
  int pe;
  OpKind kind;
  RemoteAddress at;
  std::byte* local;
  std::size_t n;
  Completion* completion;  // may be null
  Split* split;            // null: it is whole
};

/// One posted operation.  Owned by the provider from the post to the completion entry that names it, else by
/// the engine.  The provider's scratch area comes first: the entry's op_context is the address of the record.
struct Op {
  fi_context2 context;
  OfiChannel* channel;
  Completion* completion;  // may be null
  Split* split;            // null: the operation is whole
  void* fetch;             // where an atomic's old value goes; may be null
  void* buffer;            // bounce buffer to give back, or null
  Slab* pool;              // ... to this pool
  fid_mr* temporary;       // registration to close, or null
  std::int32_t pe;
  OpKind kind;
  std::uint8_t width;  // of the atomic's operands
  std::uint8_t epoch;  // of OfiChannel::outstanding

  /// Operands and result of an atomic, or the bytes of a short copied put.  In a registered pool if need be.
  static constexpr std::size_t kInline = 64;
  alignas(16) std::byte inlined[kInline];
  std::byte* value() { return inlined; }
  std::byte* compare() { return inlined + 8; }
  std::byte* result() { return inlined + 16; }
};

/// Head of every message.  An inbox takes it as it is: who can write there knows the inbox's key.
struct MessageHeader {
  std::int32_t from_pe;
  std::uint16_t id;
  std::uint16_t sequence;  // counts the messages from one PE to another; wraps
};
static_assert(sizeof(MessageHeader) == 8);

/// Head of a message that comes the ordinary way, which is open to all who reach the endpoint.
struct Envelope {
  std::uint64_t cookie;  // the receiver's, see PeerAddress
  MessageHeader header;
};
static_assert(sizeof(Envelope) == 16);

/// Messages of the engine itself: nobody else's have such numbers.  They never go to an inbox.  README.md: "A
/// ring is recalled", "Signs of life".
inline constexpr std::uint16_t kAsk = 0xfffc, kAnswer = 0xfffd, kRecall = 0xfffe, kReturned = 0xffff;
inline constexpr std::uint16_t kFirstOfEngine = kAsk;

inline constexpr std::size_t kMessageBuffer = 16640;
static_assert(sizeof(Envelope) + kMaxMessage <= kMessageBuffer);

/// A receive buffer: `op.context` is what the provider returns.
struct Receive {
  Op op;
  std::byte* data;
  std::size_t length;
};

/// What could not be posted as there was no room, of those that do not wait: a message of a handler, or of a
/// channel that defers, or a transfer of such a channel.
struct Deferred {
  OfiChannel* channel;
  int pe;
  std::uint16_t id;
  std::vector<std::byte> payload;
  std::optional<Transfer> transfer;               // else it is a message
  unsigned epoch = 0;                             // of OfiChannel::outstanding
  std::chrono::steady_clock::time_point since{};  // ... it has been deferred, or the peer has shown life
  std::uint32_t life = 0;                         // of the peer, then

  OpKind kind() const { return transfer ? transfer->kind : OpKind::message; }
};

}  // namespace shm::ofi

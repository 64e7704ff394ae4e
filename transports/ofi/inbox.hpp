// SPDX-License-Identifier: BSD-3-Clause
// Short messages by remote write: the sender writes them into a ring in the receiver's memory, which the
// receiver looks at when it polls.
//
// Over tcp;ofi_rxm a received message is a completion, and the provider announces each to itself with a write
// to and a read from a socket; a remote write that asks for no completion is one system call here and one
// there.  README.md has what it brings.
//
// Protocol.  The first message to a PE goes the ordinary way.  Its receiver, if it has a ring left, grants it
// to the sender: it writes a Grant into the sender's table.  Entries are written in the order of the stream
// and stored in ascending order of address, so an entry is complete when its last byte is there.  The
// receiver clears what it has read and tells the sender so now and then, in the same Grant.  What does not
// fit goes the ordinary way; MessageHeader::sequence keeps the order.  A ring that is hardly used is recalled
// for a sender that has none (README.md).
//
// Invariants: 1. live bytes of a ring (written, and not known to be cleared) < RingCursor::kBytes;
//             2. bytes of a ring that are not live are 0, so the head behind the last entry says "nothing
//             yet".
// Thread safety: as each function says; lock_ and poller_ are the engine's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "ofi/op.hpp"
#include "ofi/ring.hpp"

namespace shm::ofi {

/// An entry: the size of the message, the message with its header, padding, and a last byte that is not 0.
struct InboxEntry {
  static constexpr std::size_t kHead = sizeof(std::uint64_t);
  static constexpr std::byte kEnd{1};
  static constexpr std::size_t size(std::size_t message) {
    return (kHead + message + 1 + 7) & ~std::size_t{7};
  }
  static constexpr std::size_t kLargestMessage = RingCursor::kLargestEntry - kHead - 1;

  /// Writes the entry of header and payload to `to`, which has room for size(...) bytes.
  static void write(std::byte* to, const MessageHeader& header, const void* payload, std::size_t n) {
    const std::uint64_t message = sizeof header + n;
    const std::size_t all = size(message);
    std::memset(to + all - 8, 0, 8);
    std::memcpy(to, &message, sizeof message);
    std::memcpy(to + kHead, &header, sizeof header);
    if (n != 0) std::memcpy(to + kHead + sizeof header, payload, n);
    to[all - 1] = kEnd;
  }
};
static_assert(InboxEntry::size(InboxEntry::kLargestMessage) == RingCursor::kLargestEntry);

class Inbox {
 public:
  /// PEs with higher numbers use the ordinary way; so do senders without a ring.  There are few, since each
  /// poll looks at each.
  static constexpr std::size_t kMostPes = 65536;
  static constexpr std::size_t kRings = 64;
  /// A sender has sent so many messages the ordinary way, and the one with the ring none, when it is
  /// recalled.
  static constexpr unsigned kWorthARing = 16;

  Inbox() = default;
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Reserves the memory, to be registered for remote writes: tables first, then rings.  Pages come as they
  /// are used.  Returns whether there is room.  `rings`: as many as are used.
  bool open(std::size_t rings = kRings);
  bool is_open() const { return base_ != nullptr; }
  void* base() const { return base_; }
  static constexpr std::size_t bytes() { return kMostPes * sizeof(Grant) + kRings * kStride; }

  /// Offsets in a peer's memory: of the grant that `pe` gives it, of a ring that it has granted.
  static constexpr std::uint64_t grant_offset(int pe) {
    return static_cast<std::uint64_t>(pe) * sizeof(Grant);
  }
  static constexpr std::uint64_t ring_offset(std::uint64_t ring) {
    return kMostPes * sizeof(Grant) + (ring - 1) * kStride;
  }

  /// What `pe` has granted to us.  With lock_ held.
  Grant granted_by(int pe) const {
    Grant grant;
    if (static_cast<std::size_t>(pe) >= kMostPes) return grant;
    std::memcpy(&grant, base_ + grant_offset(pe), sizeof grant);
    return grant;
  }

  /// Looks which entries are complete.  Returns whether any waits to be taken.  With lock_ held: all that
  /// stores there holds it.
  bool survey();

  /// Bytes that `pe` has written into its ring and survey() has seen; 0: it has none.  With lock_ held.
  std::uint64_t seen_from(int pe) const {
    const auto index = static_cast<std::size_t>(pe);
    const std::size_t ring = index < ring_of_.size() ? ring_of_[index] : 0;
    return ring == 0 ? 0 : rings_[ring - 1].seen.passed();
  }

  /// Lets deliver() see what the last survey() found.  With both locks held.
  void take();

  /// Forgets what `pe` has granted: it wants its ring back.  With lock_ held.
  void forget(int pe) {
    if (static_cast<std::size_t>(pe) < kMostPes) std::memset(base_ + grant_offset(pe), 0, sizeof(Grant));
  }

  /// A message from `pe` has come the ordinary way: gives it a ring, if one is free.  Returns the PE to ask
  /// for its ring instead, or kNobody.  With both locks held.
  static constexpr int kNobody = -1;
  int welcome(int pe);

  /// `pe` has been asked, and will not write to its ring any more; what it has written is delivered.  With
  /// both locks held.
  void returned(int pe);

  /// Runs `handle(header, payload, n)` for taken entries of `pe` while they are the next in `sequence`, which
  /// is counted up.  With poller_ held, without lock_.
  template <class Handle>
  void deliver(int pe, std::uint16_t& sequence, const Handle& handle) {
    const std::size_t index =
        ring_of_.size() > static_cast<std::size_t>(pe) ? ring_of_[static_cast<std::size_t>(pe)] : 0;
    if (index != 0) deliver(rings_[index - 1], sequence, handle);
  }
  /// The same for all PEs: `sequence_of(pe)` gives the reference.  Returns whether there was any.
  template <class SequenceOf, class Handle>
  bool deliver_all(const SequenceOf& sequence_of, const Handle& handle) {
    bool any = false;
    for (std::size_t i = 0; i < open_rings_; ++i) {
      if (rings_[i].pe != kNobody) any |= deliver(rings_[i], sequence_of(rings_[i].pe), handle);
    }
    return any;
  }

  /// Runs `write(pe, grant)` for all grants that should be told; it returns false if there is no room.
  /// Returns whether all were told.  With both locks held.
  template <class Write>
  bool tell(const Write& write) {
    bool all = true;
    for (std::size_t i = 0; i < open_rings_; ++i) {
      Ring& ring = rings_[i];
      if (ring.pe == kNobody || i + 1 == recalled_) continue;
      if (ring.told && ring.read.passed() - ring.cleared_told < RingCursor::kBytes / 4) continue;
      const bool told = write(ring.pe, Grant{i + 1, ring.read.passed()});
      all &= told;
      if (!told) continue;
      ring.told = true;
      ring.cleared_told = ring.read.passed();
    }
    return all;
  }

 private:
  static constexpr std::size_t kStride = RingCursor::kBytes + RingCursor::kLargestEntry;

  struct Ring {
    int pe = kNobody;  // whose it is
    std::byte* base = nullptr;
    RingCursor seen;  // lock_: behind the last complete entry
    // The rest: poller_.
    RingCursor read;
    std::uint64_t taken = 0;  // seen.passed() at take()
    std::uint64_t cleared_told = 0;
    std::uint64_t last_used = 0;  // of messages_
    bool told = false;
  };
  // A sender without a ring: its messages, and when it sent the first of them.
  struct Wish {
    unsigned messages = 0;
    std::uint64_t since = 0;  // of messages_
  };
  static constexpr std::size_t kMostWishes = 1024;

  [[noreturn, gnu::cold]] static void refuse(int pe);
  void give(std::size_t index, int pe);
  int whom_to_ask(int pe);

  template <class Handle>
  bool deliver(Ring& ring, std::uint16_t& sequence, const Handle& handle) {
    bool any = false;
    while (ring.read.passed() != ring.taken) {
      std::byte* entry = ring.base + ring.read.offset();
      std::uint64_t message = 0;
      std::memcpy(&message, entry, sizeof message);
      // It may have been written again since survey() found it whole, and may be at any time: what is looked
      // at, and used, is a copy.
      const std::size_t size = InboxEntry::size(message);
      if (message < sizeof(MessageHeader) || message > InboxEntry::kLargestMessage ||
          size > ring.taken - ring.read.passed()) [[unlikely]]
        refuse(ring.pe);
      alignas(8) std::byte copy[InboxEntry::kLargestMessage];
      std::memcpy(copy, entry + InboxEntry::kHead, message);
      MessageHeader header;
      std::memcpy(&header, copy, sizeof header);
      if (header.from_pe != ring.pe) [[unlikely]]
        refuse(ring.pe);
      if (header.sequence != sequence) break;  // a message that came the ordinary way is due first
      ++sequence;
      handle(header, copy + sizeof header, message - sizeof header);
      std::memset(entry, 0, size);
      ring.read.advance(size);
      any = true;
    }
    if (any) ring.last_used = ++messages_;
    return any;
  }

  std::byte* base_ = nullptr;
  std::size_t open_rings_ = 0;  // written with both locks: read with either
  std::array<Ring, kRings> rings_;
  // The rest: poller_.
  std::size_t rings_used_ = kRings;
  std::vector<std::uint8_t> ring_of_;  // 1 + number, by PE; 0: none.  Written with both locks
  std::size_t recalled_ = 0;           // 1 + number of the ring that is to come back; 0: none
  std::uint64_t messages_ = 0;         // times at which messages were delivered: counts, as a clock
  std::unordered_map<int, Wish> wishes_;
};

}  // namespace shm::ofi

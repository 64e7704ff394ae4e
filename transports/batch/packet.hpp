// SPDX-License-Identifier: BSD-3-Clause
// What a packet of operations looks like, and the reply to it.  Both ends run the same library on the same
// kind of machine: numbers are in the machine's own form.
//
//   packet   0        8        12       16
//            +--------+--------+--------+----------------+----------------+-- ...
//            | channel| records| results| record         | record         |
//            +--------+--------+--------+----------------+----------------+-- ...
//
//   record   0        8        12  13   14   15   16
//            +--------+--------+---+----+----+----+------------------------------+
//            | offset | length |seg|code|type|wait| length bytes, padded to 8    |
//            +--------+--------+---+----+----+----+------------------------------+
//            code 0: a put of `length` bytes.  Else an atomic, 1 + AtomicOp: the operand in 8 bytes, the
//            value to compare with in 8 more; none for a fetch.  wait: 1 if the old value goes into the
//            reply.
//
//   reply    0        8        16
//            +--------+--------+--------+-- ...
//            | channel| result | result |   8 bytes for each record that waits, in order
//            +--------+--------+--------+-- ...
//
// `channel` is the initiator's word for what the packet belongs to; the target only returns it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "net.hpp"

namespace shm::batch {

inline constexpr std::uint16_t kPacketId = kFirstDecoratorMessage;
inline constexpr std::uint16_t kReplyId = kFirstDecoratorMessage + 1;

struct PacketHead {
  std::uint64_t channel;
  std::uint32_t records;
  std::uint32_t results;
};
static_assert(sizeof(PacketHead) == 16);

struct RecordHead {
  std::uint64_t offset;
  std::uint32_t length;
  SegmentId segment;
  std::uint8_t code;
  AtomicType type;
  std::uint8_t waits;
};
static_assert(sizeof(RecordHead) == 16);
static_assert(offsetof(RecordHead, segment) == 12 && offsetof(RecordHead, waits) == 15);

struct ReplyHead {
  std::uint64_t channel;
};

inline constexpr std::uint8_t kPutCode = 0;
inline std::uint8_t code_of(AtomicOp op) { return static_cast<std::uint8_t>(1 + static_cast<int>(op)); }
inline AtomicOp op_of(std::uint8_t code) { return static_cast<AtomicOp>(code - 1); }

/// Largest put that is batched: longer ones gain nothing that their second copy would not take away.
inline constexpr std::size_t kLargestPut = 1024;
/// A packet with less room than this is full: no put of 8 bytes, no add.
inline constexpr std::size_t kSmallestRecord = sizeof(RecordHead) + 8;
inline constexpr std::size_t kMostRecords = (kMaxMessage - sizeof(PacketHead)) / sizeof(RecordHead);
static_assert(sizeof(ReplyHead) + kMostRecords * 8 <= kMaxMessage,
              "the results of a packet fit into one reply");

/// Bytes of a record with `length` bytes of operands.
constexpr std::size_t record_size(std::size_t length) { return sizeof(RecordHead) + (length + 7) / 8 * 8; }
static_assert(sizeof(PacketHead) + record_size(kLargestPut) <= kMaxMessage);

/// Where the old value of an atomic goes (null: nowhere), and who waits for it (null: nobody).
struct Awaited {
  void* fetch;
  Completion* completion;
  std::size_t width;
};

/// A packet that is being filled.
struct Packet {
  std::array<std::byte, kMaxMessage> bytes;
  std::size_t size = sizeof(PacketHead);
  std::uint32_t records = 0, puts = 0;
  std::uint64_t put_bytes = 0;
  std::vector<Awaited> results;

  bool has_room(std::size_t record) const { return size + record <= bytes.size(); }

  /// REQUIRES: has_room(record_size(head.length)).
  void add(const RecordHead& head, const void* operands) {
    std::memcpy(bytes.data() + size, &head, sizeof head);
    std::memcpy(bytes.data() + size + sizeof head, operands, head.length);
    size += record_size(head.length);
    ++records;
    if (head.code != kPutCode) return;
    ++puts;
    put_bytes += head.length;
  }

  /// Writes the head: the packet is ready to leave.
  void finish(std::uint64_t channel) {
    const PacketHead head{channel, records, static_cast<std::uint32_t>(results.size())};
    std::memcpy(bytes.data(), &head, sizeof head);
  }

  void clear() {
    size = sizeof(PacketHead);
    records = puts = 0;
    put_bytes = 0;
    results.clear();
  }
};

}  // namespace shm::batch

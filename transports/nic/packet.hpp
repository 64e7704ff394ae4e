// SPDX-License-Identifier: BSD-3-Clause
// What a packet of operations looks like, and the reply to it.  Both ends run the same library on the same
// kind of machine: numbers are in the machine's own form.
//
//   packet   0        8        12       16
//            +--------+--------+--------+----------------+----------------+-- ...
//            | issuer | records| results| record         | record         |     results: words of the reply
//            +--------+--------+--------+----------------+----------------+-- ...
//
//   record   0                                                8            16
//            +------------------------------------------------+------------+------------+
//            | word                                           | operand    | compare    |  an atomic
//            +------------------------------------------------+------------+------------+
//            | word                                           | low, length| bytes, padded to 8 ...  a put
//            +------------------------------------------------+------------+--------------------------
//            | word                                           | low, length|                         a get
//            +------------------------------------------------+------------+
//            | word                                           | element    |         a put of 4 or 8 bytes
//            +------------------------------------------------+------------+
//            | word                                           | shape      | data, padded ...  strided put
//            +------------------------------------------------+------------+--------------------------
//            | word                                           | shape      |                   strided get
//            +------------------------------------------------+------------+
//            A fetch has no operand, only a compare-and-swap has two; each takes 8 bytes, whatever its width.
//
//   word     63                       20 19        10  9   8   7   6    4 3    0
//            +--------------------------+------------+---+---+---+------+------+
//            | offset / 4               | node rank  |seg|ord|res| type | op   |
//            +--------------------------+------------+---+---+---+------+------+
//            op     0: a put, 11: a get, 12: a put of a word, whose type is u32 or u64, 13, 14: strided,
//                   else 1 + AtomicOp: four bits, as in the MSHRs of RAE (section III-D)
//            res    the old value goes into the reply; of gets always
//            ord    all records before it in the packet are to be visible before it: a fence was between
//            node rank of the target PE among those of its node; kReceiver: the PE that receives the packet
//            low    the two low bits of the offset of a put or get, in bits 32 and 33 above its length
//                   in bytes
//
//   shape    63                       28 27        13 12         2 1    0
//            +--------------------------+------------+------------+------+
//            | step in bytes            | blocks     | their bytes| low  |
//            +--------------------------+------------+------------+------+
//            of a strided put or get: the data are those of all blocks, whose starts are `step` apart
//
//   reply    0        8        16
//            +--------+--------+--------+-- ...
//            | issuer | result | result |
//            +--------+--------+--------+-- ...
//            for each record with `res`, in order: 8 bytes, of a get as many as it asks for, padded to 8
//
// `issuer` is the initiator's name for what the packet belongs to (issuers.hpp); the target only returns it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "net.hpp"

namespace shm::nic {

inline constexpr std::uint16_t kPacketId = kFirstDecoratorMessage;
inline constexpr std::uint16_t kReplyId = kFirstDecoratorMessage + 1;
/// Says nothing; wakes who sleeps.
inline constexpr std::uint16_t kNudgeId = kFirstDecoratorMessage + 2;

struct PacketHead {
  std::uint64_t issuer;
  std::uint32_t records;
  std::uint32_t results;
};
static_assert(sizeof(PacketHead) == 16);
static_assert(offsetof(PacketHead, records) == 8 && offsetof(PacketHead, results) == 12);

struct ReplyHead {
  std::uint64_t issuer;
};
static_assert(sizeof(ReplyHead) == 8);

inline constexpr unsigned kNodeRankBits = 10;
inline constexpr unsigned kReceiver = (1u << kNodeRankBits) - 1;
inline constexpr std::uint8_t kPutCode = 0;
inline constexpr std::uint8_t kGetCode = 1 + kAtomicOps;
inline constexpr std::uint8_t kPutWordCode = 2 + kAtomicOps;
inline constexpr std::uint8_t kPutStridedCode = 3 + kAtomicOps;
inline constexpr std::uint8_t kGetStridedCode = 4 + kAtomicOps;

/// The first word of a record, in its parts.
struct Record {
  std::uint64_t offset;  // from the base of the segment; a multiple of 4
  unsigned node_rank;
  SegmentId segment;
  AtomicType type;
  std::uint8_t code;
  bool result, ordered;
};
static_assert(kGetStridedCode < 16, "an operation takes four bits");
static_assert(kAtomicTypes <= 8, "a type takes three bits");
static_assert(static_cast<int>(SegmentId::statics) <= 1,
              "a segment takes one bit; nobody packs for the pool");

inline constexpr std::uint64_t kResultBit = 1 << 7;
inline constexpr std::uint64_t kOrderedBit = 1 << 8;

constexpr std::uint8_t code_of(AtomicOp op) { return static_cast<std::uint8_t>(1 + static_cast<int>(op)); }
constexpr AtomicOp op_of(std::uint8_t code) { return static_cast<AtomicOp>(code - 1); }

/// Whether n bytes there are put as a word.
constexpr bool is_put_word(std::uint64_t offset, std::size_t n) {
  return (n == 8 || n == 4) && offset % 4 == 0;
}
/// How its record says how long it is.
constexpr AtomicType put_word_type(std::size_t n) {
  return static_cast<AtomicType>(static_cast<unsigned>(AtomicType::u32) + n / 8);
}
static_assert(put_word_type(4) == AtomicType::u32 && put_word_type(8) == AtomicType::u64);

constexpr std::uint64_t encode(const Record& record) {
  return record.offset >> 2 << 20 | std::uint64_t{record.node_rank} << 10 |
         static_cast<std::uint64_t>(record.segment) << 9 | (record.ordered ? kOrderedBit : 0) |
         (record.result ? kResultBit : 0) | static_cast<std::uint64_t>(record.type) << 4 | record.code;
}

constexpr Record decode(std::uint64_t word) {
  return {.offset = word >> 20 << 2,
          .node_rank = static_cast<unsigned>(word >> 10) & kReceiver,
          .segment = static_cast<SegmentId>(word >> 9 & 1),
          .type = static_cast<AtomicType>(word >> 4 & 7),
          .code = static_cast<std::uint8_t>(word & 15),
          .result = (word & kResultBit) != 0,
          .ordered = (word & kOrderedBit) != 0};
}

/// The second word of a strided put or get, in its parts: `blocks` blocks of `block` bytes in the target's
/// memory.
struct Shape {
  std::uint64_t step;  // below kLongestStep
  std::size_t blocks, block;
  unsigned low;

  constexpr std::size_t bytes() const { return blocks * block; }
};
inline constexpr unsigned kBlockBits = 11, kBlocksBits = 15;
inline constexpr std::ptrdiff_t kLongestStep = std::ptrdiff_t{1} << (64 - 2 - kBlockBits - kBlocksBits);

constexpr std::uint64_t encode(const Shape& shape) {
  return shape.step << (2 + kBlockBits + kBlocksBits) | std::uint64_t{shape.blocks} << (2 + kBlockBits) |
         std::uint64_t{shape.block} << 2 | shape.low;
}
constexpr Shape decode_shape(std::uint64_t word) {
  return {.step = word >> (2 + kBlockBits + kBlocksBits),
          .blocks = word >> (2 + kBlockBits) & ((1u << kBlocksBits) - 1),
          .block = word >> 2 & ((1u << kBlockBits) - 1),
          .low = static_cast<unsigned>(word & 3)};
}

/// What is at `operand`, in the lower bytes.
inline std::uint64_t bits(const void* operand, AtomicType type) {
  std::uint64_t value = 0;
  std::memcpy(&value, operand, 4);
  if (atomic_size(type) == 8) std::memcpy(&value, operand, 8);
  return value;
}

/// Operands of an atomic: 8 bytes each.
constexpr unsigned operands_of(AtomicOp op) {
  return op == AtomicOp::fetch ? 0 : op == AtomicOp::compare_swap ? 2 : 1;
}
constexpr std::size_t atomic_record(AtomicOp op) { return 8 + std::size_t{8} * operands_of(op); }
constexpr std::size_t padded(std::size_t n) { return (n + 7) / 8 * 8; }
/// Bytes of the record of a put of n bytes.
constexpr std::size_t put_record(std::size_t n) { return 16 + padded(n); }
inline constexpr std::size_t kGetRecord = 16;
/// What a get of n bytes takes of a packet: its record, or its result if that is longer.
constexpr std::size_t get_room(std::size_t n) { return std::max(padded(n), kGetRecord); }

/// Largest put and get that are packed: 4 of them fill a packet, and are 2.5 times as fast as by themselves
/// (docs/atomics.md has this by size).  Each is copied once more.
inline constexpr std::size_t kLargestPacked = 4096;
/// Largest get that is packed although it is waited for: its answer is a short message.
inline constexpr std::size_t kLargestAwaited = 512;
/// Data of a strided record; more blocks take several.
inline constexpr std::size_t kStridedData = 1024;
inline constexpr std::size_t blocks_of_record(std::size_t block) { return kStridedData / block; }
/// Whether strided records can carry this, and are shorter than those of single blocks.
constexpr bool is_better_strided(const Strides& s) {
  const bool forward = s.to_step >= 0 && s.from_step >= 0;
  return s.blocks > 2 && s.block <= kStridedData / 2 && forward && s.to_step < kLongestStep &&
         s.from_step < kLongestStep;
}
static_assert(kStridedData / 2 < 1u << kBlockBits && kStridedData < 1u << kBlocksBits);

/// Whether a get of n bytes takes no more of a packet than its record.
constexpr bool is_short_get(std::size_t n) { return n <= kGetRecord; }

/// A packet with less room than this is full: no add.
inline constexpr std::size_t kSmallestRecord = atomic_record(AtomicOp::add);
static_assert(kGetRecord == kSmallestRecord);
static_assert(sizeof(PacketHead) + put_record(kLargestPacked) <= kMaxMessage);
static_assert(
    sizeof(ReplyHead) <= sizeof(PacketHead),
    "the results of a packet, none longer than its record but for what `limit` leaves them, fit into "
    "one reply");

/// Where the old value of an atomic or the data of a get go (null: nowhere), and who waits for them (null:
/// nobody).
struct Awaited {
  Awaited() = default;
  Awaited(void* to, Completion* waits, std::size_t n)
      : fetch(to), completion(waits), bytes(static_cast<std::uint32_t>(n)) {}
  /// Of a strided get: blocks of `size` bytes, whose starts will be `apart` bytes apart.
  Awaited(void* to, std::size_t n, std::size_t size, std::ptrdiff_t apart)
      : fetch(to),
        step(apart),
        bytes(static_cast<std::uint32_t>(n)),
        block(static_cast<std::uint32_t>(size)) {}

  void* fetch = nullptr;
  union {
    Completion* completion = nullptr;  // if it is not of a strided get
    std::ptrdiff_t step;
  };
  std::uint32_t bytes = 0;  // of an atomic 4 or 8
  std::uint32_t block = 0;  // not 0: of a strided get

  /// Hands the result over.  Returns the bytes of the reply that it takes.
  std::size_t settle(const std::byte* result) const {
    if (block != 0) [[unlikely]] {
      copy_blocks(static_cast<std::byte*>(fetch), result,
                  {bytes / block, block, step, static_cast<std::ptrdiff_t>(block)});
      return padded(bytes);
    }
    take(result);
    if (completion != nullptr) completion->set_done();
    return padded(bytes);
  }

  /// The same of what nobody waits for here, and that is not of a strided get.
  void take(const std::byte* result) const {
    if (fetch == nullptr) return;
    if (bytes == 8) {
      std::memcpy(fetch, result, 8);
    } else if (bytes == 4) {
      std::memcpy(fetch, result, 4);
    } else {
      std::memcpy(fetch, result, bytes);
    }
  }
};

/// Why a packet leaves; the first reason counts.
enum class Leaves : std::uint8_t {
  free,      // its node owed no answer from the start
  full,      // the next record has no room
  wanted,    // a thread waits for what is in it
  answered,  // its node has answered what was before it
  old,       // held for kLongestHold
};

/// A packet that is being filled.
struct Packet {
  std::array<std::byte, kMaxMessage> bytes;
  std::size_t size = sizeof(PacketHead);
  std::size_t limit = kMaxMessage;  // of its size: less what results are longer than their records
  std::uint32_t records = 0, combined = 0;
  std::uint32_t first = 1;           // records of the operation that opened it
  std::uint32_t puts = 0, gets = 0;  // of strided records each block
  std::uint32_t blocks = 0;          // of strided records, less one for each
  std::uint32_t get_records = 0;
  std::uint64_t last = 0;  // word of the last record if others may be combined with it, else 0
  std::uint64_t put_bytes = 0, get_bytes = 0, get_words = 0;
  std::vector<Awaited> results;
  Leaves why = Leaves::free;
  int destination = -1;           // PE
  unsigned opened = 0, sent = 0;  // epochs of who counts it as held or under way, and as being sent

  /// For a record of this size, or of this size together with what its result is longer.
  bool has_room(std::size_t record) const { return size + record <= limit; }
  void leaves(Leaves reason) {
    if (why == Leaves::free) why = reason;
  }

  /// An atomic without result, of one operand.  REQUIRES: has_room(kSmallestRecord).
  void add_update(std::uint64_t word, std::uint64_t value) {
    std::byte* at = bytes.data() + size;
    std::memcpy(at, &word, 8);
    std::memcpy(at + 8, &value, 8);
    size += kSmallestRecord;
    ++records;
    last = word & ~kOrderedBit;
  }

  /// An atomic with result, of as many operands as it has.  REQUIRES: has_room(atomic_record(op)).
  void add_fetch(std::uint64_t word, AtomicOp op, std::uint64_t value, std::uint64_t compare) {
    const unsigned operands = operands_of(op);
    std::byte* at = bytes.data() + size;
    std::memcpy(at, &word, 8);
    if (operands > 0) std::memcpy(at + 8, &value, 8);
    if (operands > 1) std::memcpy(at + 16, &compare, 8);
    size += 8 + std::size_t{8} * operands;
    ++records;
    last = 0;
  }

  /// Adds an atomic without result to the one before it, if that is the same operation on the same word: as
  /// if nobody had looked in between.  Returns whether it could.
  bool combine(std::uint64_t word, AtomicOp op, std::uint64_t value) {
    if (word != last) return false;
    std::uint64_t operand;
    std::byte* at = bytes.data() + size - 8;
    std::memcpy(&operand, at, 8);
    switch (op) {
      case AtomicOp::add:
        if (is_real(decode(word).type)) return false;
        operand += value;  // the upper half of 4 bytes is not looked at
        break;
      case AtomicOp::bit_and: operand &= value; break;
      case AtomicOp::bit_or: operand |= value; break;
      case AtomicOp::bit_xor: operand ^= value; break;
      case AtomicOp::set: operand = value; break;
      default: return false;
    }
    std::memcpy(at, &operand, 8);
    ++combined;
    return true;
  }

  /// REQUIRES: has_room(put_record(shape.bytes())).
  void add_put_strided(std::uint64_t word, const Shape& shape, const std::byte* source, std::ptrdiff_t step) {
    const std::uint64_t encoded = encode(shape);
    std::byte* at = bytes.data() + size;
    std::memcpy(at, &word, 8);
    std::memcpy(at + 8, &encoded, 8);
    copy_blocks(at + 16, source, {shape.blocks, shape.block, static_cast<std::ptrdiff_t>(shape.block), step});
    size += put_record(shape.bytes());
    ++records;
    puts += static_cast<std::uint32_t>(shape.blocks);
    blocks += static_cast<std::uint32_t>(shape.blocks - 1);
    put_bytes += shape.bytes();
    last = 0;
  }

  /// REQUIRES: has_room(put_record(n)).
  void add_put(std::uint64_t word, std::uint64_t offset, const void* source, std::size_t n) {
    const std::uint64_t length = n | (offset & 3) << 32;
    std::byte* at = bytes.data() + size;
    std::memcpy(at, &word, 8);
    std::memcpy(at + 8, &length, 8);
    std::memcpy(at + 16, source, n);
    size += put_record(n);
    ++records;
    ++puts;
    put_bytes += n;
    last = 0;
  }

  /// The same of a word.  REQUIRES: has_room(kSmallestRecord), is_put_word().
  void add_put_word(std::uint64_t word, std::uint64_t value, std::size_t n) {
    add_update(word, value);
    ++puts;
    put_bytes += n;
    last = 0;
  }

  /// REQUIRES: has_room(padded(n) or kGetRecord, whichever is more).
  void add_get(std::uint64_t word, std::uint64_t offset, std::size_t n) {
    ++gets;
    add_any_get(word, n | (offset & 3) << 32, n);
  }

  /// The same of all blocks.  REQUIRES: as add_get(), of shape.bytes().
  void add_get_strided(std::uint64_t word, const Shape& shape) {
    gets += static_cast<std::uint32_t>(shape.blocks);
    blocks += static_cast<std::uint32_t>(shape.blocks - 1);
    add_any_get(word, encode(shape), shape.bytes());
  }

  /// Whether one more result can be noted without memory that is new.
  bool has_room_for_result() const { return results.size() < results.capacity(); }

  /// Node rank of the target of the first record.
  unsigned first_node_rank() const {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + sizeof(PacketHead), sizeof word);
    return decode(word).node_rank;
  }

  /// Words of the reply to what `results` awaits.
  std::size_t result_words() const { return results.size() - get_records + get_words; }

  /// Writes the head: the packet is ready to leave.
  void finish(std::uint64_t issuer, std::size_t result_words) {
    const PacketHead head{issuer, records, static_cast<std::uint32_t>(result_words)};
    std::memcpy(bytes.data(), &head, sizeof head);
  }

  void clear() {
    size = sizeof(PacketHead);
    limit = kMaxMessage;
    why = Leaves::free;
    records = combined = puts = gets = blocks = get_records = 0;
    first = 1;
    last = 0;
    put_bytes = get_bytes = get_words = 0;
    results.clear();
  }

 private:
  void add_any_get(std::uint64_t word, std::uint64_t what, std::size_t n) {
    std::byte* at = bytes.data() + size;
    std::memcpy(at, &word, 8);
    std::memcpy(at + 8, &what, 8);
    size += kGetRecord;
    if (padded(n) > kGetRecord) limit -= padded(n) - kGetRecord;
    ++records;
    ++get_records;
    get_bytes += n;
    get_words += padded(n) / 8;
    last = 0;
  }
};

}  // namespace shm::nic

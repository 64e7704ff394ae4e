// SPDX-License-Identifier: BSD-3-Clause
#include "nic/executor.hpp"

#include <cstring>
#include <type_traits>

#include "base/copy_word.hpp"
#include "base/fatal.hpp"
#include "base/peer_stores.hpp"
#include "base/stats.hpp"

namespace shm::nic {
namespace {

// `shared`: that side of the copy which is in a PE's memory.
[[gnu::always_inline]] inline void copy(std::byte* to, const std::byte* from, std::size_t n,
                                        const std::byte* shared) {
  constexpr WordOrder kOrder = WordOrder::message;
  const bool word = copy_word<std::uint64_t, kOrder>(to, from, n, shared) ||
                    copy_word<std::uint32_t, kOrder>(to, from, n, shared) ||
                    copy_word<std::uint16_t, kOrder>(to, from, n, shared) ||
                    copy_word<std::uint8_t, kOrder>(to, from, n, shared);
  if (!word) std::memcpy(to, from, n);
}

// Blocks that lie one behind the other on one side, and `step` apart on the other: that of a PE's memory.
template <class Size>
void copy_each(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
               std::size_t blocks, Size block, bool stores) {
  for (std::size_t i = 0; i < blocks; ++i, to += to_step, from += from_step)
    copy(to, from, block, stores ? to : from);
}

void copy_shape(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                const Shape& shape, bool stores) {
  const auto each = [&](auto block) { copy_each(to, to_step, from, from_step, shape.blocks, block, stores); };
  switch (shape.block) {  // constant sizes become single moves
    case 1: return each(std::integral_constant<std::size_t, 1>{});
    case 2: return each(std::integral_constant<std::size_t, 2>{});
    case 4: return each(std::integral_constant<std::size_t, 4>{});
    case 8: return each(std::integral_constant<std::size_t, 8>{});
    default: each(shape.block);
  }
}

[[noreturn, gnu::cold]] void refuse(int from_pe, const char* what) {
  refuse_message(from_pe, "a packet of operations", what);
}

}  // namespace

// Where the next record is, and where the next result goes.
struct Executor::Reader {
  const int from_pe;
  const std::byte* at;
  const std::byte* const end;
  std::byte* result;
  const std::byte* const results_end;

  const std::byte* take(std::size_t n) {
    if (n > static_cast<std::size_t>(end - at)) [[unlikely]]
      refuse(from_pe, "that is cut off");
    const std::byte* taken = at;
    at += n;
    return taken;
  }
  std::uint64_t take_word() {
    std::uint64_t word;
    std::memcpy(&word, take(sizeof word), sizeof word);
    return word;
  }
  /// Of n bytes, padded.
  std::byte* take_result(std::size_t n) {
    if (n > static_cast<std::size_t>(results_end - result)) [[unlikely]]
      refuse(from_pe, "with too many results");
    std::byte* taken = result;
    result += padded(n);
    return taken;
  }
};

std::byte* Executor::reach(int from_pe, const Record& record, std::uint64_t offset, std::size_t n) {
  if (record.node_rank != kReceiver && record.node_rank >= node_.size()) [[unlikely]]
    refuse(from_pe, "for a PE that is not on this node");
  const NodeMap::Segments& segments = record.node_rank == kReceiver ? own_ : node_[record.node_rank];
  const auto& [base, size] = segments[static_cast<std::size_t>(record.segment)];
  if (n > size || offset > size - n) [[unlikely]]
    refuse(from_pe, "outside the memory of its target");
  return base + offset;
}

void Executor::note_store(const Record& record) {
  if (record.node_rank != kReceiver && touched_in_[record.node_rank] != packets_) {
    touched_in_[record.node_rank] = packets_;
    touched_.push_back(record.node_rank);
  }
}

void Executor::store(const Reader& reader, const Record& record, std::uint64_t offset, const std::byte* bytes,
                     std::size_t n) {
  std::byte* to = reach(reader.from_pe, record, offset, n);
  copy(to, bytes, n, to);
  note_store(record);
}

void Executor::put(Reader& reader, const Record& record) {
  const std::uint64_t word = reader.take_word();
  const std::size_t n = word & 0xffffffff;
  const std::byte* bytes = reader.take(padded(n));
  store(reader, record, record.offset | (word >> 32 & 3), bytes, n);
}

void Executor::put_word(Reader& reader, const Record& record) {
  if (record.type != AtomicType::u32 && record.type != AtomicType::u64) [[unlikely]]
    refuse(reader.from_pe, "with a word of an unknown size");
  const std::byte* bytes = reader.take(sizeof(std::uint64_t));
  store(reader, record, record.offset, bytes, atomic_size(record.type));
}

// Words of 8 bytes that are put one behind the other, as nearly all of a stream: what is special about a
// record ends it, and is left to the others.  Returns how many there were.
std::uint32_t Executor::put_words(Reader& reader, std::uint32_t records) {
  constexpr std::uint64_t kKind = encode({0, 0, {}, AtomicType::u64, kPutWordCode, false, false});
  constexpr std::uint64_t kKindBits = encode({0, 0, {}, AtomicType{7}, 15, true, true});
  const std::byte* at = reader.at;
  const std::size_t whole = static_cast<std::size_t>(reader.end - at) / kSmallestRecord;
  const std::uint32_t most = whole < records ? static_cast<std::uint32_t>(whole) : records;
  std::uint32_t done = 0;
  unsigned node_rank = kReceiver;
  const NodeMap::Segments* segments = &own_;
  for (; done < most; ++done, at += kSmallestRecord) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    if ((word & kKindBits) != kKind) break;
    const Record record = decode(word);
    if (record.node_rank != node_rank) {
      if (record.node_rank != kReceiver && record.node_rank >= node_.size()) break;
      node_rank = record.node_rank;
      segments = node_rank == kReceiver ? &own_ : &node_[node_rank];
      note_store(decode(word));  // in full only here: it is in memory there
    }
    const auto& [base, size] = (*segments)[static_cast<std::size_t>(record.segment)];
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (size < kWord || record.offset > size - kWord) break;
    std::byte* to = base + record.offset;
    if (reinterpret_cast<std::uintptr_t>(to) % kWord != 0) break;
    copy_word<std::uint64_t, WordOrder::message>(to, at + sizeof word, kWord, to);
  }
  reader.at = at;
  return done;
}

void Executor::get(Reader& reader, const Record& record) {
  const std::uint64_t word = reader.take_word();
  const std::size_t n = word & 0xffffffff;
  std::byte* result = reader.take_result(n);
  const std::byte* from = reach(reader.from_pe, record, record.offset | (word >> 32 & 3), n);
  copy(result, from, n, from);
}

// All that the blocks span.  At most 2^36 x 2^15 bytes: the sum does not overflow.
std::byte* Executor::reach(const Reader& reader, const Record& record, const Shape& shape) {
  if (shape.blocks == 0 || shape.block == 0) [[unlikely]]
    refuse(reader.from_pe, "with blocks of nothing");
  const std::uint64_t span = shape.step * (shape.blocks - 1) + shape.block;
  return reach(reader.from_pe, record, record.offset | shape.low, span);
}

void Executor::put_strided(Reader& reader, const Record& record) {
  const Shape shape = decode_shape(reader.take_word());
  const std::byte* data = reader.take(padded(shape.bytes()));
  copy_shape(reach(reader, record, shape), shape.step, data, shape.block, shape, true);
  note_store(record);
}

void Executor::get_strided(Reader& reader, const Record& record) {
  const Shape shape = decode_shape(reader.take_word());
  std::byte* result = reader.take_result(shape.bytes());
  copy_shape(result, shape.block, reach(reader, record, shape), shape.step, shape, false);
}

void Executor::atomic(Reader& reader, const Record& record) {
  const AtomicOp op = op_of(record.code);
  if (static_cast<int>(op) >= kAtomicOps || static_cast<int>(record.type) >= kAtomicTypes ||
      !is_defined(op, record.type)) [[unlikely]]
    refuse(reader.from_pe, "with an unknown operation");
  const std::size_t width = atomic_size(record.type);
  std::byte* word = reach(reader.from_pe, record, record.offset, width);
  if (reinterpret_cast<std::uintptr_t>(word) % width != 0) [[unlikely]]
    refuse(reader.from_pe, "with an atomic that is not aligned");
  const std::byte* operands = reader.take(std::size_t{8} * operands_of(op));
  mshrs_.add(word, op, record.type, operands, record.result ? reader.take_result(sizeof word) : nullptr);
  note_store(record);
}

std::span<const std::byte> Executor::execute(int from_pe, const std::byte* packet, std::size_t n) {
  const PeerStores in_the_name_of_a_peer;
  ++packets_;
  touched_.clear();
  PacketHead head;
  if (n < sizeof head) refuse(from_pe, "without a head");
  std::memcpy(&head, packet, sizeof head);
  if (head.results > (kMaxMessage - sizeof(ReplyHead)) / 8 || head.records > (n - sizeof head) / 8)
    refuse(from_pe, "with more records or results than it has room for");
  reply_.assign(sizeof(ReplyHead) + std::size_t{8} * head.results, std::byte{0});
  std::memcpy(reply_.data(), &head.issuer, sizeof head.issuer);
  std::byte* results = reply_.data() + sizeof(ReplyHead);
  Reader reader{from_pe, packet + sizeof head, packet + n, results, reply_.data() + reply_.size()};
  for (std::uint32_t i = 0; i < head.records; ++i) {
    const Record record = decode(reader.take_word());
    if (record.ordered) mshrs_.drain();
    if (record.code == kPutWordCode) {
      put_word(reader, record);
      i += put_words(reader, head.records - 1 - i);
    } else if (record.code == kPutCode) {
      put(reader, record);
    } else if (record.code == kGetCode) {
      get(reader, record);
    } else if (record.code == kPutStridedCode) {
      put_strided(reader, record);
    } else if (record.code == kGetStridedCode) {
      get_strided(reader, record);
    } else {
      atomic(reader, record);
    }
  }
  if (reader.at != reader.end || reader.result != reader.results_end) [[unlikely]]
    refuse(from_pe, "with bytes or results that no record is for");
  mshrs_.drain();
  count_mshrs();
  return reply_;
}

void Executor::count_mshrs() {
  const MshrCounts& now = mshrs_.counts();
  count(Stat::executed, now.executed - counted_.executed);
  count(Stat::lines, now.lines - counted_.lines);
  count(Stat::merged, now.merged - counted_.merged);
  count(Stat::updates, now.updates - counted_.updates);
  count(Stat::stalls, now.stalls - counted_.stalls);
  counted_ = now;
}

}  // namespace shm::nic

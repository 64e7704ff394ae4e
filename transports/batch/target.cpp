// SPDX-License-Identifier: BSD-3-Clause
#include "batch/target.hpp"

#include <atomic>

#include "base/fatal.hpp"
#include "base/peer_stores.hpp"

namespace shm::batch {
namespace {

template <class Word>
void store_word(std::byte* to, const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  // Release: who sees this word, a flag perhaps, sees what was stored before it.
  std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_release);
}

void store(std::byte* to, const std::byte* from, std::size_t n) {
  const bool word = n != 0 && reinterpret_cast<std::uintptr_t>(to) % n == 0;
  switch (word ? n : 0) {
    case 1: return store_word<std::uint8_t>(to, from);
    case 2: return store_word<std::uint16_t>(to, from);
    case 4: return store_word<std::uint32_t>(to, from);
    case 8: return store_word<std::uint64_t>(to, from);
    default: std::memcpy(to, from, n);
  }
}

[[noreturn, gnu::cold]] void refuse(int from_pe, const char* what) {
  fatal("internal error: PE %d sent a packet of operations %s", from_pe, what);
}

}  // namespace

std::byte* Target::reach(int from_pe, const RecordHead& head, std::size_t n) const {
  if (static_cast<std::size_t>(head.segment) >= segments_.size()) refuse(from_pe, "to an unknown segment");
  const Segment& segment = segments_[static_cast<std::size_t>(head.segment)];
  if (n > segment.size || head.offset > segment.size - n) refuse(from_pe, "outside the memory of this PE");
  return segment.base + head.offset;
}

std::vector<std::byte> Target::apply(int from_pe, const std::byte* packet, std::size_t n) const {
  const PeerStores in_the_name_of_a_peer;
  PacketHead head;
  if (n < sizeof head) refuse(from_pe, "without a head");
  std::memcpy(&head, packet, sizeof head);
  std::vector<std::byte> reply(sizeof(ReplyHead) + std::size_t{8} * head.results);
  std::memcpy(reply.data(), &head.channel, sizeof head.channel);
  std::byte* result = reply.data() + sizeof(ReplyHead);
  const std::byte* const end = packet + n;
  const std::byte* at = packet + sizeof head;
  for (std::uint32_t i = 0; i < head.records; ++i) {
    RecordHead record;
    if (static_cast<std::size_t>(end - at) < sizeof record) refuse(from_pe, "that ends too early");
    std::memcpy(&record, at, sizeof record);
    const std::byte* operands = at + sizeof record;
    if (record_size(record.length) > static_cast<std::size_t>(end - at)) refuse(from_pe, "that is cut off");
    at += record_size(record.length);
    if (record.code == kPutCode) {
      store(reach(from_pe, record, record.length), operands, record.length);
      continue;
    }
    std::byte* word = reach(from_pe, record, atomic_size(record.type));
    std::byte* old = record.waits != 0 ? result : nullptr;
    if (old != nullptr && reply.data() + reply.size() - result < 8) refuse(from_pe, "with too many results");
    if (old != nullptr) result += 8;
    const std::byte* value = record.length >= 8 ? operands : nullptr;
    const std::byte* compare = record.length >= 16 ? operands + 8 : nullptr;
    atomic_apply(op_of(record.code), record.type, word, value, compare, old);
  }
  return reply;
}

}  // namespace shm::batch

// SPDX-License-Identifier: BSD-3-Clause
// What goes to a list of receives, and its tags.
//
//   request   MatchHead | key | value | expected       each padded to 8
//   reply     KvReplyHead | value
#pragma once

#include <cstring>

#include "kv/layout.hpp"
#include "kv/wire.hpp"

namespace shm::kv {

/// Match bits: what a message is, and which.
inline constexpr std::uint64_t kClassBits = std::uint64_t{3} << 62;
inline constexpr std::uint64_t kElement = std::uint64_t{1} << 62;   // about an element, and its key's hash
inline constexpr std::uint64_t kAddition = std::uint64_t{2} << 62;  // of what may be new, likewise
inline constexpr std::uint64_t kReply = std::uint64_t{3} << 62;     // and its number

struct MatchHead {
  RequestHead request;  // token: number of the reply
  std::int32_t from;
  std::uint32_t table;  // its number, which is the same on all PEs
};
static_assert(sizeof(MatchHead) % 8 == 0);

/// The list that a request goes to: the one of free room if it may add, or that of the elements.
constexpr std::uint64_t tag_of(KvOp op, std::uint64_t hash) {
  return (may_add(op) ? kAddition : kElement) | (hash & ~kClassBits);
}

/// Whether a request that succeeds may change which elements there are.
constexpr bool changes_elements(KvOp op) { return may_add(op) || may_remove(op); }

inline std::size_t message_bytes(const RequestHead& head) { return sizeof(MatchHead) + body_bytes(head); }

/// Who sends it, and of which table it is.
struct MatchSender {
  int from;
  std::uint32_t table;
};
/// `to` has room for message_bytes().
inline void write_message(std::byte* to, const RequestHead& head, const KvRequest& request,
                          MatchSender sender) {
  const MatchHead entry{.request = head, .from = sender.from, .table = sender.table};
  std::memcpy(to, &entry, sizeof entry);
  write_body(to + sizeof entry, head, request);
}

/// The request refers to the message.
inline KvRequest read_message(const std::byte* message, MatchHead& entry) {
  std::memcpy(&entry, message, sizeof entry);
  return request_at(message + sizeof entry, entry.request);
}

}  // namespace shm::kv

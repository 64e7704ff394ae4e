// SPDX-License-Identifier: BSD-3-Clause
// What goes to a list of receives, and its tags.
//
//   request   EntryHead | key | value | expected       each padded to 8
//   reply     ReplyHead | value
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

struct EntryHead {
  RequestHead request;  // token: number of the reply
  std::int32_t from;
  std::uint32_t unused;
};
static_assert(sizeof(EntryHead) % 8 == 0);

/// The list that a request goes to: that of the elements, or the one of free room.
constexpr bool may_add(Op op) { return op == Op::put || op == Op::insert || op == Op::upsert; }
constexpr std::uint64_t tag_of(Op op, std::uint64_t hash) {
  return (may_add(op) ? kAddition : kElement) | (hash & ~kClassBits);
}

/// Whether a request that succeeds may change which elements there are.
constexpr bool changes_elements(Op op) { return may_add(op) || op == Op::remove; }

inline std::size_t message_bytes(const Request& request) {
  return sizeof(EntryHead) + padded(request.key.n) +
         padded(value_bytes(request.op, request.type, request.n)) +
         padded(expected_bytes(request.op, request.n));
}

/// `to` has room for message_bytes().
inline void write_message(std::byte* to, const Request& request, int from, std::uint64_t token,
                          bool wants_old) {
  const EntryHead head{.request = {.token = token,
                                   .hash = request.key.hash,
                                   .n = request.n,
                                   .offset = request.offset,
                                   .key_bytes = request.key.n,
                                   .op = request.op,
                                   .atomic = request.atomic,
                                   .type = request.type,
                                   .wants = wants_old ? kWantsOld : std::uint8_t{0}},
                       .from = from,
                       .unused = 0};
  const auto append = [&to](const void* bytes, std::size_t n) {
    if (n != 0) std::memcpy(to, bytes, n);
    to += padded(n);
  };
  append(&head, sizeof head);
  append(request.key.bytes, request.key.n);
  append(request.value, value_bytes(request.op, request.type, request.n));
  append(request.expected, expected_bytes(request.op, request.n));
}

/// The request refers to the message.
inline Request read_message(const std::byte* message, EntryHead& entry) {
  std::memcpy(&entry, message, sizeof entry);
  const RequestHead& head = entry.request;
  const std::byte* key = message + sizeof entry;
  const std::byte* value = key + padded(head.key_bytes);
  return {.op = head.op,
          .atomic = head.atomic,
          .type = head.type,
          .key = {head.hash, key, head.key_bytes},
          .value = value,
          .n = head.n,
          .expected = value + padded(value_bytes(head.op, head.type, head.n)),
          .offset = head.offset};
}

}  // namespace shm::kv

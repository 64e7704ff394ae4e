// SPDX-License-Identifier: BSD-3-Clause
// What nodes send each other about the NVM heap.
//
//   Operation     token | dest | page | offset in it | n | pe | kind, atomic operation and type | operands |
//                 n bytes of a put                       from the thread that waits to the page's home
//   Answer        token | dest | n | old value | n bytes of a get      to that thread, from where it was
//   executed PageMessage   page | message of the protocol | offset | n | n bytes of the page, or an Operation
//   as above
//                                                        between pagers
//
// An operation lies within one page and carries kLargestOperation bytes at most.  A page travels in pieces of
// kLargestPiece bytes, each with the whole message before it, and the last to come is the message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic_op.hpp"
#include "nvm/moesif.hpp"
#include "nvm/pool.hpp"
#include "transports/net.hpp"

namespace shm::nvm {

inline constexpr std::size_t kLargestOperation = 4096;
inline constexpr std::size_t kLargestPiece = 16384;

struct Operation {
  enum class Kind : std::uint8_t { put, get, amo };

  std::uint64_t token;  // of who waits for the answer
  std::byte* dest;      // of a get, at who waits
  PageNumber page;
  std::uint32_t offset, n;
  std::int32_t pe;  // who waits
  Kind kind;
  AtomicOp op;
  AtomicType type;
  std::uint64_t value, compare;
};

/// What it needs its page for.
inline Access access_of(const Operation& operation) {
  const bool reads = operation.kind == Operation::Kind::get ||
                     (operation.kind == Operation::Kind::amo && operation.op == AtomicOp::fetch);
  return reads ? Access::read : Access::write;
}

struct Answer {
  std::uint64_t token;
  std::byte* dest;
  std::uint64_t n;
  std::uint64_t old;
};

/// In a request for a page `message.tag` is the frame that is to take it.
struct PageMessage {
  PageNumber page;
  Message message;
  std::uint32_t offset, n;  // of the piece; n == 0: none
};

static_assert(sizeof(PageMessage) + kLargestPiece <= kMaxMessage);
static_assert(sizeof(PageMessage) + sizeof(Operation) + kLargestOperation <= kMaxMessage);
static_assert(sizeof(Answer) + kLargestOperation <= kMaxMessage);

}  // namespace shm::nvm

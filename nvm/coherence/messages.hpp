// SPDX-License-Identifier: BSD-3-Clause
// What nodes send each other about the NVM heap.
//
//   Operation    token | page | offset in it | n | pe | kind, atomic operation and type, order, result |
//                operands | n bytes of a put
//                from the PE that sent it to the home of the page, several in a message, each padded to words
//   Answer       token | page | n | contended | n bytes: of a get, or of what an atomic operation found, if
//                it brings that
//                to that PE, from where the operation was executed, several in a message, padded likewise
//   PageMessage  page | message of the protocol | frame | given_up | n | n bytes: an Operation with its data
//                between pagers, several in a packet
//
// An operation lies within one page and carries kLargestOperation bytes at most.  A page that was asked for
// is put into its frame before the message is sent; one that goes home the home gets from the frame that the
// message names, when it has a buffer for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic_op.hpp"
#include "nvm/coherence/moesif.hpp"
#include "nvm/pages.hpp"
#include "pages/pool.hpp"
#include "transports/net.hpp"

namespace shm::nvm {

inline constexpr std::size_t kLargestOperation = 8192;

struct Operation {
  enum class Kind : std::uint8_t { put, get, amo };

  std::uint64_t token;  // of who waits for the answer: its name there (base/names)
  PageNumber page;
  std::uint32_t offset, n;
  std::int32_t pe;  // who waits
  Kind kind;
  AtomicOp op;
  AtomicType type;
  bool stays_behind;  // others of its context may be on their way before it: the pager keeps their order
  bool brings;        // of an atomic operation: the answer brings what was there
  std::uint64_t value, compare;
};

/// What it needs its page for.
inline Access access_of(const Operation& operation) {
  const bool reads = operation.kind == Operation::Kind::get ||
                     (operation.kind == Operation::Kind::amo && operation.op == AtomicOp::fetch);
  return reads ? Access::read : Access::write;
}

/// In a message of several.
constexpr std::size_t padded_to_words(std::size_t n) { return (n + 7) / 8 * 8; }
/// Of the operation and its data, without and with what pads them.
inline std::size_t operation_bytes(const Operation& operation) {
  return sizeof operation + (operation.kind == Operation::Kind::put ? operation.n : 0);
}
inline std::size_t record_bytes(const Operation& operation) {
  return padded_to_words(operation_bytes(operation));
}

struct Answer {
  std::uint64_t token;  // as it came
  PageNumber page;
  std::uint32_t n;
  std::uint32_t contended;  // 1: others use the page too
};

/// In a request for a page `message.tag` is where in its node's pool the page is to be put.
struct PageMessage {
  PageNumber page;
  Message message;
  std::uint64_t frame;  // of a page for the home: where in the sender's pool it is, until the home has got it
  std::uint32_t given_up;  // 1: the sender has; it wants to hear `fetched`, as its frame is free then
  std::uint32_t n;         // bytes that follow
};

static_assert(sizeof(PageMessage) + sizeof(Operation) + kLargestOperation <= kMaxMessage);
static_assert(sizeof(Answer) + kLargestOperation <= kMaxMessage);

}  // namespace shm::nvm

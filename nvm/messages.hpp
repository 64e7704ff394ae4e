// SPDX-License-Identifier: BSD-3-Clause
// What nodes send each other about the NVM heap.
//
//   Operation   token | page | offset in it | kind, atomic operation and type | n | operands | n bytes of a
//   put Answer      token | dest | n | old value | n bytes of a get
//
// An operation lies within one page and carries kLargestPiece bytes at most.  The answer says that it is
// applied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic_op.hpp"
#include "nvm/pool.hpp"
#include "transports/net.hpp"

namespace shm::nvm {

inline constexpr std::size_t kLargestPiece = 16384;

struct Operation {
  enum class Kind : std::uint8_t { put, get, amo };

  std::uint64_t token;  // of who waits for the answer
  std::byte* dest;      // of a get, at who waits
  PageNumber page;
  std::uint32_t offset, n;
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
static_assert(sizeof(Operation) + kLargestPiece <= kMaxMessage);

}  // namespace shm::nvm

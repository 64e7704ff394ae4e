// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a message on the link between PEs and memory servers, before anything of it is used:
// each function returns how "PE 3 sent a request ..." or "memory server 1 sent an answer ..." goes on, or
// null where nothing is wrong.  Pure.
//
// They refuse what no process of the job can have meant.  Memory that a server has not left is no such thing:
// it is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "remote/leases.hpp"
#include "remote/wire.hpp"

namespace shm::remote {

/// What check_message() calls an answer, and says of one to no request.
inline constexpr const char* kLendAnswer = "an answer";
inline constexpr const char* kNotAskedFor = "that nobody has asked for";

template <class Message>
Message message_at(const std::byte* bytes) {
  Message message;
  std::memcpy(&message, bytes, sizeof message);
  return message;
}

/// At a server: of `n` bytes from rank `from` of the link.  `pes`: of the job, the first ranks.
inline const char* wrong_with_request(int from, std::uint16_t id, const std::byte* message, std::size_t n,
                                      int pes, const Leases& leases) {
  constexpr const char* kLength = "of another length than its kind has";
  constexpr const char* kNotLent = "about memory that it was not lent";
  if (from < 0 || from >= pes) return "though it is no PE";
  switch (static_cast<LendMessage>(id)) {
    case LendMessage::lease: {
      if (n != sizeof(LeaseRequest)) return kLength;
      const auto lease = message_at<LeaseRequest>(message);
      return lease.bytes == 0 || lease.bytes % kLeaseGrain != 0 ? "for a part of a page" : nullptr;
    }
    case LendMessage::give_back: {
      if (n != sizeof(GiveBack)) return kLength;
      const auto back = message_at<GiveBack>(message);
      const bool whole = back.offset % kLeaseGrain == 0 && back.bytes % kLeaseGrain == 0;
      return whole && leases.lent_to(from, {back.offset, back.bytes}) ? nullptr : kNotLent;
    }
    case LendMessage::finish: return n != sizeof(FinishRequest) ? kLength : nullptr;
    case LendMessage::page: {
      if (n != sizeof(PageRequest)) return kLength;
      const auto page = message_at<PageRequest>(message);
      return leases.lent_to(from, {page.offset, page.bytes}) ? nullptr : kNotLent;
    }
    default: return "of an unknown kind";
  }
}

/// At a PE: of `n` bytes from rank `from` of the link.  `awaited`: the number of the request that is not
/// answered, 0: there is none.
inline const char* wrong_with_answer(int from, std::uint16_t id, const std::byte* message, std::size_t n,
                                     int pes, std::uint64_t awaited) {
  constexpr const char* kLength = "of another length than its kind has";
  if (from < pes) return "though it is no memory server";
  switch (static_cast<LendMessage>(id)) {
    case LendMessage::ready: return n != sizeof(PageReady) ? kLength : nullptr;
    case LendMessage::answer: {
      if (n != sizeof(LendAnswer)) return kLength;
      const auto answer = message_at<LendAnswer>(message);
      if (answer.number == 0 || answer.number != awaited) return kNotAskedFor;
      return answer.granted > 1 || answer.offset % kLeaseGrain != 0 ? "with a lease of a part of a page"
                                                                    : nullptr;
    }
    default: return "of an unknown kind";
  }
}

}  // namespace shm::remote

// SPDX-License-Identifier: BSD-3-Clause
// Requests by match list, and replies to them, when they have come: what the lists have nothing to do with.
#pragma once

#include "kv/match_message.hpp"
#include "kv/message_check.hpp"
#include "kv/shard.hpp"
#include "transports/matcher.hpp"

namespace shm::kv {

/// Of a request that has been carried out.
struct MatchAnswer {
  int to;  // PE
  KvOp op;
  std::uint64_t hash;    // of its key
  std::uint64_t number;  // of the reply
  std::size_t n;         // bytes of that
  alignas(8) std::byte bytes[kMostMatched];
};

/// Carries out a request of n bytes.  kBusy: a lock was not free soon, and nothing is done; `again`: so it
/// was before.  Ends the job, naming the PE, if it cannot be meant (kv/message_check).
Code carry_out_match(const Shard<Mapped>& shard, const std::byte* message, std::size_t n, bool again,
                     MatchAnswer& answer);

/// What awaits the reply with this number.
struct AwaitedMatch {
  int pe;  // who is asked
  std::uint64_t number;
  ReplyLimits limits;
  std::byte* value;  // may be null
  std::uint64_t n = 0;
  Code status = SHMEMX_KV_PENDING;
};

/// Takes a reply of n bytes, behind which there is room up to a multiple of 8.  Ends the job as above.
void take_match_reply(const std::byte* reply, std::size_t n, AwaitedMatch& awaited);

}  // namespace shm::kv

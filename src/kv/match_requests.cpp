// SPDX-License-Identifier: BSD-3-Clause
#include "kv/match_requests.hpp"

#include <cstring>

#include "base/fatal.hpp"
#include "core/runtime.hpp"

namespace shm::kv {

Code carry_out_match(const Shard<Mapped>& shard, const std::byte* message, std::size_t n, bool again,
                     MatchAnswer& answer) {
  constexpr unsigned kLooks = 50;  // at a lock, before the first yield
  if (const char* wrong = wrong_with_match(message, n, shard.layout(), rt.npes); wrong != nullptr)
      [[unlikely]]
    refuse_message(sender_of_match(message, n, rt.npes), kMatchRequest, wrong);
  MatchHead entry;
  const KvRequest request = read_message(message, entry);
  const RequestHead& head = entry.request;
  const std::uint64_t most = reply_bytes(shard.layout(), head);
  ValueRoom result{most == 0 ? nullptr : answer.bytes + sizeof(KvReplyHead), 0};
  const bool reads = request.op == KvOp::get || request.op == KvOp::contains;
  const Code status = shard.execute(request, result, again && reads ? kFairLooks + kLooks : kLooks);
  if (status == kBusy) return status;
  const std::uint64_t bytes = bytes_given(head, status, result.n, most);
  const KvReplyHead reply{head.token, result.n, status, static_cast<std::uint32_t>(bytes)};
  std::memcpy(answer.bytes, &reply, sizeof reply);
  answer.to = entry.from;
  answer.op = head.op;
  answer.hash = head.hash;
  answer.number = head.token;
  answer.n = sizeof reply + bytes;
  return status;
}

void take_match_reply(const std::byte* reply, std::size_t n, AwaitedMatch& awaited) {
  if (n < sizeof(KvReplyHead)) [[unlikely]]
    refuse_message(awaited.pe, kTableReplies, kCutOff);
  const auto head = head_at<KvReplyHead>(reply);
  if (head.token != awaited.number) [[unlikely]]
    refuse_message(awaited.pe, kTableReplies, "to another request than its tag says");
  if (head.bytes != n - sizeof head) [[unlikely]]
    refuse_message(awaited.pe, kTableReplies, "that is not as long as it says");
  check_message(awaited.pe, kTableReplies, wrong_with_reply(head, padded(head.bytes), awaited.limits, 0));
  if (awaited.value != nullptr && head.bytes != 0)
    std::memcpy(awaited.value, reply + sizeof head, head.bytes);
  awaited.n = head.n;
  awaited.status = head.status;
}

}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
#include "kv/batch.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/wait.hpp"
#include "kv/stages.hpp"

namespace shm::kv {
namespace {

constexpr std::size_t kAtOnce = 8192;        // requests: more than fill the packets of some PEs
constexpr std::size_t kLongestInRun = 1024;  // key, or value
constexpr std::uint32_t kMostInRun =
    512;  // so that who asks, who answers and the network work at the same time

// How many requests like this one a packet has, and one of their replies.
std::uint32_t most_in_run(const ShardLayout& layout, const RequestHead& like) {
  const std::size_t request = body_bytes(like);
  const std::size_t reply = sizeof(RunReply) + padded(reply_bytes(layout, like));
  return std::min<std::uint32_t>(kMostInRun,
                                 static_cast<std::uint32_t>(kRunBytes / std::max(request, reply)));
}

}  // namespace

// What awaits the replies to runs.
struct Batch::Sent {
  const Batch& batch;
  std::vector<std::uint32_t> order;  // requests, in the order in which they are sent
  std::atomic<std::uint64_t> left{0};
};

// With room of its own for what lies in the heap on NVM (may_fault).
static Code execute_many_with_copies(Call call, Table& table, const Many& many, std::size_t count) {
  const std::size_t result_bytes = many.results == nullptr ? 0 : count * many.value_bytes;
  Many safe = many;
  std::vector<std::byte> results;
  std::vector<std::size_t> lengths;
  std::vector<int> status(count);
  if (result_bytes != 0) {
    results.assign(many.results, many.results + result_bytes);
    safe.results = results.data();
  }
  if (many.lengths != nullptr) {
    lengths.assign(many.lengths, many.lengths + count);
    safe.lengths = lengths.data();
  }
  safe.status = status.data();
  const Code first = execute_many(call, table, safe, count);
  if (result_bytes != 0) std::memcpy(many.results, results.data(), result_bytes);
  if (many.lengths != nullptr) std::copy(lengths.begin(), lengths.end(), many.lengths);
  if (many.status != nullptr) std::copy(status.begin(), status.end(), many.status);
  return first;
}

Code execute_many(Call call, Table& table, Many many, std::size_t count) {
  if (may_fault(many.results, count * many.value_bytes) ||
      may_fault(many.lengths, count * sizeof *many.lengths) ||
      may_fault(many.status, count * sizeof *many.status))
    return execute_many_with_copies(call, table, many, count);
  Code first = SHMEMX_KV_OK;
  constexpr std::size_t kFew = 64;
  int few[kFew];
  std::vector<int> statuses;
  int* status = many.status;
  if (status == nullptr) {
    if (count > kFew) statuses.resize(std::min(count, kAtOnce));
    status = count > kFew ? statuses.data() : few;
  }
  while (count > 0) {
    const std::size_t n = std::min(count, kAtOnce);
    Many some = many;
    some.status = status;
    if (!Batch(call, table, some).execute(n))
      for (std::size_t i = 0; i < n && first == SHMEMX_KV_OK; ++i) first = status[i];
    if (many.status != nullptr) status += n;
    many.keys += n * many.key_bytes;
    if (many.lengths != nullptr) many.lengths += n;
    if (many.values != nullptr) many.values += n * many.value_bytes;
    if (many.results != nullptr) many.results += n * many.value_bytes;
    count -= n;
  }
  return first;
}

KvRequest Batch::request(const Key& key, std::size_t i) const {
  KvRequest request = many_.like;
  request.key = key;
  if (many_.values != nullptr) request.value = many_.values + i * many_.value_bytes;
  return request;
}

bool Batch::execute(std::size_t n) {
  try_local(n);
  if (far_.empty()) return all_found_;
  table_.count_remote(far_.size());
  if (std::max(many_.key_bytes, many_.value_bytes) > kLongestInRun) {
    issue_each();
    return false;
  }
  Sent sent{*this, std::vector<std::uint32_t>(far_.size())};
  send_all_runs(sent);
  Client::wait(call_, sent.left, WaitRecord::kNobody);
  return false;
}

// Gets the lean way, and what is not for it as others.  False: it is not for keys and values of these
// lengths.
bool Batch::get_lean(std::size_t n) {
  const LeanCalls& calls = *table_.lean;
  if (many_.like.op != KvOp::get || calls.key_bytes != many_.key_bytes ||
      calls.value_bytes != many_.value_bytes)
    return false;
  const LeanGot got = calls.get_many(table_, {many_.keys, many_.results, many_.lengths, many_.status}, n);
  all_found_ = got.found == n;
  std::size_t left = n - got.done;
  for (std::size_t i = 0; left != 0; ++i) {
    if (many_.status[i] != kBusy) continue;
    --left;
    const Key key = table_.key(many_.keys + i * many_.key_bytes, many_.key_bytes);
    try_local_one(i, key, table_.pe_of_key(key));
  }
  return true;
}

// All requests that need no other node.
void Batch::try_local(std::size_t n) {
  if (get_lean(n)) return;
  struct Asked {
    Key key;
    int pe;
  };
  in_stages<Asked>(
      n,
      [&](std::size_t i, Asked& asked) {
        asked.key = table_.key(many_.keys + i * many_.key_bytes, many_.key_bytes);
        asked.pe = table_.pe_of_key(asked.key);
        table_.prefetch_home(asked.key, asked.pe);
      },
      [&](std::size_t, const Asked& asked) { table_.prefetch_slot(asked.key, asked.pe); },
      [&](std::size_t i, const Asked& asked) {
        try_local_one(i, asked.key, asked.pe);
        return true;
      });
}

void Batch::try_local_one(std::size_t i, const Key& key, int pe) {
  ValueRoom result{this->result(i), 0};
  if (table_.is_here(pe) && !goes_after_others(pe) &&
      table_.try_local(pe, request(key, i), result, many_.status[i]))
    return note_length(i, result.n);
  send_later(i, pe);
}

void Batch::send_later(std::size_t i, int pe) {
  far_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(pe)});
  if (!table_.is_paged()) return;
  far_pes_.resize(rt.npes);
  far_pes_[static_cast<std::size_t>(pe)] = true;
}

void Batch::send_all_runs(Sent& sent) const {
  // By PE, each PE's in the order of the batch.
  std::vector<std::uint32_t> ends(rt.npes, 0);
  for (const Far& far : far_) ++ends[far.pe];
  std::uint32_t before = 0;
  for (std::uint32_t& end : ends) before += std::exchange(end, before);
  for (const Far& far : far_) sent.order[ends[far.pe]++] = far.request;
  // Everybody begins with another PE.
  for (unsigned i = 1; i < rt.npes; ++i) {
    const unsigned pe = (static_cast<unsigned>(rt.me) + i) % rt.npes;
    const std::uint32_t first = pe == 0 ? 0 : ends[pe - 1];
    if (first != ends[pe]) send_runs(static_cast<int>(pe), first, ends[pe], sent);
  }
}

// Requests order[first] to order[end - 1], all of them to `pe`.
void Batch::send_runs(int pe, std::uint32_t first, std::uint32_t end, Sent& sent) const {
  Client& client = table_.client();
  RunHead run{head_of(many_.like, reinterpret_cast<std::uintptr_t>(&sent), many_.results != nullptr), first,
              0};
  run.like.key_bytes = static_cast<std::uint32_t>(many_.key_bytes);
  const std::uint32_t most = most_in_run(table_.layout(), run.like);
  const std::size_t body = body_bytes(run.like);
  const KvPacketHead head{client.table(), KvPacketHead::run};
  alignas(8) std::byte packet[kPacketBytes];
  std::memcpy(packet, &head, sizeof head);
  for (; run.first < end; run.first += run.count) {
    run.count = std::min(most, end - run.first);
    std::memcpy(packet + sizeof head, &run, sizeof run);
    std::byte* to = packet + sizeof head + sizeof run;
    KvRequest request = many_.like;
    for (std::uint32_t i = 0; i < run.count; ++i, to += body) {
      const std::size_t number = sent.order[run.first + i];
      request.key.bytes = many_.keys + number * many_.key_bytes;
      if (many_.values != nullptr) request.value = many_.values + number * many_.value_bytes;
      write_body(to, run.like, request);
    }
    // Release: the order, and all that the caller did, come before what a reply does.
    sent.left.fetch_add(run.count, std::memory_order_release);
    client.send_run(call_, pe, packet, static_cast<std::size_t>(to - packet), run.count);
  }
}

void Batch::take_replies(int from, const std::byte* packet, std::size_t n) {
  RunReplyHead head;
  const std::byte* at = packet + sizeof(KvPacketHead);
  std::memcpy(&head, at, sizeof head);
  auto& sent = *reinterpret_cast<Sent*>(head.token);
  (void)sent.left.load(std::memory_order_acquire);
  const Batch& batch = sent.batch;
  at += sizeof head;
  for (std::uint32_t i = head.first; at < packet + n; ++i) {
    RunReply reply;
    std::memcpy(&reply, at, sizeof reply);
    at += sizeof reply;
    const std::uint32_t number = sent.order[i];
    const std::uint64_t bytes = bytes_of(reply, batch.many_.like.op);
    batch.many_.status[number] = reply.status;
    copy_often_a_word(batch.result(number), at, bytes);
    batch.note_length(number, reply.n);
    at += padded(bytes);
  }
  batch.table_.client().answered(from, head.count);
  sent.left.fetch_sub(head.count, std::memory_order_release);  // the last use of it
}

// Keys or values that are long.
void Batch::issue_each() const {
  std::vector<Outstanding> pending(far_.size());
  std::atomic<std::uint64_t> left{0};
  for (std::size_t i = 0; i < far_.size(); ++i) {
    const std::size_t number = far_[i].request;
    const Key key = table_.key(many_.keys + number * many_.key_bytes, many_.key_bytes);
    const KvRequest wanted = request(key, number);
    if (table_.travels_by_rma(wanted)) {
      ValueRoom none;
      many_.status[number] = table_.execute(call_, wanted, none);
      continue;
    }
    pending[i].status = &many_.status[number];
    pending[i].value = result(number);
    pending[i].n = many_.lengths == nullptr ? nullptr : many_.lengths + number;
    pending[i].left = &left;
    left.fetch_add(1, std::memory_order_relaxed);
    table_.client().issue(call_, static_cast<int>(far_[i].pe), wanted, table_.reply_bytes(wanted),
                          pending[i]);
  }
  table_.client().flush();
  Client::wait(call_, left, WaitRecord::kNobody);
}

}  // namespace shm::kv

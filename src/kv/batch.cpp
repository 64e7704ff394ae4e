// SPDX-License-Identifier: BSD-3-Clause
#include "kv/batch.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "base/names.hpp"
#include "core/wait.hpp"
#include "kv/message_check.hpp"
#include "kv/stages.hpp"

namespace shm::kv {
namespace {

constexpr std::size_t kAtOnce = 8192;        // requests: more than fill the packets of some PEs
constexpr std::size_t kLongestInRun = 1024;  // key, or value
// Nonblocking, runs of so few requests, or bytes, wait for others in a packet.
constexpr std::uint32_t kFewInRun = kMostInRuns / 2;
constexpr std::size_t kShortRun = kRunBytes / 4;

// How many requests like this one a packet has, and one of their replies.
std::uint32_t most_in_run(const ShardLayout& layout, const RequestHead& like) {
  const std::size_t request = body_bytes(like);
  const std::size_t reply = sizeof(RunReply) + padded(reply_bytes(layout, like));
  return std::min<std::uint32_t>(kMostInRuns,
                                 static_cast<std::uint32_t>(kRunBytes / std::max(request, reply)));
}

}  // namespace

// What awaits the replies to runs.
struct Batch::Sent {
  static constexpr std::uint32_t kAnswered = std::uint32_t{1} << 31;

  Sent(const Batch& of, std::size_t requests)
      : batch(of), order(requests), ends(of.table_.members().size(), 0), name(names().add(this)) {}
  ~Sent() {
    Sent* self = nullptr;
    names().take(name, self);
  }
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;

  /// Where in `order` those begin that `pe` was sent; they end where those of the next PE begin.
  std::uint32_t begin_of(int pe) const { return pe == 0 ? 0 : ends[static_cast<std::size_t>(pe) - 1]; }
  std::uint32_t end_of(int pe) const { return ends[static_cast<std::size_t>(pe)]; }
  void check_asked(int from, const RunReplyHead& replies) const;

  const Batch& batch;
  std::vector<std::uint32_t> order;  // requests, in the order in which they are sent, with kAnswered
  std::vector<std::uint32_t> ends;   // in `order`, by PE
  std::atomic<std::uint64_t> left{0};
  const std::uint64_t name;  // by which replies find it
  Later* later = nullptr;    // what it belongs to, which ends with it
};

// A part of a nonblocking batch.
struct Batch::Later {
  Later(Call call, Table& table, const Many& many, std::size_t n)
      : own_status(many.status == nullptr ? n : 0), batch(call, table, with_status(many)) {}

  Many with_status(Many many) {
    if (many.status == nullptr) many.status = own_status.data();
    return many;
  }
  // All has been sent, or has been answered: the second of them ends it.
  void end_one() {
    if (ends.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // Of whoever takes the last reply.
  void answered() {
    if (handle != nullptr) handle->fetch_sub(1, std::memory_order_release);
    Client::end_unattended(unattended);
    end_one();
  }

  std::vector<int> own_status;
  Batch batch;
  std::optional<Sent> sent;
  std::atomic<int> ends{2};
  std::atomic<std::uint64_t>* unattended = nullptr;
  std::atomic<std::uint64_t>* handle = nullptr;
};

// Never destroyed: replies may arrive while a thread runs exit().
Names<Batch::Sent*>& Batch::names() {
  static auto& all = *new Names<Sent*>;
  return all;
}

// Replies are to requests that PE `from` was sent.  REQUIRES: there were so many.
void Batch::Sent::check_asked(int from, const RunReplyHead& replies) const {
  const std::uint32_t first = replies.first, last = first + replies.count - 1;
  const Members& members = batch.table_.members();
  const int member = members.member(from);
  if (member >= 0 && first >= begin_of(member) && last < end_of(member)) [[likely]]
    return;
  for (const std::uint32_t each : {first, last}) {
    const auto asked = std::ranges::upper_bound(ends, each) - ends.begin();
    check_who_answers(from, kTableReplies, members.world_pe(static_cast<int>(asked)));
  }
}

// Past n requests, but for their statuses.
static void skip(Many& many, std::size_t n) {
  many.keys += n * many.key_bytes;
  if (many.lengths != nullptr) many.lengths += n;
  if (many.values != nullptr) many.values += n * many.value_bytes;
  if (many.expected != nullptr) many.expected += n * many.value_bytes;
  if (many.results != nullptr) many.results += n * many.value_bytes;
}

// Whether something that a reply sets lies in the heap on NVM (may_fault).
static bool any_may_fault(const Many& many, std::size_t count) {
  return may_fault(many.results, count * many.value_bytes) ||
         may_fault(many.lengths, count * sizeof *many.lengths) ||
         may_fault(many.status, count * sizeof *many.status);
}

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
  if (any_may_fault(many, count)) return execute_many_with_copies(call, table, many, count);
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
    skip(many, n);
    count -= n;
  }
  return first;
}

void issue_many(Call call, Table& table, Many many, std::size_t count, Handle** handle) {
  if (any_may_fault(many, count)) {
    static_cast<void>(execute_many(call, table, many, count));
    return;
  }
  while (count > 0) {
    const std::size_t n = std::min(count, kAtOnce);
    Batch::issue(std::make_unique<Batch::Later>(call, table, many, n), n, handle);
    if (many.status != nullptr) many.status += n;
    skip(many, n);
    count -= n;
  }
}

KvRequest Batch::request(const Key& key, std::size_t i) const {
  KvRequest request = many_.like;
  request.key = key;
  if (many_.values != nullptr) request.value = many_.values + i * many_.value_bytes;
  if (many_.expected != nullptr) request.expected = many_.expected + i * many_.value_bytes;
  return request;
}

bool Batch::execute(std::size_t n) {
  try_local(n);
  if (far_.empty()) return all_found_;
  if (OneSidedGets* const gets = table_.reads(request({}, 0)); gets != nullptr && read_far(*gets))
    return false;
  table_.count_remote(far_.size());
  if (are_long()) {
    issue_each();
    return false;
  }
  Sent sent(*this, far_.size());
  send_all_runs(sent);
  Client::wait(call_, sent.left, WaitRecord::kNobody);
  return false;
}

bool Batch::are_long() const { return std::max(many_.key_bytes, many_.value_bytes) > kLongestInRun; }

void Batch::issue(std::unique_ptr<Later> owned, std::size_t n, Handle** handle) {
  Batch& batch = owned->batch;
  batch.try_local(n);
  if (batch.far_.empty()) return;
  batch.table_.count_remote(batch.far_.size());
  if (batch.are_long()) return batch.issue_each_later(handle, owned->own_status.empty());
  for (const Far& far : batch.far_) batch.many_.status[far.request] = SHMEMX_KV_PENDING;
  Later* later = owned.release();
  later->unattended = batch.table_.client().begin_unattended();
  if (handle != nullptr) later->handle = Handle::one_more(handle, batch.table_);
  later->sent.emplace(batch, batch.far_.size());
  later->sent->later = later;
  batch.send_all_runs(*later->sent);
  later->end_one();
}

// Gets the lean way, and what is not for it as others.  False: it is not for keys and values of these
// lengths.
bool Batch::get_lean(std::size_t n) {
  const LeanCalls& calls = table_.calls();
  if (many_.like.op != KvOp::get || calls.key_bytes != many_.key_bytes ||
      calls.value_bytes != many_.value_bytes)
    return false;
  if (table_.has_others()) far_.resize(n);
  const LeanGot got =
      calls.get_many(table_, {many_.keys, many_.results, many_.lengths, many_.status, far_.data()}, n);
  far_.resize(got.far);
  all_found_ = got.found == n;
  std::size_t left = n - got.done - got.far;
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
    return note_length(i, many_.status[i], result.n);
  send_later(i, pe);
}

void Batch::send_later(std::size_t i, int pe) {
  far_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(pe)});
  if (!table_.is_paged()) return;
  far_pes_.resize(static_cast<std::size_t>(table_.members().size()));
  far_pes_[static_cast<std::size_t>(pe)] = true;
}

// Gets; returns whether none is left to be sent.
bool Batch::read_far(OneSidedGets& gets) {
  const bool is_get = many_.like.op == KvOp::get;
  std::vector<OneSidedGets::Wanted> all;
  all.reserve(far_.size());
  for (const Far& far : far_) {
    const std::size_t i = far.request;
    all.push_back({table_.key(many_.keys + i * many_.key_bytes, many_.key_bytes), static_cast<int>(far.pe),
                   result(i), is_get ? many_.like.n : 0, !is_get});
  }
  gets.get_all(call_, all);
  std::size_t left = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const OneSidedGets::Wanted& got = all[k];
    if (!got.is_answered) {
      far_[left++] = far_[k];
      continue;
    }
    const std::size_t i = far_[k].request;
    many_.status[i] = got.status;
    note_length(i, got.status, got.n);
    table_.count_read(many_.like.op, got.key);
  }
  far_.resize(left);
  return left == 0;
}

void Batch::send_all_runs(Sent& sent) const {
  // By PE, each PE's in the order of the batch.
  for (const Far& far : far_) ++sent.ends[far.pe];
  std::uint32_t before = 0;
  for (std::uint32_t& end : sent.ends) before += std::exchange(end, before);
  for (const Far& far : far_) sent.order[sent.ends[far.pe]++] = far.request;
  // Release: the order, and all that the caller did, come before what a reply does.
  sent.left.store(far_.size(), std::memory_order_release);
  // Everybody begins with another PE.
  const Members& members = table_.members();
  for (int i = 1; i < members.size(); ++i) {
    const int pe = (members.me() + i) % members.size();
    if (sent.begin_of(pe) != sent.end_of(pe)) send_runs(pe, sent.begin_of(pe), sent.end_of(pe), sent);
  }
}

// Requests order[first] to order[end - 1], all of them to `pe`.
void Batch::send_runs(int pe, std::uint32_t first, std::uint32_t end, const Sent& sent) const {
  Client& client = table_.client();
  RunHead run{head_of(many_.like, sent.name, many_.results != nullptr), first, 0};
  run.like.key_bytes = static_cast<std::uint32_t>(many_.key_bytes);
  const std::uint32_t most = most_in_run(table_.layout(), run.like);
  const std::size_t body = body_bytes(run.like);
  const KvPacketHead head{client.table_at(pe), KvPacketHead::run};
  alignas(8) std::byte packet[kPacketBytes];
  std::memcpy(packet, &head, sizeof head);
  for (; run.first < end; run.first += run.count) {
    run.count = std::min(most, end - run.first);
    std::memcpy(packet + sizeof head, &run, sizeof run);
    std::byte* to = packet + sizeof head + sizeof run;
    KvRequest request = many_.like;
    for (std::uint32_t i = 0; i < run.count; ++i, to += body) {
      const std::size_t number = sent.order[run.first + i] & ~Sent::kAnswered;  // which a PE may set too soon
      request.key.bytes = many_.keys + number * many_.key_bytes;
      if (many_.values != nullptr) request.value = many_.values + number * many_.value_bytes;
      if (many_.expected != nullptr) request.expected = many_.expected + number * many_.value_bytes;
      write_body(to, run.like, request);
    }
    const auto n = static_cast<std::size_t>(to - packet);
    if (sent.later != nullptr && run.count < kFewInRun && n < kShortRun) {
      client.gather_run(call_, pe, packet + sizeof head, n - sizeof head, run.count);
    } else {
      client.send_run(call_, pe, packet, n, run.count);
    }
  }
}

void Batch::take_replies(int from, const std::byte* packet, std::size_t n) {
  const std::byte* at = packet + sizeof(KvPacketHead);
  n -= sizeof(KvPacketHead);
  do {
    const std::size_t taken = take_run_replies(from, at, n);
    at += taken;
    n -= taken;
    if (n != 0 && n < sizeof(RunReplyHead)) [[unlikely]]
      refuse_message(from, kTableReplies, "with bytes behind its last reply");
  } while (n != 0);
}

// Of the run whose replies are first among n bytes.  Returns how many bytes they have.
std::size_t Batch::take_run_replies(int from, const std::byte* replies, std::size_t n) {
  RunReplyHead head{};
  const std::byte* at = replies;
  if (n >= sizeof head) std::memcpy(&head, at, sizeof head);
  Sent* asked = nullptr;
  if (!names().find(head.token, asked)) [[unlikely]]
    refuse_message(from, kTableReplies, "to nobody's request");
  Sent& sent = *asked;
  const std::uint64_t left = sent.left.load(std::memory_order_acquire);
  if (left == head.count) names().take(head.token, asked);  // nobody finds it when it is about to end
  const Batch& batch = sent.batch;
  const Many& many = batch.many_;
  const std::uint64_t most =
      gives_value(many.like.op) ? many.value_bytes : old_bytes(head_of(many.like, 0, true));
  const std::uint64_t room = many.results == nullptr ? 0 : most;
  check_message(from, kTableReplies, wrong_with_run_replies(head, sent.order.size(), left));
  sent.check_asked(from, head);
  at += sizeof head;
  n -= sizeof head;
  for (std::uint32_t i = head.first; i != head.first + head.count; ++i) {
    RunReply reply;
    check_message(from, kTableReplies, wrong_with_run_reply(at, n, many.like.op, room));
    std::memcpy(&reply, at, sizeof reply);
    at += sizeof reply;
    const std::uint32_t number = sent.order[i];
    if ((number & Sent::kAnswered) != 0) [[unlikely]]
      refuse_message(from, kTableReplies, "to a request that it has answered");
    sent.order[i] |= Sent::kAnswered;
    const std::uint64_t bytes = bytes_of(reply, many.like.op);
    copy_often_a_word(batch.result(number), at, bytes);
    batch.note_length(number, reply.status, reply.n);
    __atomic_store_n(&many.status[number], reply.status, __ATOMIC_RELEASE);
    at += padded(bytes);
    n -= sizeof reply + padded(bytes);
  }
  batch.table_.client().answered(batch.table_.members().member(from), head.count);
  Later* const later = sent.later;
  // The last use of it, but for one that is later's.
  if (sent.left.fetch_sub(head.count, std::memory_order_acq_rel) == head.count && later != nullptr)
    later->answered();
  return static_cast<std::size_t>(at - replies);
}

void take_replies(int from, const std::byte* message, std::size_t n) {
  check_message(from, kTableReplies,
                wrong_with_packet(message, n, KvPacketHead::replies, KvPacketHead::run_replies));
  const auto kind = head_at<KvPacketHead>(message).kind;
  if (kind == KvPacketHead::run_replies) return Batch::take_replies(from, message, n);
  Client::take(from, message, n, kind);
}

// Keys or values that are long, nonblocking.
void Batch::issue_each_later(Handle** handle, bool wants_status) const {
  for (const Far& far : far_) {
    const std::size_t i = far.request;
    const Key key = table_.key(many_.keys + i * many_.key_bytes, many_.key_bytes);
    table_.issue(call_, request(key, i), result(i),
                 {wants_status ? &many_.status[i] : nullptr,
                  many_.lengths == nullptr ? nullptr : many_.lengths + i, handle});
  }
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

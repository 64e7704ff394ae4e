// SPDX-License-Identifier: BSD-3-Clause
#include "kv/client.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/names.hpp"
#include "base/stats.hpp"
#include "core/progress.hpp"
#include "core/wait.hpp"
#include "kv/message_check.hpp"

namespace shm::kv {
namespace {

constexpr auto kRequests = static_cast<std::uint16_t>(MessageId::kv_request);

// Requests that await replies.  Never destroyed: these may arrive while a thread runs exit().
Names<Outstanding*>& waiting_names = *new Names<Outstanding*>;

}  // namespace

std::atomic<std::uint64_t> Client::all_unattended{0}, Client::holding{0};

Client::Client(std::uint32_t table, unsigned npes) : targets_(npes) {
  for (unsigned pe = 0; pe < npes; ++pe) {
    targets_[pe].pe = static_cast<int>(pe);
    targets_[pe].table = table;
  }
}

Client::Client(const Members& members, const std::vector<MemberShard>& told) : targets_(told.size()) {
  for (std::size_t i = 0; i < told.size(); ++i) {
    targets_[i].pe = members.world_pe(static_cast<int>(i));
    targets_[i].table = static_cast<std::uint32_t>(told[i].number);
  }
}

void Client::count_packet() {
  packets_.fetch_add(1, std::memory_order_relaxed);
  count(Stat::kv_packets);
}

void Client::make_room(Call call, int pe, Target& target) {
  if (target.under_way.load(std::memory_order_relaxed) < kMostUnderWay) return;
  // Again and again: part of what is under way may be what other threads have put into the packet since.
  for (std::uint64_t seen; (seen = target.under_way.load(std::memory_order_relaxed)) >= kMostUnderWay / 2;) {
    flush(pe);
    wait_for([&] { return target.under_way.load(std::memory_order_relaxed) != seen; },
             [&](WaitRecord& record) {
               describe_wait(record, call.name, target.pe, "for PE %d to answer earlier requests", target.pe);
             });
  }
}

void Client::send_run(Call call, int pe, const std::byte* packet, std::size_t n, std::uint32_t count) {
  Target& target = targets_[static_cast<std::size_t>(pe)];
  make_room(call, pe, target);
  target.under_way.fetch_add(count, std::memory_order_relaxed);
  const LockGuard guard(target.mutex);
  send(target);
  rt.progress->send(target.pe, kRequests, packet, n);
  count_packet();
}

void Client::gather_run(Call call, int pe, const std::byte* run, std::size_t n, std::uint32_t count) {
  Target& target = targets_[static_cast<std::size_t>(pe)];
  make_room(call, pe, target);
  target.under_way.fetch_add(count, std::memory_order_seq_cst);  // as in issue()
  {
    const LockGuard guard(target.mutex);
    if (target.in_runs == 0 || target.used + n > kPacketBytes) send(target);
    begin(target, KvPacketHead::run);
    copy_bytes(target.packet.get() + target.used, run, n);
    target.used += n;
    target.in_runs += count;
    if (target.in_runs >= kMostInRuns) return send(target);
  }
  hold();
}

void Client::issue(Call call, int pe, const KvRequest& request, std::uint64_t reply_bytes,
                   Outstanding& pending) {
  Target& target = targets_[static_cast<std::size_t>(pe)];
  make_room(call, pe, target);
  pending.pe = target.pe;
  RequestHead head = head_of(request, 0, pending.value != nullptr);
  if (pending.value != nullptr)
    pending.room = static_cast<std::uint32_t>(gives_value(head.op) ? reply_bytes : old_bytes(head));
  const std::size_t size = sizeof head + body_bytes(head);
  pending.gives = gives_value(head.op);
  pending.by_rma = request.by_rma;
  pending.weight = static_cast<std::uint32_t>(1 + (reply_bytes + size) / 1024);
  // With the order of quiet(), it sees that something is under way here, or this sees its new epoch.
  target.under_way.fetch_add(pending.weight, std::memory_order_seq_cst);
  pending.under_way = &target.under_way;
  const auto write = [&](std::byte* to) {
    std::memcpy(to, &head, sizeof head);
    write_body(to + sizeof head, head, request);
  };
  const bool nobody_waits = pending.left == nullptr;
  {
    const LockGuard guard(target.mutex);
    if (nobody_waits) {
      pending.left = &unattended_[epoch_.load(std::memory_order_seq_cst) % 2];
      pending.left->fetch_add(1, std::memory_order_relaxed);
      all_unattended.fetch_add(1, std::memory_order_relaxed);
    }
    // Last: who answers before it was asked finds nobody, or all that it needs.
    head.token = waiting_names.add(&pending);
    gather(target, size, write);
  }
  if (nobody_waits) hold();
}

// Whoever polls sends it, if the program does not before; at first nobody knows of it.
void Client::hold() {
  if (!holds() && !set_holds(true)) rt.progress->wake();
}

void Client::begin(Target& target, KvPacketHead::Kind kind) {
  if (target.packet == nullptr) target.packet = std::make_unique_for_overwrite<std::byte[]>(kPacketBytes);
  if (target.used != 0) return;
  const KvPacketHead packet{target.table, kind};
  std::memcpy(target.packet.get(), &packet, sizeof packet);
  target.used = sizeof packet;
}

template <class Write>
void Client::gather(Target& target, std::size_t size, Write write) {
  if (target.in_runs != 0 || target.used + size > kPacketBytes) send(target);
  if (sizeof(KvPacketHead) + size > kPacketBytes) {
    const auto whole = std::make_unique_for_overwrite<std::byte[]>(size);
    write(whole.get());
    return send_pieces(target, whole.get(), size);
  }
  begin(target, KvPacketHead::requests);
  write(target.packet.get() + target.used);
  target.used += size;
}

void Client::send(Target& target) {
  if (target.used == 0) return;
  rt.progress->send(target.pe, kRequests, target.packet.get(), target.used);
  target.used = 0;
  target.in_runs = 0;
  target.seen = {};
  count_packet();
}

bool Client::set_holds(bool holds) {
  const bool held = holds_.exchange(holds, std::memory_order_seq_cst);
  if (holds != held) holding.fetch_add(holds ? 1 : ~std::uint64_t{0}, std::memory_order_release);
  return held;
}

bool Client::send_held() {
  if (!holds()) return false;
  set_holds(false);  // before it looks: who adds to a packet later sets it again
  const auto now = std::chrono::steady_clock::now();
  bool sent = false, left = false;
  for (Target& target : targets_) {
    if (target.under_way.load(std::memory_order_seq_cst) == 0) continue;
    if (!target.mutex.try_lock()) {  // somebody fills it, or sends
      left = true;
      continue;
    }
    const LockGuard guard(target.mutex, std::adopt_lock);
    if (target.used == 0) continue;
    if (target.seen == std::chrono::steady_clock::time_point{}) target.seen = now;
    if (now - target.seen < kLongestHold) {
      left = true;
      continue;
    }
    send(target);
    sent = true;
  }
  if (left) set_holds(true);
  return sent;
}

void Client::send_pieces(const Target& target, const std::byte* request, std::size_t n) {
  std::byte packet[kPacketBytes];
  for (std::size_t offset = 0; offset < n; offset += kPieceBytes) {
    const std::size_t now = std::min(kPieceBytes, n - offset);
    const KvPacketHead head{target.table, KvPacketHead::request_piece};
    const PieceHead piece{offset, n};
    std::memcpy(packet, &head, sizeof head);
    std::memcpy(packet + sizeof head, &piece, sizeof piece);
    std::memcpy(packet + sizeof head + sizeof piece, request + offset, now);
    rt.progress->send(target.pe, kRequests, packet, sizeof head + sizeof piece + now);
    count_packet();
  }
}

void Client::flush(int pe) {
  Target& target = targets_[static_cast<std::size_t>(pe)];
  const LockGuard guard(target.mutex);
  send(target);
}

void Client::flush() {
  for (std::size_t pe = 0; pe < targets_.size(); ++pe) {
    if (targets_[pe].under_way.load(std::memory_order_seq_cst) != 0) flush(static_cast<int>(pe));
  }
}

// Whoever begins an epoch after this has looked at it sees the count; one that began before is not counted
// in.
std::atomic<std::uint64_t>* Client::begin_unattended() {
  all_unattended.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    const unsigned epoch = epoch_.load(std::memory_order_seq_cst);
    std::atomic<std::uint64_t>& counter = unattended_[epoch % 2];
    counter.fetch_add(1, std::memory_order_seq_cst);
    if (epoch_.load(std::memory_order_seq_cst) == epoch) return &counter;
    counter.fetch_sub(1, std::memory_order_release);
  }
}

void Client::quiet(Call call) {
  if (is_quiet()) return;
  const LockGuard guard(quiet_mutex_);
  if (is_quiet()) return;  // and end() may have come meanwhile
  const unsigned before = epoch_.fetch_add(1, std::memory_order_seq_cst) % 2;
  flush();
  wait(call, unattended_[before], WaitRecord::kNobody);
}

bool Client::test() {
  if (is_quiet()) return true;
  flush();
  rt.progress->poll();
  return is_quiet();
}

void Client::rest() { const LockGuard guard(quiet_mutex_); }

void Client::end() {
  set_holds(false);
  std::vector<Target>().swap(targets_);
}

void Client::wait(Call call, const std::atomic<std::uint64_t>& left, int pe) {
  wait_for([&] { return left.load(std::memory_order_acquire) == 0; },
           [&](WaitRecord& record) {
             const auto n = static_cast<std::size_t>(left.load());
             describe_wait(record, call.name, pe, n == 1 ? "for an answer" : "for %zu answers", n);
           });
}

namespace {

void finish(Outstanding& pending, Code status, std::uint64_t n) {
  std::atomic<std::uint64_t>* left = pending.left;
  pending.under_way->fetch_sub(pending.weight, std::memory_order_relaxed);
  if (pending.n != nullptr && has_length(status)) *pending.n = n;
  if (pending.status != nullptr) __atomic_store_n(pending.status, status, __ATOMIC_RELEASE);
  if (pending.handle != nullptr) pending.handle->fetch_sub(1, std::memory_order_release);
  if (!pending.mine) {
    left->fetch_sub(1, std::memory_order_release);
    return;
  }
  delete &pending;
  Client::end_unattended(left);
}

}  // namespace

namespace {

ReplyLimits limits_of(const Outstanding& pending) { return {pending.room, pending.gives, pending.by_rma}; }

// Who waits for the reply, which PE `from` has sent.  `last`: nothing more will come for it.
Outstanding& awaited(int from, std::uint64_t token, bool last) {
  Outstanding* pending = nullptr;
  if (!(last ? waiting_names.take(token, pending) : waiting_names.find(token, pending))) [[unlikely]]
    refuse_message(from, kTableReplies, "to nobody's request");
  check_who_answers(from, kTableReplies, pending->pe);
  return *pending;
}

}  // namespace

void Client::take(int from, const std::byte* packet, std::size_t n, KvPacketHead::Kind kind) {
  if (kind == KvPacketHead::reply_piece) return take_reply_piece(from, packet, n);
  take_replies(from, packet, n);
}

void Client::take_replies(int from, const std::byte* packet, std::size_t n) {
  for (std::size_t at = sizeof(KvPacketHead); at < n;) {
    if (n - at < sizeof(KvReplyHead)) [[unlikely]]
      refuse_message(from, kTableReplies, kCutOff);
    const auto head = head_at<KvReplyHead>(packet + at);
    at += sizeof head;
    Outstanding& pending = awaited(from, head.token, true);
    check_message(from, kTableReplies, wrong_with_reply(head, n - at, limits_of(pending), pending.arrived));
    if (pending.value != nullptr) copy_often_a_word(pending.value, packet + at, head.bytes);
    at += padded(head.bytes);
    finish(pending, head.status, head.n);
  }
}

void Client::take_reply_piece(int from, const std::byte* packet, std::size_t n) {
  const std::byte* at = packet + sizeof(KvPacketHead);
  n -= sizeof(KvPacketHead);
  check_message(from, kTableReplies, wrong_with_reply_piece(at, n));
  const auto piece = head_at<PieceHead>(at);
  const auto head = head_at<KvReplyHead>(at + sizeof piece);
  constexpr std::size_t kHeads = sizeof piece + sizeof head;
  const bool last = head.bytes == piece.total - piece.offset;
  Outstanding& pending = awaited(from, head.token, last);
  check_message(from, kTableReplies,
                wrong_with_next_piece(head, piece, n - kHeads, limits_of(pending), pending.arrived));
  copy_bytes(static_cast<std::byte*>(pending.value) + piece.offset, at + kHeads, head.bytes);
  pending.arrived += head.bytes;
  if (last) finish(pending, head.status, head.n);
}

}  // namespace shm::kv

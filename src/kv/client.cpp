// SPDX-License-Identifier: BSD-3-Clause
#include "kv/client.hpp"

#include <algorithm>
#include <cstring>

#include "base/stats.hpp"
#include "core/progress.hpp"
#include "core/wait.hpp"

namespace shm::kv {
namespace {

constexpr auto kRequests = static_cast<std::uint16_t>(MessageId::kv_request);

}  // namespace

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
               describe_wait(record, call.name, pe, "for PE %d to answer earlier requests", pe);
             });
  }
}

void Client::send_run(Call call, int pe, const std::byte* packet, std::size_t n, std::uint32_t count) {
  Target& target = targets_[static_cast<std::size_t>(pe)];
  make_room(call, pe, target);
  target.under_way.fetch_add(count, std::memory_order_relaxed);
  const LockGuard guard(target.mutex);
  send(pe, target);
  rt.progress->send(pe, kRequests, packet, n);
  count_packet();
}

void Client::issue(Call call, int pe, const KvRequest& request, std::uint64_t reply_bytes,
                   Outstanding& pending) {
  Target& target = targets_[static_cast<std::size_t>(pe)];
  make_room(call, pe, target);
  const RequestHead head =
      head_of(request, reinterpret_cast<std::uintptr_t>(&pending), pending.value != nullptr);
  const std::size_t size = sizeof head + body_bytes(head);
  pending.weight = 1 + (reply_bytes + size) / 1024;
  // With the order of quiet(), it sees that something is under way here, or this sees its new epoch.
  target.under_way.fetch_add(pending.weight, std::memory_order_seq_cst);
  pending.under_way = &target.under_way;
  const auto write = [&](std::byte* to) {
    std::memcpy(to, &head, sizeof head);
    write_body(to + sizeof head, head, request);
  };
  const LockGuard guard(target.mutex);
  if (pending.left == nullptr) {
    pending.left = &unattended_[epoch_.load(std::memory_order_seq_cst) % 2];
    pending.left->fetch_add(1, std::memory_order_relaxed);
  }
  if (target.used + size > kPacketBytes) send(pe, target);
  if (sizeof(KvPacketHead) + size > kPacketBytes) {
    const auto whole = std::make_unique_for_overwrite<std::byte[]>(size);
    write(whole.get());
    return send_pieces(pe, whole.get(), size);
  }
  if (target.packet == nullptr) target.packet = std::make_unique_for_overwrite<std::byte[]>(kPacketBytes);
  if (target.used == 0) {
    const KvPacketHead packet{table_, KvPacketHead::requests};
    std::memcpy(target.packet.get(), &packet, sizeof packet);
    target.used = sizeof packet;
  }
  write(target.packet.get() + target.used);
  target.used += size;
}

void Client::send(int pe, Target& target) {
  if (target.used == 0) return;
  rt.progress->send(pe, kRequests, target.packet.get(), target.used);
  target.used = 0;
  count_packet();
}

void Client::send_pieces(int pe, const std::byte* request, std::size_t n) {
  std::byte packet[kPacketBytes];
  for (std::size_t offset = 0; offset < n; offset += kPieceBytes) {
    const std::size_t now = std::min(kPieceBytes, n - offset);
    const KvPacketHead head{table_, KvPacketHead::request_piece};
    const PieceHead piece{offset, n};
    std::memcpy(packet, &head, sizeof head);
    std::memcpy(packet + sizeof head, &piece, sizeof piece);
    std::memcpy(packet + sizeof head + sizeof piece, request + offset, now);
    rt.progress->send(pe, kRequests, packet, sizeof head + sizeof piece + now);
    count_packet();
  }
}

void Client::flush(int pe) {
  Target& target = targets_[static_cast<std::size_t>(pe)];
  const LockGuard guard(target.mutex);
  send(pe, target);
}

void Client::flush() {
  for (std::size_t pe = 0; pe < targets_.size(); ++pe) {
    if (targets_[pe].under_way.load(std::memory_order_seq_cst) != 0) flush(static_cast<int>(pe));
  }
}

void Client::quiet(Call call) {
  if (is_quiet()) return;
  const LockGuard guard(quiet_mutex_);
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

void Client::end() { std::vector<Target>().swap(targets_); }

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
  if (pending.mine) delete &pending;
  left->fetch_sub(1, std::memory_order_release);
}

}  // namespace

void Client::take_replies(const std::byte* packet, std::size_t n, KvPacketHead::Kind kind) {
  std::size_t at = sizeof(KvPacketHead);
  PieceHead piece{};
  if (kind == KvPacketHead::reply_piece) {
    std::memcpy(&piece, packet + at, sizeof piece);
    at += sizeof piece;
  }
  while (at < n) {
    KvReplyHead head;
    std::memcpy(&head, packet + at, sizeof head);
    at += sizeof head;
    auto& pending = *reinterpret_cast<Outstanding*>(head.token);
    if (pending.value != nullptr && head.bytes != 0)
      std::memcpy(static_cast<std::byte*>(pending.value) + piece.offset, packet + at, head.bytes);
    at += padded(head.bytes);
    if (piece.offset + head.bytes >= piece.total) finish(pending, head.status, head.n);
  }
}

}  // namespace shm::kv

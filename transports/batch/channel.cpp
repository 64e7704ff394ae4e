// SPDX-License-Identifier: BSD-3-Clause
#include "batch/channel.hpp"

#include <sched.h>

#include <chrono>
#include <mutex>

#include "base/fatal.hpp"
#include "base/stats.hpp"

namespace shm::batch {

std::int64_t clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Batcher::set_batching(bool on, std::size_t total_ops) {
  {
    const std::scoped_lock guard(lock_);
    expected_ = total_ops;
  }
  batching_.store(on, std::memory_order_release);
  if (!on) flush(kNever);
}

void Batcher::append(int pe, const RecordHead& head, const void* operands, const Awaited* result) {
  Lane& to = lane(pe);
  const std::size_t size = record_size(head.length);
  lock_.lock();
  for (WaitWatch watch; to.open != nullptr && !to.open->has_room(size);) make_room(pe, to, watch);
  note_fence(to);
  if (to.open == nullptr) open(pe, to);
  to.open->add(head, operands);
  if (result != nullptr) to.open->results.push_back(*result);
  const bool last = expected_ != SIZE_MAX && --expected_ == 0;
  if (last) expected_ = SIZE_MAX;
  std::unique_ptr<Packet> full = to.open->has_room(kSmallestRecord) ? nullptr : close(to);
  lock_.unlock();
  if (full != nullptr) transmit(pe, std::move(full));
  if (last) flush(kNever);
}

void Batcher::open(int pe, Lane& to) {
  if (spare_.empty()) {
    to.open = std::make_unique<Packet>();
  } else {
    to.open = std::move(spare_.back());
    spare_.pop_back();
  }
  to.pending.fetch_add(1, std::memory_order_relaxed);
  pending_.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t now = clock_now();
  held_.push_back({pe, to.closed, now});
  if (held_.size() == 1) set_deadline();
  carrier_.opened(now + kLongestHold);
}

// Takes the open packet out of the lane, if it may leave now; pass it to transmit().
std::unique_ptr<Packet> Batcher::close(Lane& of) {
  if (of.open == nullptr || of.sending || of.closed - of.acked == kWindow) return nullptr;
  of.sending = true;
  of.wanted = false;
  of.open->finish(reinterpret_cast<std::uintptr_t>(this));
  of.results[of.closed % kWindow].swap(of.open->results);
  ++of.closed;
  pending_.fetch_add(1, std::memory_order_relaxed);
  return std::move(of.open);
}

void Batcher::make_room(int pe, Lane& to, WaitWatch& watch) {
  std::unique_ptr<Packet> packet = close(to);
  if (packet == nullptr) to.wanted = true;
  lock_.unlock();
  if (packet != nullptr) {
    transmit(pe, std::move(packet));
  } else {
    pause(pe, watch);
  }
  lock_.lock();
}

// Waits a little for PE `pe` to apply packets.
void Batcher::pause(int pe, WaitWatch& watch) {
  if (carrier_.progress()) return;
  watch.look(WaitReason([pe](WaitRecord& record) {
    describe_wait(record, "an operation of a session", pe, "for PE %d to apply what was sent before", pe);
  }));
  sched_yield();
}

void Batcher::transmit(int pe, std::unique_ptr<Packet> packet) {
  Lane& to = lane(pe);
  while (packet != nullptr) {
    carrier_.carry(pe, packet->bytes.data(), packet->size);
    count(Stat::puts, packet->puts);
    count(Stat::put_bytes, packet->put_bytes);
    count(Stat::atomics, packet->records - packet->puts);
    count(Stat::packets);
    count(Stat::packed, packet->records);
    packet->clear();
    std::unique_ptr<Packet> next;
    {
      const std::scoped_lock guard(lock_);
      spare_.push_back(std::move(packet));
      to.sending = false;
      next = take_wanted(to);
    }
    packet = std::move(next);
    pending_.fetch_sub(1,
                       std::memory_order_release);  // last: unless there is a next, the channel may be gone
  }
}

void Batcher::acknowledge(int pe, const std::byte* results, std::size_t n) {
  Lane& from = lane(pe);
  std::vector<Awaited> waiting;
  {
    const std::scoped_lock guard(lock_);
    waiting.swap(from.results[from.acked % kWindow]);
  }
  if (waiting.size() * 8 != n)
    fatal("internal error: PE %d answered %zu bytes to a packet with %zu results", pe, n, waiting.size());
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].fetch != nullptr) std::memcpy(waiting[i].fetch, results + 8 * i, waiting[i].width);
    if (waiting[i].completion != nullptr) waiting[i].completion->set_done();
  }
  std::unique_ptr<Packet> next;
  {
    const std::scoped_lock guard(lock_);
    ++from.acked;
    next = take_wanted(from);
  }
  if (next != nullptr) transmit(pe, std::move(next));
  // Release: who sees 0 sees the results.  The last one is the last use of the channel.
  from.pending.fetch_sub(1, std::memory_order_release);
  pending_.fetch_sub(1, std::memory_order_release);
}

void Batcher::flush_to(int pe) {
  if (lane(pe).pending.load(std::memory_order_relaxed) != 0) want(pe);
}

// Sends the open packet now, or has it sent by whoever ends what is in its way.
void Batcher::want(int pe) {
  lock_.lock();
  Lane& to = lane(pe);
  to.wanted = to.open != nullptr;
  std::unique_ptr<Packet> packet = take_wanted(to);
  lock_.unlock();
  if (packet != nullptr) transmit(pe, std::move(packet));
}

void Batcher::flush(std::int64_t limit) {
  if (next_deadline() == kNever) return;
  if (limit == kNever) limit = clock_now();  // other threads may go on opening packets
  for (;;) {
    lock_.lock();
    if (held_.empty() || held_.front().opened > limit) break;
    const Held oldest = held_.front();
    held_.pop_front();
    carrier_.forgotten();
    set_deadline();
    Lane& to = lane(oldest.pe);
    const bool valid = to.open != nullptr && to.closed == oldest.number;
    to.wanted |= valid;
    std::unique_ptr<Packet> packet = valid ? close(to) : nullptr;
    lock_.unlock();
    if (packet != nullptr) transmit(oldest.pe, std::move(packet));
  }
  lock_.unlock();
}

void Batcher::set_deadline() {
  deadline_.store(held_.empty() ? kNever : held_.front().opened + kLongestHold, std::memory_order_relaxed);
}

// The first time that a lane is used after a fence, all it has precedes the fence.
void Batcher::note_fence(Lane& of) {
  if (of.fences == fences_) return;
  of.fences = fences_;
  of.barrier = of.closed + (of.open != nullptr ? 1 : 0);
}

void Batcher::wait_for_fenced(int pe) {
  Lane& to = lane(pe);
  std::uint64_t barrier;  // of the fences so far: other threads may go on with theirs
  {
    const std::scoped_lock guard(lock_);
    note_fence(to);
    barrier = to.barrier;
  }
  for (WaitWatch watch;;) {
    {
      const std::scoped_lock guard(lock_);
      if (to.acked >= barrier) return;
    }
    want(pe);
    pause(pe, watch);
  }
}

// Among packets order is free.  Packets and direct operations are not ordered on the wire: what follows
// direct operations across a fence must not go into a packet before they are complete.
bool Batcher::fence() {
  const std::scoped_lock guard(lock_);
  ++fences_;
  if (inner_->ops->idle(inner_)) return true;
  if (batching_.load(std::memory_order_relaxed) || pending_.load(std::memory_order_relaxed) != 0)
    return false;
  // A session may start before they are complete.
  direct_fenced_.store(true, std::memory_order_relaxed);
  return inner_->ops->fence(inner_);
}

bool Batcher::follows_direct() {
  if (!direct_fenced_.load(std::memory_order_relaxed)) return false;
  const std::scoped_lock guard(lock_);  // no fence in between
  if (inner_->ops->idle(inner_)) direct_fenced_.store(false, std::memory_order_relaxed);
  return direct_fenced_.load(std::memory_order_relaxed);
}

}  // namespace shm::batch

// SPDX-License-Identifier: BSD-3-Clause
#include "pages/replacement.hpp"

#include <algorithm>

#include "base/mutex.hpp"

namespace shm::pages {
namespace {

constexpr std::size_t kFramesForACopy = 8;  // that another node takes: the share of `kept` grows by so many

}  // namespace

FrameNumber Replacement::take_free() {
  const LockGuard guard(pool_.head().lock);
  FrameQueue& free = pool_.head().free;
  const FrameNumber frame = free.first;
  if (frame == kNoFrame) return kNoFrame;
  free.first = pool_.frame(frame).next;
  --free.size;
  frame_taken();
  return frame;
}

void Replacement::give_free(FrameNumber frame) {
  frame_left();
  const LockGuard guard(pool_.head().lock);
  FrameQueue& free = pool_.head().free;
  pool_.frame(frame).next = free.first;
  free.first = frame;
  ++free.size;
}

std::size_t Replacement::free_frames() const {
  const LockGuard guard(pool_.head().lock);
  return pool_.head().free.size;
}

void Replacement::enter(FrameNumber frame, PageNumber page) {
  Frame& entered = pool_.frame(frame);
  entered.page.store(page + 1, std::memory_order_relaxed);
  entered.touched.store(0, std::memory_order_relaxed);
  entered.last_copy.store(false, std::memory_order_relaxed);
  const LockGuard guard(pool_.head().lock);
  const bool again = left_lately(page);
  if (again && pool_.head().kept_share != 0) --pool_.head().kept_share;
  push(!policy_.fifo || again || fills() ? kLru : kFifo, frame);
}

bool Replacement::fills() const {
  const std::size_t frames = pool_.shape().frames;
  return pool_.head().departures < frames && pool_.head().lru.size + fifo_share() < frames;
}

// What has left is counted, and its page remembers the count.
bool Replacement::left_lately(PageNumber page) const {
  const std::uint32_t left = pool_.word(page).departure();
  return left != 0 && pool_.head().departures - left < pool_.shape().frames;
}

void Replacement::share(FrameNumber frame) {
  if (!sole(frame)) return;
  pool_.frame(frame).last_copy.store(false, std::memory_order_relaxed);
  const LockGuard guard(pool_.head().lock);
  const std::size_t most = pool_.shape().frames - fifo_share();
  pool_.head().kept_share =
      static_cast<std::uint32_t>(std::min(pool_.head().kept_share + kFramesForACopy, most));
}

void Replacement::leave(FrameNumber frame) {
  const LockGuard guard(pool_.head().lock);
  Frame& gone = pool_.frame(frame);
  if (gone.queue != kOut) unlink(frame);
  pool_.head().spared = 0;
  const std::uint64_t page = gone.page.exchange(0, std::memory_order_relaxed);
  if (page != 0) pool_.word(page - 1).remember(++pool_.head().departures);
}

FrameNumber Replacement::victim() {
  const LockGuard guard(pool_.head().lock);
  // Each frame comes to the end of each queue once with a mark, and once without.
  for (std::size_t looks = 6 * pool_.shape().frames; looks > 0; --looks) {
    const Queue from = queue_to_shorten();
    const FrameNumber last = queue(from).last;
    if (last == kNoFrame) return kNoFrame;
    unlink(last);
    const std::uint8_t mark = pool_.frame(last).touched.exchange(0, std::memory_order_relaxed);
    if (from == kTrial) return last;
    if (from == kFifo && mark == kAhead) {
      push(kFifo, last);  // its use is still to come
    } else if (from != kFifo && mark != 0) {
      push(kLru, last);
    } else if (from != kKept && sole(last)) {
      push(kKept, last);
    } else {
      return last;
    }
  }
  return kNoFrame;
}

Replacement::Queue Replacement::queue_to_shorten() const {
  const std::size_t lru = pool_.head().lru.size, fifo = pool_.head().fifo.size, kept = pool_.head().kept.size,
                    trial = pool_.head().trial.size;
  // Where none of the LRU's pages could leave the others have to.
  const bool lru_stays = lru == 0 || pool_.head().spared > lru;
  if (trial > trial_share() || (lru_stays && fifo == 0 && kept == 0 && trial != 0)) return kTrial;
  if (kept > kept_share() || (lru_stays && fifo == 0 && kept != 0)) return kKept;
  return fifo > fifo_share() || (lru_stays && fifo != 0) ? kFifo : kLru;
}

void Replacement::spare(FrameNumber frame, PageNumber page) {
  const LockGuard guard(pool_.head().lock);
  const Frame& spared = pool_.frame(frame);
  if (spared.queue != kOut || spared.page.load(std::memory_order_relaxed) != page + 1) return;
  push(kLru, frame);
  ++pool_.head().spared;
}

void Replacement::put_on_trial(FrameNumber frame, PageNumber page) {
  const LockGuard guard(pool_.head().lock);
  const Frame& unmapped = pool_.frame(frame);
  if (unmapped.queue != kOut || unmapped.page.load(std::memory_order_relaxed) != page + 1) return;
  push(kTrial, frame);
}

void Replacement::refresh(FrameNumber frame, PageNumber page) {
  const LockGuard guard(pool_.head().lock);
  const Frame& used = pool_.frame(frame);
  if (used.queue == kOut || used.page.load(std::memory_order_relaxed) != page + 1) return;
  unlink(frame);
  push(kLru, frame);
}

void Replacement::stand_by(FrameNumber frame, PageNumber page) {
  const LockGuard guard(pool_.head().lock);
  const Frame& unmapped = pool_.frame(frame);
  if (unmapped.queue != kOut || unmapped.page.load(std::memory_order_relaxed) != page + 1) return;
  push(kStandby, frame);
  pool_.head().spared = 0;
}

FrameNumber Replacement::take_standby() {
  const LockGuard guard(pool_.head().lock);
  const FrameNumber oldest = pool_.head().standby.last;
  if (oldest != kNoFrame) unlink(oldest);
  return oldest;
}

bool Replacement::recall(FrameNumber frame, PageNumber page) {
  const LockGuard guard(pool_.head().lock);
  const Frame& used = pool_.frame(frame);
  const bool may_leave = used.queue == kStandby || used.queue == kTrial;
  if (!may_leave || used.page.load(std::memory_order_relaxed) != page + 1) return false;
  unlink(frame);
  push(kLru, frame);
  return true;
}

std::size_t Replacement::frames_at_hand() const {
  const LockGuard guard(pool_.head().lock);
  return pool_.head().free.size + pool_.head().standby.size;
}

// Whether no other node has the page, as far as is known.
bool Replacement::sole(FrameNumber frame) const {
  if (pool_.frame(frame).last_copy.load(std::memory_order_relaxed)) return true;
  const std::uint64_t page = pool_.frame(frame).page.load(std::memory_order_relaxed);
  return page != 0 && permits(pool_.word(page - 1).state(), Access::write);
}

FrameQueue& Replacement::queue(std::uint8_t which) const {
  PoolHead& head = pool_.head();
  switch (which) {
    case kLru: return head.lru;
    case kFifo: return head.fifo;
    case kKept: return head.kept;
    case kTrial: return head.trial;
    default: return head.standby;
  }
}

void Replacement::push(std::uint8_t which, FrameNumber frame) {
  FrameQueue& to = queue(which);
  Frame& pushed = pool_.frame(frame);
  pushed.queue = which;
  pushed.prev = kNoFrame;
  pushed.next = to.first;
  (to.first == kNoFrame ? to.last : pool_.frame(to.first).prev) = frame;
  to.first = frame;
  ++to.size;
}

void Replacement::unlink(FrameNumber frame) {
  Frame& gone = pool_.frame(frame);
  FrameQueue& from = queue(gone.queue);
  (gone.prev == kNoFrame ? from.first : pool_.frame(gone.prev).next) = gone.next;
  (gone.next == kNoFrame ? from.last : pool_.frame(gone.next).prev) = gone.prev;
  gone.queue = kOut;
  --from.size;
}

}  // namespace shm::pages

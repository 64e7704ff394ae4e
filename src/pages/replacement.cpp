// SPDX-License-Identifier: BSD-3-Clause
#include "pages/replacement.hpp"

#include "base/mutex.hpp"

namespace shm::pages {

FrameNumber Replacement::take_free() {
  const FrameNumber frame = pop_free();
  if (frame == kNoFrame) return kNoFrame;
  if (!pool_.frame(frame).used) {
    pool_.frame(frame).used = true;
    pool_.lay_out(frame);
  }
  return frame;
}

FrameNumber Replacement::pop_free() {
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
  const LockGuard guard(pool_.head().lock);
  push(belongs_to_lru(page) ? kLru : kFifo, frame);
}

// What has left is counted, and its page remembers the count.
bool Replacement::belongs_to_lru(PageNumber page) const {
  if (kind_ == ReplacementKind::vgasnet) return true;
  const std::size_t frames = pool_.shape().frames;
  const std::uint32_t departures = pool_.head().departures;
  if (pool_.head().lru.size + frames / 8 < frames && departures < frames) return true;  // it fills
  const std::uint32_t left = pool_.word(page).departure();
  return left != 0 && departures - left < frames;
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
  FrameQueue& lru = pool_.head().lru;
  FrameQueue& fifo = pool_.head().fifo;
  // Each frame comes to the end of either queue once with a mark, and once without.
  for (std::size_t looks = 4 * pool_.shape().frames; looks > 0; --looks) {
    // Where none of the LRU's pages could leave the others have to.
    const bool stuck = pool_.head().spared > lru.size && fifo.size != 0;
    const bool from_fifo = fifo.size > fifo_limit() || lru.size == 0 || stuck;
    const FrameNumber last = from_fifo ? fifo.last : lru.last;
    if (last == kNoFrame) return kNoFrame;
    unlink(last);
    const std::uint8_t mark = pool_.frame(last).touched.exchange(0, std::memory_order_relaxed);
    if (kind_ == ReplacementKind::two_queues && from_fifo) {
      if (mark != kAhead) return last;
      push(kFifo, last);  // its use is still to come
    } else if (mark != 0) {
      push(kLru, last);
    } else if (kind_ == ReplacementKind::vgasnet && !from_fifo && sole(last)) {
      push(kFifo, last);
    } else {
      return last;
    }
  }
  return kNoFrame;
}

void Replacement::spare(FrameNumber frame, PageNumber page) {
  const LockGuard guard(pool_.head().lock);
  const Frame& spared = pool_.frame(frame);
  if (spared.queue != kOut || spared.page.load(std::memory_order_relaxed) != page + 1) return;
  push(kLru, frame);
  ++pool_.head().spared;
}

// Whether no other node has the page.
bool Replacement::sole(FrameNumber frame) const {
  const std::uint64_t page = pool_.frame(frame).page.load(std::memory_order_relaxed);
  return page != 0 && permits(pool_.word(page - 1).state(), Access::write);
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

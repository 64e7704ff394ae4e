// SPDX-License-Identifier: BSD-3-Clause
#include "remote/paper_table.hpp"

#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "pages/futex.hpp"

namespace shm::remote {

PaperTable::PaperTable(pages::LocalSpace& space, std::size_t frames)
    : space_(space), pool_(space.pool()), entries_(pool_.shape().segment_pages), places_(frames) {
  free_.reserve(frames);
  for (std::size_t frame = frames; frame-- > 0;) free_.push_back(static_cast<FrameNumber>(frame));
}

bool PaperTable::claim(PageNumber page) {
  std::atomic<std::uint32_t>& state = entries_[page].state;
  std::uint32_t now = state.load();
  while ((now & kStates) == absent || (now & kStates) == leaving) {
    if (state.compare_exchange_weak(now, coming | (now & kBlank))) return true;
  }
  return false;
}

void PaperTable::await(PageNumber page) {
  std::atomic<std::uint32_t>& state = entries_[page].state;
  for (std::uint32_t now; ((now = state.load()) & kStates) == coming;) pages::futex_wait(state, now);
  const LockGuard guard(lock_);
  Place& place = places_[entries_[page].frame];
  if (place.page == page) place.referenced = true;
}

PaperTable::FrameNumber PaperTable::take_frame() {
  const LockGuard guard(lock_);
  const FrameNumber frame = free_.back();
  free_.pop_back();
  return frame;
}

std::size_t PaperTable::free_frames() {
  const LockGuard guard(lock_);
  return free_.size();
}

void PaperTable::give_frame(FrameNumber frame) {
  const LockGuard guard(lock_);
  places_[frame] = {};
  free_.push_back(frame);
}

std::byte* PaperTable::address(PageNumber page) const { return space_.base() + pool_.offset_of(page); }

bool PaperTable::map(PageNumber page, FrameNumber frame) {
  return space_.map(address(page), pool_.offset(frame), pool_.shape().page_bytes, true);
}

void PaperTable::unmap(PageNumber page) {
  if (!space_.unmap(address(page), pool_.shape().page_bytes))
    fatal("cannot unmap a page of remote memory: %s", std::strerror(errno));
}

// Who waits for the page looks again.
void PaperTable::become(PageNumber page, std::uint32_t state) {
  entries_[page].state.store(state);
  pages::futex_wake(entries_[page].state);
}

void PaperTable::arrive(PageNumber page, FrameNumber frame) {
  {
    const LockGuard guard(lock_);
    entries_[page].frame = frame;
    places_[frame] = {page, true};
  }
  become(page, here);
}

// Twice around: the first time may do no more than pass over all that have been referenced.
std::optional<PaperTable::Victim> PaperTable::choose_victim() {
  std::optional<Victim> victim;
  {
    const LockGuard guard(lock_);
    for (std::size_t steps = 0; steps < 2 * places_.size() && !victim; ++steps) {
      const FrameNumber frame = hand_;
      hand_ = static_cast<FrameNumber>((hand_ + 1) % places_.size());
      Place& place = places_[frame];
      if (place.page == kNoPage || entries_[place.page].pins != 0) continue;
      std::uint32_t state = here;
      if (place.referenced) {
        place.referenced = false;
      } else if (entries_[place.page].state.compare_exchange_strong(state, leaving)) {
        victim = {place.page, frame};
      }
    }
  }
  if (victim) unmap(victim->page);
  return victim;
}

void PaperTable::left(const Victim& victim) {
  give_frame(victim.frame);
  std::atomic<std::uint32_t>& state = entries_[victim.page].state;
  std::uint32_t now = leaving;  // unless it has been claimed meanwhile
  if (state.compare_exchange_strong(now, absent)) pages::futex_wake(state);
}

void PaperTable::forget(PageNumber page) {
  std::atomic<std::uint32_t>& state = entries_[page].state;
  for (;;) {
    std::uint32_t now = state.load();
    if ((now & kStates) == coming || (now & kStates) == leaving) {
      pages::futex_wait(state, now);
    } else if ((now & kStates) == absent) {
      if (state.compare_exchange_weak(now, absent | kBlank)) return;
    } else if (state.compare_exchange_weak(now, coming)) {
      unmap(page);
      give_frame(entries_[page].frame);
      return become(page, absent | kBlank);
    }
  }
}

// The page may be leaving: then an access brings it back.
void PaperTable::pin(PageNumber page) {
  const LockGuard guard(lock_);
  ++entries_[page].pins;
}

void PaperTable::unpin(PageNumber page) {
  const LockGuard guard(lock_);
  --entries_[page].pins;
}

}  // namespace shm::remote

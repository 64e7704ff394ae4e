// SPDX-License-Identifier: BSD-3-Clause
// What programs say of pages that only their node uses, and copies past the cache.
#include <algorithm>
#include <cstring>

#include "base/service_thread.hpp"
#include "pages/copy.hpp"
#include "pages/local_moving.hpp"
#include "pages/local_pages.hpp"
#include "pages/page_span.hpp"

namespace shm::pages {
namespace {

// Calls visit(page, within, at, n) for what lies in each page.
template <class Visit>
void for_pieces(std::size_t offset, std::size_t n, std::size_t page_bytes, Visit visit) {
  for (std::size_t done = 0; done < n;) {
    const std::size_t within = (offset + done) % page_bytes, now = std::min(page_bytes - within, n - done);
    // A handler of the program might need the page.
    const SignalsBlocked blocked(kOwnFaults);
    visit((offset + done) / page_bytes, within, done, now);
    done += now;
  }
}

}  // namespace

void LocalPages::forget(std::size_t offset, std::size_t n) {
  const SignalsBlocked blocked(kOwnFaults);
  const PageSpan pages = whole_pages(offset, n, settings_.page_bytes);
  frames_.forget(pages.first, pages.last);
}

void LocalPages::overwrite(std::size_t offset, std::size_t n) {
  const SignalsBlocked blocked(kOwnFaults);
  const PageSpan pages = whole_pages(offset, n, settings_.page_bytes);
  for (PageNumber page = pages.first; page < pages.last; ++page) frames_.overwrite(page);
}

// ---- past the cache

void LocalPages::read(std::size_t offset, void* into, std::size_t n) {
  for_pieces(offset, n, settings_.page_bytes,
             [&](PageNumber page, std::size_t within, std::size_t at, std::size_t now) {
               read_piece(page, within, static_cast<std::byte*>(into) + at, now);
             });
}

void LocalPages::write(std::size_t offset, const void* from, std::size_t n) {
  for_pieces(offset, n, settings_.page_bytes,
             [&](PageNumber page, std::size_t within, std::size_t at, std::size_t now) {
               write_piece(page, within, static_cast<const std::byte*>(from) + at, now);
             });
}

void LocalPages::read_piece(PageNumber page, std::size_t within, std::byte* into, std::size_t n) {
  PageWord& word = pool_.word(page);
  for (;; frames_.await(page)) {
    if (const FrameNumber frame = word.latch(Access::read); frame != kNoFrame) {
      copy_out(into, pool_.bytes(frame) + within, n);
      return word.unlatch();
    }
    if (!word.claim()) continue;
    const bool stored = word.stored();
    if (stored) {
      LocalMoving moving(slots_, frames_.transfers(), statistics_);
      moving.read(page, within, into, n);
      moving.wait();
    } else {
      std::memset(into, 0, n);
    }
    return frames_.vacate(page, stored);
  }
}

void LocalPages::write_piece(PageNumber page, std::size_t within, const std::byte* from, std::size_t n) {
  PageWord& word = pool_.word(page);
  for (;; frames_.await(page)) {
    FrameNumber frame = word.latch(Access::write);
    if (frame == kNoFrame) {
      if (!word.claim()) continue;
      if (word.stored() || n == settings_.page_bytes) {
        {
          LocalMoving moving(slots_, frames_.transfers(), statistics_);
          moving.write(page, within, from, n);
          moving.wait();
        }
        return frames_.vacate(page, true);
      }
      // Nothing is kept of the rest of it, and zeros would have to be written.
      frame = bring_latched(page, Access::write);
    }
    copy_in(pool_.bytes(frame) + within, from, n);
    return word.unlatch();
  }
}

// REQUIRES: claimed.
FrameNumber LocalPages::bring_latched(PageNumber page, Access access) {
  const bool stored = pool_.word(page).stored();
  SwapTimes times;  // of no fault
  const FrameNumber frame = fill(page, times);
  frames_.publish(page, frame, access, stored, 1);
  return frame;
}

// ---- pins

bool LocalPages::pin(std::size_t offset, std::size_t n, Access access) {
  const PageSpan pages = touched_pages(offset, n, settings_.page_bytes);
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(pages.count(), settings_.frames));
  std::atomic<std::uint32_t>& pinned = pool_.head().pinned;
  std::uint32_t before = pinned.load(std::memory_order_relaxed);
  do {
    if (before + count > settings_.frames / 4) return false;
  } while (!pinned.compare_exchange_weak(before, before + count, std::memory_order_relaxed));
  for (PageNumber page = pages.first; page < pages.last; ++page) pin_page(page, access);
  const LockGuard guard(pins_mutex_);
  pins_.emplace(std::pair(offset, n), access);
  return true;
}

void LocalPages::pin_page(PageNumber page, Access access) {
  const SignalsBlocked blocked(kOwnFaults);
  PageWord& word = pool_.word(page);
  FrameNumber frame;
  while ((frame = word.latch(access)) == kNoFrame) {
    if (word.claim()) {
      frame = bring_latched(page, access);
      break;
    }
    frames_.await(page);
  }
  pool_.frame(frame).pins(access).fetch_add(1, std::memory_order_relaxed);
  map(page, frame, access);
  word.unlatch();
}

bool LocalPages::unpin(std::size_t offset, std::size_t n) {
  Access access;
  {
    const LockGuard guard(pins_mutex_);
    const auto found = pins_.find({offset, n});
    if (found == pins_.end()) return false;
    access = found->second;
    pins_.erase(found);
  }
  const PageSpan pages = touched_pages(offset, n, settings_.page_bytes);
  for (PageNumber page = pages.first; page < pages.last; ++page) {
    const FrameNumber frame = pool_.word(page).frame_if_here();  // as it is pinned
    pool_.frame(frame).pins(access).fetch_sub(1, std::memory_order_relaxed);
  }
  pool_.head().pinned.fetch_sub(static_cast<std::uint32_t>(pages.count()), std::memory_order_relaxed);
  return true;
}

bool LocalPages::any_pinned(std::size_t offset, std::size_t n) {
  const PageSpan pages = touched_pages(offset, n, settings_.page_bytes);
  const LockGuard guard(pins_mutex_);
  return std::ranges::any_of(pins_, [&](const auto& pin) {
    const PageSpan pinned = touched_pages(pin.first.first, pin.first.second, settings_.page_bytes);
    return pinned.meets(pages);
  });
}

}  // namespace shm::pages

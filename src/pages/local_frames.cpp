// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_frames.hpp"

#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"

namespace shm::pages {

LocalFrames::LocalFrames(const Pool& pool, Mappings& mappings, Backing& backing,
                         const LocalTransfers::Limits& limits, LocalStatistics& statistics)
    : pool_(pool),
      mappings_(mappings),
      replacement_(pool, ReplacementKind::two_queues),
      statistics_(statistics),
      transfers_(backing, static_cast<Finisher&>(*this), limits) {}

// ---- frames for pages that come

FrameNumber LocalFrames::take() {
  FrameNumber frame = kNoFrame;
  const auto taken = [this, &frame] { return (frame = try_take()) != kNoFrame; };
  transfers_.waits().wait_until(transfers_.ended(), Asked(taken));
  return frame;
}

void LocalFrames::give(FrameNumber frame) {
  replacement_.give_free(frame);
  transfers_.waits().wake_one(transfers_.ended());
}

// Begins to write a page, at most, where only that helps: then it will have been worth trying again.
FrameNumber LocalFrames::try_take() {
  if (const FrameNumber frame = replacement_.take_free(); frame != kNoFrame) return frame;
  if (const FrameNumber frame = take_standby(); frame != kNoFrame) return frame;
  Transit* transit = transfers_.take(Kind::cleaning);
  if (transit == nullptr) return kNoFrame;
  Victim victim;
  if (!close_victim(victim)) {
    transfers_.give(*transit);
    return kNoFrame;
  }
  unmap(victim);
  const PageWord& word = pool_.word(victim.page);
  if (word.state() == PageState::modified) {
    begin_cleaning(victim, *transit);
    return kNoFrame;
  }
  transfers_.give(*transit);
  vacate_frame(victim);
  return victim.frame;
}

// The oldest one that has not been used since.
FrameNumber LocalFrames::take_standby() {
  for (;;) {
    const FrameNumber frame = replacement_.take_standby();
    if (frame == kNoFrame) return kNoFrame;
    const std::uint64_t page = pool_.frame(frame).page.load(std::memory_order_relaxed);
    if (page == 0) continue;
    const Victim victim{page - 1, frame};
    if (!close(victim)) continue;
    if (pool_.word(victim.page).state() == PageState::modified || mappings_.state(frame) != MapState::no) {
      reopen(victim);
      continue;
    }
    vacate_frame(victim);
    return frame;
  }
}

// ---- pages that leave

// The next that can, closed.  Returns false if there is none.
bool LocalFrames::close_victim(Victim& victim) {
  for (std::size_t looks = 2 * pool_.shape().frames; looks > 0; --looks) {
    victim.frame = replacement_.victim();
    if (victim.frame == kNoFrame) return false;
    // It may have been dropped meanwhile, and the frame be another page's: then it is not in the word.
    const std::uint64_t page = pool_.frame(victim.frame).page.load(std::memory_order_relaxed);
    if (page == 0) continue;
    victim.page = page - 1;
    if (close(victim)) return true;
  }
  return false;
}

// Or spares it.
bool LocalFrames::close(const Victim& victim) {
  if (!pool_.word(victim.page).try_close(victim.frame)) {
    replacement_.spare(victim.frame, victim.page);
    return false;
  }
  // Pinned by who has it latched, so it is known by now.
  Frame& frame = pool_.frame(victim.frame);
  if (frame.pins(Access::read).load(std::memory_order_relaxed) == 0 &&
      frame.pins(Access::write).load(std::memory_order_relaxed) == 0)
    return true;
  reopen(victim);
  return false;
}

void LocalFrames::reopen(const Victim& victim) {
  replacement_.spare(victim.frame, victim.page);
  wake_if(pool_.word(victim.page).reopen(), victim.page);
}

void LocalFrames::unmap(const Victim& victim) {
  if (!mappings_.lower(victim.page, victim.frame, MapState::no))
    fatal("a page cannot be unmapped: %s", std::strerror(errno));
}

// REQUIRES: closed, unmapped, clean.  The frame is the caller's.
void LocalFrames::vacate_frame(const Victim& victim) {
  PageWord& word = pool_.word(victim.page);
  LocalStatistics::count(statistics_.dropped);
  drop(victim.page, victim.frame, word.stored());
}

void LocalFrames::drop(PageNumber page, FrameNumber frame, bool stored) {
  vacate(page, stored);
  replacement_.leave(frame);
}

// The page may be read meanwhile; if it is written to it will be written again.
void LocalFrames::begin_cleaning(const Victim& victim, Transit& transit) {
  const std::size_t n = pool_.shape().page_bytes;
  transit.page = victim.page;
  transit.frame = victim.frame;
  LocalStatistics::count(statistics_.writes);
  LocalStatistics::count(statistics_.bytes_out, n);
  wake_if(pool_.word(victim.page).publish(PageState::exclusive, victim.frame, true, 1), victim.page);
  transfers_.write(transit, 0, pool_.bytes(victim.frame), n);
}

void LocalFrames::finish(Kind, const Transit& transit) {
  PageWord& word = pool_.word(transit.page);
  const bool unused = word.state() == PageState::exclusive && mappings_.state(transit.frame) == MapState::no;
  word.unlatch();
  // Where it has been used, or dropped, since: who takes it finds out.
  if (unused) {
    replacement_.stand_by(transit.frame, transit.page);
  } else {
    replacement_.spare(transit.frame, transit.page);
  }
}

void LocalFrames::unmap_one() {
  Victim victim;
  for (std::size_t looks = pool_.shape().frames; looks > 0 && close_victim(victim); --looks) {
    const bool mapped = mappings_.state(victim.frame) != MapState::no;
    if (mapped) unmap(victim);
    reopen(victim);
    if (mapped) return;
  }
  fatal(
      "no room for one more mapping of memory, with %zu frames of %zu bytes; allow more (vm.max_map_count), "
      "or "
      "use fewer or larger pages",
      pool_.shape().frames, pool_.shape().page_bytes);
}

void LocalFrames::clean_all() {
  for (FrameNumber frame = 0; frame < pool_.shape().frames; ++frame) {
    const std::uint64_t page = pool_.frame(frame).page.load(std::memory_order_relaxed);
    if (page == 0) continue;
    const Victim victim{page - 1, frame};
    PageWord& word = pool_.word(victim.page);
    Transit* transit = nullptr;
    const auto taken = [this, &transit] { return (transit = transfers_.take(Kind::cleaning)) != nullptr; };
    transfers_.waits().wait_until(transfers_.ended(), Asked(taken));
    bool closed = false;
    const auto gone_or_closed = [&word, &closed, frame] {
      return word.state() != PageState::modified || word.frame_if_here() != frame ||
             (closed = word.try_close(frame));
    };
    transfers_.waits().wait_until(&word, Asked(gone_or_closed));
    if (closed && word.state() == PageState::modified &&
        mappings_.lower(victim.page, frame, MapState::to_read)) {
      begin_cleaning(victim, *transit);
      continue;
    }
    if (closed) wake_if(word.reopen(), victim.page);
    transfers_.give(*transit);
  }
  const auto ended = [this] { return !transfers_.any_taken(Kind::cleaning); };
  transfers_.waits().wait_until(transfers_.ended(), Asked(ended));
}

// ---- the caller's pages

void LocalFrames::publish(PageNumber page, FrameNumber frame, Access access, bool stored) {
  replacement_.enter(frame, page);
  const PageState state = access == Access::write ? PageState::modified : PageState::exclusive;
  wake_if(pool_.word(page).publish(state, frame, stored), page);
  transfers_.waits().wake_one(transfers_.ended());  // there is one more that may leave
}

void LocalFrames::vacate(PageNumber page, bool stored) { wake_if(pool_.word(page).vacate(stored), page); }

void LocalFrames::await(PageNumber page) {
  PageWord& word = pool_.word(page);
  const auto open = [&word] { return !word.await(); };
  transfers_.waits().wait_until(&word, Asked(open));
}

void LocalFrames::recall(PageNumber page) {
  const FrameNumber frame = pool_.word(page).frame_if_here();
  if (frame != kNoFrame) replacement_.recall(frame, page);
}

void LocalFrames::wake_if(bool awaited, PageNumber page) {
  if (awaited) transfers_.waits().wake(&pool_.word(page));
}

}  // namespace shm::pages

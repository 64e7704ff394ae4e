// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_frames.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"

namespace shm::pages {

LocalFrames::LocalFrames(const Pool& pool, Mappings& mappings, Backing& backing, LocalSweeper& sweeper,
                         const Settings& settings, LocalStatistics& statistics)
    : pool_(pool),
      mappings_(mappings),
      replacement_(pool, ReplacementKind::two_queues),
      sweeper_(sweeper),
      at_hand_(settings.at_hand),
      statistics_(statistics),
      transfers_(backing, static_cast<Finisher&>(*this), settings.limits) {}

// ---- frames for pages that come

FrameNumber LocalFrames::take() {
  const FrameNumber frame = take_first();
  ring_if_few();
  return frame;
}

FrameNumber LocalFrames::take_first() {
  FrameNumber frame = kNoFrame;
  const auto taken = [this, &frame] { return (frame = try_take()) != kNoFrame; };
  transfers_.waits().wait_until(transfers_.ended(), Asked(taken));
  return frame;
}

void LocalFrames::make_room() {
  if (!sweeper_.runs() || replacement_.frames_at_hand() >= at_hand_) return;
  let_some_leave();
  if (transfers_.any_taken(Kind::cleaning)) sweeper_.ring();
}

FrameNumber LocalFrames::take_now() {
  const FrameNumber frame = try_take();
  ring_if_few();
  return frame;
}

void LocalFrames::ring_if_few() {
  if (replacement_.frames_at_hand() < at_hand_) sweeper_.ring();
}

FrameNumber LocalFrames::find_at_hand() {
  const FrameNumber frame = replacement_.take_free();
  return frame != kNoFrame ? frame : take_standby();
}

void LocalFrames::give(FrameNumber frame) {
  replacement_.give_free(frame);
  transfers_.waits().wake_one(transfers_.ended());
}

// If a page has to be written first that is begun, of one page at a call: then it will be worth trying again.
FrameNumber LocalFrames::try_take() {
  if (const FrameNumber frame = find_at_hand(); frame != kNoFrame) return frame;
  Victim victim;
  if (take_victims({&victim, 1}) == 0) return kNoFrame;
  unmap({&victim, 1});
  if (victim.transit == nullptr) return drop(victim, pool_.word(victim.page).stored());
  begin_cleaning(victim);
  return kNoFrame;
}

// The oldest one that has not been used since.
FrameNumber LocalFrames::take_standby() {
  for (;;) {
    Victim victim;
    victim.frame = replacement_.take_standby();
    if (victim.frame == kNoFrame) return kNoFrame;
    const std::uint64_t page = pool_.frame(victim.frame).page.load(std::memory_order_relaxed);
    if (page == 0) continue;  // dropped meanwhile
    victim.page = page - 1;
    if (!close(victim)) continue;
    const PageWord& word = pool_.word(victim.page);
    if (word.state() != PageState::modified && mappings_.state(victim.frame) == MapState::no)
      return drop(victim, word.stored());
    reopen(victim);
  }
}

// ---- pages that leave

void LocalFrames::sweep() {
  const auto enough = [this] { return replacement_.frames_at_hand() >= at_hand_; };
  for (;;) {
    const bool any = let_some_leave();
    if (!transfers_.any_taken(Kind::cleaning)) {
      if (!any || enough()) return;
      continue;
    }
    // Nobody else might poll for what is being written.
    const auto goes_on = [this, &enough, any] {
      return !transfers_.any_taken(Kind::cleaning) ||
             (any && !enough() && transfers_.any_free(Kind::cleaning));
    };
    transfers_.waits().wait_until(transfers_.given(), Asked(goes_on));
  }
}

// As many pages as should: twice as many as there should be frames at hand, so that it is not done for each
// one that is taken.  Returns false if none does.
bool LocalFrames::let_some_leave() {
  Victim victims[kMostTogether];
  const std::size_t at_hand = replacement_.frames_at_hand();
  const std::size_t wanted = at_hand < at_hand_ ? std::min(2 * at_hand_ - at_hand, kMostTogether) : 0;
  const std::span<Victim> taken(victims, take_victims({victims, wanted}));
  unmap(taken);
  for (const Victim& victim : taken) retire(victim);
  return !taken.empty();
}

// Pages that can leave, closed, and as many transfers for those that have to be written.
std::size_t LocalFrames::take_victims(std::span<Victim> victims) {
  Victim tried[kMostTogether];
  // Not more than are on trial, so that hardly one of them is chosen again before it is unmapped: such a one
  // is spared, and has no other trial.
  const std::size_t together = std::clamp(replacement_.trial_share(), std::size_t{1}, kMostTogether);
  std::size_t count = 0, trials = 0;
  Transit* transit = nullptr;
  for (std::size_t looks = 2 * pool_.shape().frames; count < victims.size() && looks > 0; --looks) {
    // Before the page is chosen: which one is dirty is not known yet.
    if (transit == nullptr) transit = transfers_.take(Kind::cleaning);
    Victim& victim = victims[count];
    if (transit == nullptr) break;
    if (trials == together) begin_trial({tried, std::exchange(trials, 0)});
    if (!close_victim(victim)) {
      if (trials == 0 || count != 0) break;
      begin_trial({tried, std::exchange(trials, 0)});  // there are no others
    } else if (pool_.word(victim.page).state() != PageState::modified) {
      LocalStatistics::count(statistics_.dropped);
      ++count;
    } else if (mappings_.state(victim.frame) == MapState::no) {
      victim.transit = std::exchange(transit, nullptr);
      ++count;
    } else {
      replacement_.put_on_trial(victim.frame, victim.page);
      tried[trials++] = victim;
    }
  }
  begin_trial({tried, trials});
  if (transit != nullptr) transfers_.give(*transit);
  return count;
}

// From now on each use is a fault.  REQUIRES: closed.
void LocalFrames::begin_trial(std::span<Victim> victims) {
  unmap(victims);
  for (const Victim& victim : victims) wake_if(pool_.word(victim.page).reopen(), victim.page);
}

// The next that can leave, closed.  Returns false if there is none.
bool LocalFrames::close_victim(Victim& victim) {
  for (std::size_t looks = 2 * pool_.shape().frames; looks > 0; --looks) {
    victim.frame = replacement_.victim();
    if (victim.frame == kNoFrame) return false;
    // It may have been dropped meanwhile, and the frame be another page's: then the word does not name it.
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
  // Pinned by who had it latched, so it is known by now.
  if (!is_pinned(victim.frame)) return true;
  reopen(victim);
  return false;
}

bool LocalFrames::is_pinned(FrameNumber frame) const {
  Frame& pinned = pool_.frame(frame);
  return pinned.pins(Access::read).load(std::memory_order_relaxed) != 0 ||
         pinned.pins(Access::write).load(std::memory_order_relaxed) != 0;
}

void LocalFrames::reopen(const Victim& victim) {
  replacement_.spare(victim.frame, victim.page);
  wake_if(pool_.word(victim.page).reopen(), victim.page);
}

// Neighbours with one system call, which interrupts all cores.  REQUIRES: closed.
void LocalFrames::unmap(std::span<Victim> victims) {
  std::ranges::sort(victims, {}, &Victim::page);
  for (std::size_t first = 0, next = 0; first < victims.size(); first = next) {
    FrameNumber frames[kMostTogether];
    do {
      frames[next - first] = victims[next].frame;
      ++next;
    } while (next < victims.size() && victims[next].page == victims[next - 1].page + 1);
    if (!mappings_.unmap(victims[first].page, {frames, next - first}))
      fatal("pages cannot be unmapped: %s", std::strerror(errno));
  }
}

// REQUIRES: closed, unmapped.
void LocalFrames::retire(const Victim& victim) {
  if (victim.transit != nullptr) return begin_cleaning(victim);
  replacement_.stand_by(victim.frame, victim.page);
  wake_if(pool_.word(victim.page).reopen(), victim.page);
  transfers_.waits().wake_one(transfers_.ended());
}

// REQUIRES: closed, unmapped.  The frame is the caller's.
FrameNumber LocalFrames::drop(const Victim& victim, bool stored) {
  vacate(victim.page, stored);
  replacement_.leave(victim.frame);
  return victim.frame;
}

// The page may be read meanwhile; if it is written to it will be written again.
void LocalFrames::begin_cleaning(const Victim& victim) {
  const std::size_t n = pool_.shape().page_bytes;
  victim.transit->page = victim.page;
  victim.transit->frame = victim.frame;
  LocalStatistics::count(statistics_.writes);
  LocalStatistics::count(statistics_.bytes_out, n);
  wake_if(pool_.word(victim.page).publish(PageState::exclusive, victim.frame, true, 1), victim.page);
  transfers_.write(*victim.transit, 0, pool_.bytes(victim.frame), n);
}

void LocalFrames::finish(Kind kind, const Transit& transit) {
  PageWord& word = pool_.word(transit.page);
  if (kind == Kind::ahead) return enter(transit.page, transit.frame, Access::read, true, 0, kAhead);
  const bool unused = word.state() == PageState::exclusive && mappings_.state(transit.frame) == MapState::no;
  word.unlatch();
  // If it has been used since, or dropped, who takes it finds out.
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
    unmap({&victim, 1});
    reopen(victim);
    if (mapped) return;
  }
  fatal(
      "no room for one more mapping of memory, with %zu pages of %zu bytes in memory; allow more "
      "(vm.max_map_count), "
      "or use fewer or larger pages",
      pool_.shape().frames, pool_.shape().page_bytes);
}

void LocalFrames::clean_all() {
  for (FrameNumber frame = 0; frame < pool_.shape().frames; ++frame) {
    Transit* transit = nullptr;
    const auto taken = [this, &transit] { return (transit = transfers_.take(Kind::cleaning)) != nullptr; };
    transfers_.waits().wait_until(transfers_.given(), Asked(taken));
    clean(frame, *transit);
  }
  await_transfers();
}

void LocalFrames::await_transfers() {
  const auto none = [this] {
    return !transfers_.any_taken(Kind::ahead) && !transfers_.any_taken(Kind::cleaning);
  };
  transfers_.waits().wait_until(transfers_.given(), Asked(none));
}

// What is in the frame, if it is dirty.
void LocalFrames::clean(FrameNumber frame, Transit& transit) {
  for (;;) {
    const std::uint64_t page = pool_.frame(frame).page.load(std::memory_order_relaxed);
    if (page == 0) break;
    const Victim victim{page - 1, frame, &transit};
    PageWord& word = pool_.word(victim.page);
    if (word.state() != PageState::modified || word.frame_if_here() != frame ||
        pool_.frame(frame).pins(Access::write).load(std::memory_order_relaxed) != 0)
      break;
    if (!word.try_close(frame)) {
      transfers_.waits().pause();
      continue;
    }
    if (mappings_.lower(victim.page, frame, MapState::to_read)) return begin_cleaning(victim);
    wake_if(word.reopen(), victim.page);
    break;
  }
  transfers_.give(transit);
}

// ---- the caller's pages

void LocalFrames::publish(PageNumber page, FrameNumber frame, Access access, bool stored, unsigned latches) {
  enter(page, frame, access, stored, latches, 0);
}

void LocalFrames::enter(PageNumber page, FrameNumber frame, Access access, bool stored, unsigned latches,
                        std::uint8_t touched) {
  replacement_.enter(frame, page);
  pool_.frame(frame).touched.store(touched, std::memory_order_relaxed);
  const PageState state = access == Access::write ? PageState::modified : PageState::exclusive;
  wake_if(pool_.word(page).publish(state, frame, stored, latches), page);
  transfers_.waits().wake_one(transfers_.ended());  // there is one more that may leave
}

void LocalFrames::vacate(PageNumber page, bool stored) { wake_if(pool_.word(page).vacate(stored), page); }

void LocalFrames::await(PageNumber page) {
  PageWord& word = pool_.word(page);
  const auto open = [&word] { return !word.await(); };
  transfers_.waits().wait_until(&word, Asked(open));
}

// Who has it closed, or latched.
void LocalFrames::await_use(PageNumber page) {
  if (pool_.word(page).closed()) {
    await(page);
  } else {
    transfers_.waits().pause();
  }
}

void LocalFrames::recall(PageNumber page) {
  const FrameNumber frame = pool_.word(page).frame_if_here();
  if (frame != kNoFrame && replacement_.recall(frame, page)) LocalStatistics::count(statistics_.kept);
}

void LocalFrames::forget(PageNumber first, PageNumber last) {
  Victim victims[kMostTogether];
  std::size_t count = 0;
  for (PageNumber page = first; page < last; ++page) {
    for (;;) {
      const Forgotten what = count == kMostTogether ? Forgotten::busy : try_forget(page, victims[count]);
      if (what == Forgotten::closed) ++count;
      if (what != Forgotten::busy) break;
      // Who has that page may wait for a frame, and these be all that there are.
      forget_together({victims, count});
      count = 0;
      await_use(page);
    }
  }
  forget_together({victims, count});
}

LocalFrames::Forgotten LocalFrames::try_forget(PageNumber page, Victim& victim) {
  PageWord& word = pool_.word(page);
  victim = {page, word.frame_if_here()};
  if (victim.frame != kNoFrame) return word.try_close(victim.frame) ? Forgotten::closed : Forgotten::busy;
  if (word.holds_nothing()) return Forgotten::all;
  if (!word.claim()) return Forgotten::busy;
  vacate(page, false);
  return Forgotten::all;
}

void LocalFrames::overwrite(PageNumber page) {
  while (!try_overwrite(page)) await_use(page);
}

// A page that is dirty becomes one that is clean and holds nothing, so that it does not come back from where
// it would have been written if it leaves before it is stored to.  One that is pinned must not fault.
bool LocalFrames::try_overwrite(PageNumber page) {
  PageWord& word = pool_.word(page);
  const FrameNumber frame = word.frame_if_here();
  if (frame == kNoFrame || word.state() != PageState::modified) return word.forget_stored();
  if (!word.try_close(frame)) return false;
  if (!is_pinned(frame) && mappings_.lower(page, frame, MapState::to_read)) {
    wake_if(word.publish(PageState::exclusive, frame, false), page);
  } else {
    wake_if(word.reopen(), page);
  }
  return true;
}

void LocalFrames::forget_together(std::span<Victim> victims) {
  unmap(victims);
  for (const Victim& victim : victims) {
    vacate(victim.page, false);
    replacement_.leave(victim.frame);
    give(victim.frame);
  }
}

void LocalFrames::wake_if(bool awaited, PageNumber page) {
  if (awaited) transfers_.waits().wake(&pool_.word(page));
}

}  // namespace shm::pages

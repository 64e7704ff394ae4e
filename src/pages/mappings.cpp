// SPDX-License-Identifier: BSD-3-Clause
#include "pages/mappings.hpp"

#include <sched.h>

#include <algorithm>

namespace shm::pages {
namespace {

// Frame::mapping: two bits of state, one that says that somebody changes it, and since when it is so.
constexpr std::uint64_t kStateMask = 3, kClaimed = 4;
constexpr unsigned kTimeShift = 3;

constexpr MapState state_in(std::uint64_t word) { return static_cast<MapState>(word & kStateMask); }

Mappings::Clock::time_point time_in(std::uint64_t word) {
  return Mappings::Clock::time_point(std::chrono::nanoseconds(word >> kTimeShift));
}

std::uint64_t word_of(MapState state, Mappings::Clock::time_point since) {
  const std::chrono::nanoseconds time = since.time_since_epoch();
  return static_cast<std::uint64_t>(time.count()) << kTimeShift | static_cast<std::uint64_t>(state);
}

// What costs nothing: a page that is modified may be written to as well.  REQUIRES: latched.
MapState free_access(const PageWord& word) {
  return word.state() == PageState::modified ? MapState::to_write : MapState::to_read;
}

}  // namespace

/// The right to change a mapping.
struct Mappings::Claim {
  explicit Claim(Frame& frame) : mapping(frame.mapping) {
    before = mapping.load(std::memory_order_relaxed);
    while ((before & kClaimed) != 0 ||
           !mapping.compare_exchange_weak(before, before | kClaimed, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      if ((before & kClaimed) == 0) continue;
      sched_yield();
      before = mapping.load(std::memory_order_relaxed);
    }
  }
  ~Claim() { mapping.store(before, std::memory_order_release); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  MapState state() const { return state_in(before); }
  void become(MapState state, Clock::time_point since) { before = word_of(state, since); }

  std::atomic<std::uint64_t>& mapping;
  std::uint64_t before;
};

Mappings::Outcome Mappings::resolve(PageNumber page, Access access) {
  PageWord& word = pool_.word(page);
  const FrameNumber frame = space_.has_room() ? word.latch(access) : kNoFrame;
  if (frame == kNoFrame) return Outcome::refused;
  if (pool_.frame(frame).touched.load(std::memory_order_relaxed) != kTouched)
    pool_.frame(frame).touched.store(kTouched, std::memory_order_relaxed);
  const bool upgrades = access == Access::write && state(frame) == MapState::to_read;
  const bool done = raise(page, frame, free_access(word));
  word.unlatch();
  return !done ? Outcome::refused : upgrades ? Outcome::upgraded : Outcome::mapped;
}

bool Mappings::map_ahead(PageNumber page) {
  PageWord& word = pool_.word(page);
  const FrameNumber frame = space_.has_room() ? word.latch(Access::read) : kNoFrame;
  if (frame == kNoFrame) return false;
  const bool maps = state(frame) == MapState::no && raise(page, frame, free_access(word));
  if (maps) pool_.frame(frame).touched.store(kTouched, std::memory_order_relaxed);
  word.unlatch();
  return maps;
}

bool Mappings::raise(PageNumber page, FrameNumber frame, MapState least) {
  Claim claim(pool_.frame(frame));
  if (claim.state() < least && !change(page, frame, claim.state(), least)) return false;
  claim.become(std::max(claim.state(), least), space_.now());
  return true;
}

bool Mappings::lower(PageNumber page, FrameNumber frame, MapState most) {
  Claim claim(pool_.frame(frame));
  if (claim.state() <= most) return true;
  if (!change(page, frame, claim.state(), most)) return false;
  claim.become(most, time_in(claim.before));
  return true;
}

bool Mappings::change(PageNumber page, FrameNumber frame, MapState from, MapState to) {
  const std::size_t n = pool_.shape().page_bytes;
  std::byte* at = segment_ + pool_.offset_of(page);
  if (to == MapState::no) return space_.unmap(at, n);
  const bool writable = to == MapState::to_write;
  if (from != MapState::no) return space_.protect(at, n, writable);
  return space_.map(at, pool_.offset(frame), n, writable);
}

MapState Mappings::state(FrameNumber frame) const {
  return state_in(pool_.frame(frame).mapping.load(std::memory_order_relaxed));
}

Mappings::Clock::time_point Mappings::since(FrameNumber frame) const {
  return time_in(pool_.frame(frame).mapping.load(std::memory_order_relaxed));
}

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
#include "pages/pool.hpp"

#include <algorithm>
#include <bit>

#include "base/huge_pages.hpp"
#include "base/mutex.hpp"
#include "heap/node_memory.hpp"

namespace shm::pages {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLaidOut = std::size_t{32} << 20;

}  // namespace

std::size_t PoolShape::requests_at() const { return round_up(sizeof(PoolHead), kLine); }
std::size_t PoolShape::frame_table_at() const {
  return round_up(requests_at() + sizeof(PeRequests) * static_cast<std::size_t>(node_size), kLine);
}
std::size_t PoolShape::words_at() const { return round_up(frame_table_at() + sizeof(Frame) * frames, kLine); }
std::size_t PoolShape::frames_at() const {
  return round_up(words_at() + sizeof(PageWord) * segment_pages * static_cast<std::size_t>(job_size),
                  kHugePage);
}
std::size_t PoolShape::bytes() const { return round_up(frames_at() + frames * page_bytes, kHugePage); }

void Pool::prepare() const {
  FrameQueue& free = head().free;
  const LockGuard guard(head().lock);
  head().lru = head().fifo = head().kept = head().trial = head().standby = {kNoFrame, kNoFrame, 0};
  const auto frames = static_cast<FrameNumber>(shape_.frames);
  free = {0, frames - 1, frames};
  for (FrameNumber n = 0; n < frames; ++n) {
    frame(n).prev = n == 0 ? kNoFrame : n - 1;
    frame(n).next = n + 1 == frames ? kNoFrame : n + 1;
  }
}

// Devices move few large pieces of memory faster than many of 4 KiB.  Some dozen megabytes at a time, as it
// waits for all cores.
std::size_t Pool::group_bytes() const { return std::max(kLaidOut, shape_.page_bytes); }

std::uint32_t Pool::groups() const {
  return static_cast<std::uint32_t>((frames_bytes() + group_bytes() - 1) / group_bytes());
}

std::optional<std::uint32_t> Pool::claim_group(FrameNumber taken) const {
  const auto of_taken = static_cast<std::uint32_t>((std::size_t{taken} << page_shift_) / group_bytes());
  const std::uint32_t needed = std::min(of_taken + 2, groups());
  std::atomic<std::uint32_t>& claimed = head().groups_claimed;
  for (std::uint32_t next = claimed.load(std::memory_order_relaxed); next < needed;) {
    if (claimed.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) return next;
  }
  return std::nullopt;
}

void Pool::lay_out(std::uint32_t group) const {
  const std::size_t first = group * group_bytes();
  lay_out_on_huge_pages(frames_ + first, std::min(group_bytes(), frames_bytes() - first));
}

}  // namespace shm::pages

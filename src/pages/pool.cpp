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
void Pool::lay_out(FrameNumber n) const {
  const std::size_t first = n * shape_.page_bytes, group = std::max(kLaidOut, shape_.page_bytes);
  if (first % group >= shape_.page_bytes) return;
  const std::size_t end = std::min(first + group, shape_.frames * shape_.page_bytes);
  lay_out_on_huge_pages(bytes(n), end - first);
}

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
#include "pages/pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "base/mutex.hpp"
#include "heap/node_memory.hpp"

namespace shm::pages {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kLaidOut = std::size_t{32} << 20;

}  // namespace

std::size_t PoolShape::requests_at() const { return round_up(sizeof(PoolHead), kLine); }
std::size_t PoolShape::frame_table_at() const {
  return round_up(requests_at() + sizeof(PeRequests) * static_cast<std::size_t>(node_size), kLine);
}
std::size_t PoolShape::words_at() const { return round_up(frame_table_at() + sizeof(Frame) * frames, kLine); }
std::size_t PoolShape::frames_at() const {
  return round_up(words_at() + sizeof(PageWord) * segment_pages * static_cast<std::size_t>(job_size), kHuge);
}
std::size_t PoolShape::bytes() const { return round_up(frames_at() + frames * page_bytes, kHuge); }

void Pool::prepare() const {
  FrameQueue& free = head().free;
  const LockGuard guard(head().lock);
  head().lru = head().fifo = head().kept = {kNoFrame, kNoFrame, 0};
  const auto frames = static_cast<FrameNumber>(shape_.frames);
  free = {0, frames - 1, frames};
  for (FrameNumber n = 0; n < frames; ++n) {
    frame(n).prev = n == 0 ? kNoFrame : n - 1;
    frame(n).next = n + 1 == frames ? kNoFrame : n + 1;
  }
}

// Devices move few large pieces of memory faster than many of 4 KiB.  This advice works whatever the system's
// setting for shared memory is, where there is something already; Linux has it since 6.1.  It waits for all
// cores, however much it is for, so it is given for some dozen megabytes at a time.
void Pool::lay_out(FrameNumber n) const {
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;
#endif
  const std::size_t first = n * shape_.page_bytes, group = std::max(kLaidOut, shape_.page_bytes);
  if (first % group >= shape_.page_bytes) return;
  const std::size_t end = std::min(first + group, shape_.frames * shape_.page_bytes);
  for (std::size_t at = first; at < end; at += kHuge)
    madvise(bytes(n) + (at - first), kHuge / 512, MADV_POPULATE_WRITE);
  madvise(bytes(n), round_up(end - first, kHuge), MADV_COLLAPSE);
}

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
// Plain loads and stores of a PE's own segment: an access to a page that is not mapped raises SIGSEGV.  Its
// handler maps the page if it is here, and some that are about to be used with it; else it asks the pager for
// the page and waits.  Then the access is tried again.
//
// Other faults go to the handler that was there before.  A handler that the program installs afterwards must
// do the same for this one.  A forked child has no pager: the segment is not there in it.
#pragma once

#include <cstddef>

#include "core/progress.hpp"
#include "pages/mappings.hpp"
#include "pages/pool.hpp"
#include "pages/thread_read_ahead.hpp"

namespace shm::pages {

/// The segment of this process's PE.
struct Watched {
  std::byte* base;
  std::size_t size;
  const Pool* pool;
  int pe, node_rank;
  Progress* progress;  // null: pages come from this node only
  Mappings* mappings;
  ThreadReadAhead* read_ahead;
};

/// Thread safety: one thread, while no other touches the segment.
void watch_faults(const Watched& segment);
void end_watch();

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
// Faults on the segment of a PE whose pages a pager caches.  The thread maps the page if it is here, and some
// that are about to be used with it; else it asks the pager for the page and waits.
#pragma once

#include <cstddef>

#include "core/progress.hpp"
#include "pages/fault.hpp"
#include "pages/mappings.hpp"
#include "pages/pool.hpp"
#include "pages/thread_read_ahead.hpp"

namespace shm::pages {

/// The segment of this process's PE.
struct PagedSegment {
  std::byte* base;
  std::size_t size;
  const Pool& pool;
  int pe, node_rank;
  Progress* progress;  // null: pages come from this node only
  Mappings& mappings;
  ThreadReadAhead& read_ahead;
};

/// Watches the segment while it lives.
class PagerFaults final : public FaultResolver {
 public:
  /// Ends the job if too many areas are watched.
  explicit PagerFaults(const PagedSegment& segment);
  ~PagerFaults();
  PagerFaults(const PagerFaults&) = delete;
  PagerFaults& operator=(const PagerFaults&) = delete;

  void resolve(std::size_t offset, Access access) override;

 private:
  bool resolve_here(PageNumber page, Access access, PageRange& ahead);
  void wait_for_pager(PageNumber page, Access access, const PageRange& ahead);
  void map_next(PageNumber page, PageRange awaited);
  void have_brought(PageNumber page, const PageRange& range);
  template <class Visit>
  void for_each_beside(PageNumber page, const PageRange& range, Visit visit) const;

  const PagedSegment segment_;
};

}  // namespace shm::pages

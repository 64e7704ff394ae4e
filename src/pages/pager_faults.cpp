// SPDX-License-Identifier: BSD-3-Clause
#include "pages/pager_faults.hpp"

#include <algorithm>

#include "base/fatal.hpp"
#include "base/service_thread.hpp"
#include "base/stats.hpp"
#include "base/wait_report.hpp"
#include "pages/requests.hpp"

namespace shm::pages {
namespace {

// Of pages that a sequence goes on with, those that are mapped together with the one that has been reached:
// no more than so many, and so small a part of those asked for that the others are asked for in time.
constexpr std::uint64_t kMostTogether = 8, kPartTogether = 4;

}  // namespace

PagerFaults::PagerFaults(const PagedSegment& segment) : segment_(segment) {
  if (!watch_faults(segment.base, segment.size, *this))
    fatal("more than %zu areas of pages in one process", kMostAreas);
}

PagerFaults::~PagerFaults() { end_watch(segment_.base); }

void PagerFaults::resolve(std::size_t offset, Access access) {
  const PageNumber page = segment_.pool.number(segment_.pe, offset);
  PageRange ahead;
  if (!resolve_here(page, access, ahead)) wait_for_pager(page, access, ahead);
}

// Calls visit(page) for those of `range` that lie in the segment of `page`, until it returns false.
template <class Visit>
void PagerFaults::for_each_beside(PageNumber page, const PageRange& range, Visit visit) const {
  const std::uint64_t segment = segment_.pool.shape().segment_pages;
  PageNumber each = range.first;
  for (std::uint64_t i = 0; i < range.count && each / segment == page / segment; ++i) {
    if (!visit(each, i)) return;
    each += static_cast<PageNumber>(range.step);
  }
}

// The pager need not be woken where all of them are here.
void PagerFaults::have_brought(PageNumber page, const PageRange& range) {
  for_each_beside(page, range, [&](PageNumber each, std::uint64_t passed) {
    if (segment_.pool.word(each).state() != PageState::invalid) return true;
    const auto count = static_cast<std::uint32_t>(range.count - passed);
    const auto step = static_cast<std::int16_t>(range.step);
    segment_.pool.requests_of(segment_.node_rank)
        .queue.post_hint({each, RequestQueue::What::bring, step, count});
    return false;
  });
}

void PagerFaults::map_next(PageNumber page, PageRange awaited) {
  awaited.count = std::min(awaited.count / kPartTogether, kMostTogether);
  for_each_beside(page, awaited, [this](PageNumber each, std::uint64_t) {
    segment_.mappings.map_ahead(each);
    return true;
  });
}

// Without the pager, if the page is here; else returns false, and `ahead` is what is to be brought behind it.
// No signal comes in between: the program's handler could fault on the same page, or wait for the pager,
// which may wait for this thread.
bool PagerFaults::resolve_here(PageNumber page, Access access, PageRange& ahead) {
  const SignalsBlocked blocked(kOwnFaults);
  const Mappings::Outcome outcome = segment_.mappings.resolve(page, access);
  const bool resolved = outcome != Mappings::Outcome::refused;
  if (resolved) {
    count(Stat::page_faults);
    count(Stat::page_fault_hits);
  }
  if (outcome == Mappings::Outcome::upgraded) return true;  // it was used before
  const ThreadReadAhead::Use use = segment_.read_ahead.use(page);
  ahead = use.bring;
  if (!resolved) return false;
  map_next(page, use.awaited);
  have_brought(page, use.bring);
  return true;
}

// By the pager: the page may have to come from another node, and this thread may be the one that drives the
// network.  So it looks at nothing itself: the agent listens for it.  Whom it waits for only the home knows.
void PagerFaults::wait_for_pager(PageNumber page, Access access, const PageRange& ahead) {
  const Ticket ticket(segment_.pool, segment_.node_rank);
  PageRequest& request = ticket.request();
  request.kind = PageRequest::Kind::map;
  request.access = access;
  request.page = page;
  request.ahead = ahead;
  ticket.post(segment_.node_rank);
  if (ticket.poll()) return;
  const OutsideWait told(access == Access::read ? "a load" : "a store", "for its page ",
                         page % segment_.pool.shape().segment_pages,
                         state_here(segment_.pool.word(page).state()), true);
  if (segment_.progress != nullptr) segment_.progress->insist();
  ticket.wait();
  if (segment_.progress != nullptr) segment_.progress->relent();
}

}  // namespace shm::pages

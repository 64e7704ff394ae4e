// SPDX-License-Identifier: BSD-3-Clause
// Plain loads and stores of memory whose pages come and go: an access to a page that is not mapped raises
// SIGSEGV. The handler has it mapped by who resolves the faults of that area; then the access is tried again.
//
// Other faults go to the handler that was there before.  A handler that the program installs afterwards must
// do the same for this one.  A forked child has nobody who resolves: such memory is not there in it.
#pragma once

#include <cstddef>

#include "pages/page_word.hpp"
#include "pages/windows.hpp"

namespace shm::pages {

/// Who maps the pages of an area.
class FaultResolver {
 public:
  /// The calling thread has faulted at `offset` of the area.  Returns when the access is worth another try.
  /// Async-signal-safe, and may run again within itself, in a handler of the program that interrupts it,
  /// unless it blocks signals.
  virtual void resolve(std::size_t offset, Access access) = 0;

 protected:
  ~FaultResolver() = default;
};

/// At most so many areas of a process are watched at a time; each window of one counts.
inline constexpr std::size_t kMostAreas = 16 + Windows::kMost;

/// From now on faults at [base, base + size) are `resolver`'s.  Returns false if there are too many areas.
/// Thread safety: any thread, while no other touches the area.
bool watch_faults(std::byte* base, std::size_t size, FaultResolver& resolver);
/// They are no longer.
void end_watch(const std::byte* base);

}  // namespace shm::pages

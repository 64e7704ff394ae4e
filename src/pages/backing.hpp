// SPDX-License-Identifier: BSD-3-Clause
// Where the pages of LocalPages are kept while no frame has them, as an interface: pages that are moved,
// whole or in part, straight between a frame and that place.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/wait_report.hpp"
#include "pages/page_word.hpp"
#include "transports/net.hpp"

namespace shm::pages {

/// Thread safety: any thread, also in a signal handler that has all signals blocked, so that it is not
/// interrupted by itself.  Nothing blocks; posting may poll while there is no room.  What cannot be moved
/// ends the job.
class Backing {
 public:
  virtual ~Backing() = default;

  /// Fetches n bytes at `within` of `page`, until `done`.  REQUIRES: they have been written, in whatever
  /// parts.
  virtual void read(PageNumber page, std::size_t within, std::byte* into, std::size_t n,
                    Completion& done) = 0;
  /// Stores them.  REQUIRES: no transfer of that page is under way, unless both read.
  virtual void write(PageNumber page, std::size_t within, const std::byte* from, std::size_t n,
                     Completion& done) = 0;

  /// Makes progress once; returns whether anything happened.  False at once if another thread polls.
  virtual bool poll() = 0;
  /// Called now and then by who waits for a transfer that was posted at `since`: may end the job, naming who
  /// is silent.  `watch`: of that thread's wait.
  virtual void waits(std::chrono::steady_clock::time_point /*since*/, WaitWatch&) {}
};

}  // namespace shm::pages

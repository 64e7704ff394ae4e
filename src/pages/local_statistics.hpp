// SPDX-License-Identifier: BSD-3-Clause
// What has become of pages that only their node uses.
#pragma once

#include <atomic>
#include <cstdint>

namespace shm::pages {

/// Thread safety: any thread.
struct LocalStatistics {
  using Count = std::atomic<std::uint64_t>;
  Count faults{0};      // loads and stores that were not permitted
  Count hits{0};        // of them, those on pages that were in a frame
  Count reads{0};       // pages, or parts of them, that were read from where they are kept
  Count bytes_in{0};    // of these
  Count writes{0};      // the same, written
  Count bytes_out{0};   // of these
  Count ahead{0};       // of the reads, those before the page was used
  Count zeroed{0};      // pages that were nowhere, and began as zeros
  Count dropped{0};     // pages that had to leave and were clean
  Count slot_waits{0};  // reads that had to wait for others

  static void count(Count& counter, std::uint64_t n = 1) { counter.fetch_add(n, std::memory_order_relaxed); }
};

}  // namespace shm::pages

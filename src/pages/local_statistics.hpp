// SPDX-License-Identifier: BSD-3-Clause
// What has become of pages that only their node uses.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/stats.hpp"

namespace shm::pages {

/// Of one area; counted for SHMEM_STATS too, where the meanings stand (include/shmem/stats.h).  Thread
/// safety: any thread.
struct LocalStatistics {
  class Count {
   public:
    explicit Count(Stat stat) : stat_(stat) {}
    operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

   private:
    friend struct LocalStatistics;
    const Stat stat_;
    std::atomic<std::uint64_t> value_{0};
  };
  Count faults{Stat::remote_faults};
  Count hits{Stat::remote_hits};
  Count kept{Stat::remote_kept};
  Count reads{Stat::remote_reads};
  Count bytes_in{Stat::remote_read_bytes};
  Count writes{Stat::remote_writes};
  Count bytes_out{Stat::remote_write_bytes};
  Count ahead{Stat::remote_ahead};
  Count zeroed{Stat::remote_zeroed};
  Count dropped{Stat::remote_dropped};
  Count slot_waits{Stat::remote_slot_waits};

  static void count(Count& counter, std::uint64_t n = 1) {
    counter.value_.fetch_add(n, std::memory_order_relaxed);
    shm::count(counter.stat_, n);
  }
};

}  // namespace shm::pages

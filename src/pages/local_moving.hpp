// SPDX-License-Identifier: BSD-3-Clause
// A transfer that the calling thread waits for.
#pragma once

#include "pages/local_slots.hpp"
#include "pages/local_statistics.hpp"
#include "pages/local_transfers.hpp"

namespace shm::pages {

/// Waits for a slot, which it has until it ends.  Begun once, and then awaited.
class LocalMoving {
 public:
  LocalMoving(LocalSlots& slots, LocalTransfers& transfers, LocalStatistics& statistics)
      : slots_(slots), transfers_(transfers), statistics_(statistics) {
    if (slots.acquire()) LocalStatistics::count(statistics.slot_waits);
    transit_ = transfers.take(LocalTransfers::Kind::call);  // as many as slots
  }
  ~LocalMoving() {
    transfers_.give(*transit_);
    slots_.release();
  }
  LocalMoving(const LocalMoving&) = delete;
  LocalMoving& operator=(const LocalMoving&) = delete;

  void read(PageNumber page, std::size_t within, std::byte* into, std::size_t n) {
    LocalStatistics::count(statistics_.reads);
    LocalStatistics::count(statistics_.bytes_in, n);
    transit_->page = page;
    transfers_.read(*transit_, within, into, n);
  }
  void write(PageNumber page, std::size_t within, const std::byte* from, std::size_t n) {
    LocalStatistics::count(statistics_.writes);
    LocalStatistics::count(statistics_.bytes_out, n);
    transit_->page = page;
    transfers_.write(*transit_, within, from, n);
  }
  void wait() { transfers_.wait(*transit_); }

 private:
  LocalSlots& slots_;
  LocalTransfers& transfers_;
  LocalStatistics& statistics_;
  LocalTransfers::Transit* transit_;
};

}  // namespace shm::pages

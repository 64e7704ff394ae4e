// SPDX-License-Identifier: BSD-3-Clause
// When a page that is elsewhere should come here: when the small operations that were sent after it have cost
// about as much as bringing it would have.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nvm/pool.hpp"

namespace shm::nvm {

/// Thread safety: any thread; threads that meet in a row may lose a charge.
class Interest {
 public:
  /// Charges an operation of n bytes on a page that is not here.  Returns whether the page should come.
  bool grows_with(PageNumber page, std::size_t n, std::size_t page_bytes) {
    Row& row = rows_[page % kRows];
    if (row.page.load(std::memory_order_relaxed) != page) {
      row.page.store(page, std::memory_order_relaxed);
      row.charge.store(0, std::memory_order_relaxed);
    }
    const std::uint32_t charge =
        row.charge.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(n) + kOverhead;
    const bool pays = charge >= page_bytes + kOverhead;
    row.charge.store(pays ? 0 : charge, std::memory_order_relaxed);
    return pays;
  }

 private:
  // What a message costs beside its bytes, in bytes of a page that travels: 20 us beside 1 GB/s.
  static constexpr std::uint32_t kOverhead = 16384;
  static constexpr std::size_t kRows = 512;
  struct Row {
    std::atomic<PageNumber> page;
    std::atomic<std::uint32_t> charge;
  };
  std::array<Row, kRows> rows_{};
};

}  // namespace shm::nvm

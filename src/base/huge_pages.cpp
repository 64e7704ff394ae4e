// SPDX-License-Identifier: BSD-3-Clause
#include "base/huge_pages.hpp"

#include <sys/mman.h>

namespace shm {

// Only where there is something already does the advice do anything.
void lay_out_on_huge_pages(std::byte* at, std::size_t n) {
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;
#endif
  const std::size_t whole = (n + kHugePage - 1) / kHugePage * kHugePage;
  for (std::size_t done = 0; done < whole; done += kHugePage)
    madvise(at + done, kHugePage / 512, MADV_POPULATE_WRITE);
  madvise(at, whole, MADV_COLLAPSE);
}

}  // namespace shm

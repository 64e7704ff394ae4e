// SPDX-License-Identifier: BSD-3-Clause
#include "base/huge_pages.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace shm {

// Only where there is something already does the advice do anything.
void lay_out_on_huge_pages(std::byte* at, std::size_t n) {
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;
#endif
  const std::size_t whole = (n + kHugePage - 1) / kHugePage * kHugePage;
  for (std::size_t done = 0; done < whole; done += kHugePage)
    madvise(at + done, kHugePage / 512, MADV_POPULATE_WRITE);
  // What is being read from a disk, say, stays where it is; most of it is done a moment later.
  constexpr int kTries = 8;
  for (int tries = 0; tries < kTries && madvise(at, whole, MADV_COLLAPSE) != 0 && errno == EAGAIN; ++tries) {
  }
}

}  // namespace shm

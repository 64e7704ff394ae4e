// SPDX-License-Identifier: BSD-3-Clause
#include "base/huge_pages.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace shm {

// Only where there is something already does the advice do anything.
void lay_out_on_huge_pages(std::byte* at, std::size_t n, const std::function<void()>& pause) {
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;
#endif
  const std::size_t whole = (n + kHugePage - 1) / kHugePage * kHugePage;
  for (std::size_t done = 0; done < whole; done += kHugePage)
    madvise(at + done, kHugePage / 512, MADV_POPULATE_WRITE);
  // Each try does those huge pages into which nothing is being read just then.
  constexpr int kTries = 16;
  for (int tries = 1; madvise(at, whole, MADV_COLLAPSE) != 0 && errno == EAGAIN && tries < kTries; ++tries)
    pause();
}

void lay_out_on_huge_pages(std::byte* at, std::size_t n) {
  static constexpr std::chrono::microseconds kReadOfAPage{500};
  lay_out_on_huge_pages(at, n, [] { std::this_thread::sleep_for(kReadOfAPage); });
}

}  // namespace shm

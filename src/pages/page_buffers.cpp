// SPDX-License-Identifier: BSD-3-Clause
#include "pages/page_buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/fatal.hpp"
#include "base/huge_pages.hpp"

namespace shm::pages {

PageBuffers::PageBuffers(std::size_t page_bytes)
    : page_bytes_(page_bytes), count_(std::clamp(kBytes / page_bytes, kFewest, kMost)) {}

PageBuffers::~PageBuffers() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

PageBuffer PageBuffers::take() {
  if (memory_ == nullptr) make();
  if (free_.empty()) return PageBuffer(nullptr, GiveBuffer{this});
  std::byte* buffer = free_.back();
  free_.pop_back();
  return PageBuffer(buffer, GiveBuffer{this});
}

void PageBuffers::make() {
  bytes_ = count_ * page_bytes_ + kHugePage;  // room to begin at a huge page
  memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) {
    fatal("out of memory: %zu bytes for %zu pages on their way from and to files: %s", bytes_, count_,
          std::strerror(errno));
  }
  madvise(memory_, bytes_, MADV_HUGEPAGE);
  madvise(memory_, bytes_, MADV_DONTFORK);
  auto* first = static_cast<std::byte*>(memory_);
  first += (0 - reinterpret_cast<std::uintptr_t>(first)) % kHugePage;
  for (std::size_t n = count_; n-- > 0;) free_.push_back(first + n * page_bytes_);
}

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
// Mappings that nobody needs, kept so that they can be given up: where the system has no room for more, not
// even a page that is mapped can be unmapped, as that is a mapping too.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

namespace shm::pages {

/// Thread safety: one thread at a time; exist() by any, signal handlers included.
class SpareMappings {
 public:
  SpareMappings() { make(); }
  ~SpareMappings() { give_up(); }
  SpareMappings(const SpareMappings&) = delete;
  SpareMappings& operator=(const SpareMappings&) = delete;

  bool exist() const { return at_.load(std::memory_order_relaxed) != nullptr; }
  /// Makes as many as there is room for, unless there are some.
  void make() {
    if (exist()) return;
    const std::size_t page = page_bytes();
    void* at = mmap(nullptr, kMappings * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    auto* first = static_cast<std::byte*>(at);
    // Pages whose neighbours have other rights are mappings of their own.
    for (std::size_t n = 1; n < kMappings && mprotect(first + n * page, page, PROT_READ) == 0; n += 2) {
    }
    at_.store(first, std::memory_order_relaxed);
  }
  /// Returns whether there were any.
  bool give_up() {
    if (!exist()) return false;
    munmap(at_.exchange(nullptr, std::memory_order_relaxed), kMappings * page_bytes());
    return true;
  }

 private:
  static constexpr std::size_t kMappings = 32;
  static std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

  std::atomic<std::byte*> at_{nullptr};
};

}  // namespace shm::pages

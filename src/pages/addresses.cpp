// SPDX-License-Identifier: BSD-3-Clause
#include "pages/addresses.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace shm::pages {

std::byte* map_raw(std::byte* at, std::size_t n, int protection, int flags, int file, std::size_t offset) {
  const long mapped = syscall(SYS_mmap, at, n, protection, flags, file, offset);
  return mapped == -1 ? nullptr : reinterpret_cast<std::byte*>(mapped);
}

std::byte* reserve_addresses(std::byte* at, std::size_t n) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at == nullptr ? 0 : MAP_FIXED);
  return map_raw(at, n, PROT_NONE, flags, -1, 0);
}

std::byte* reserve_aligned(std::size_t n, std::size_t alignment) {
  std::byte* around = reserve_addresses(nullptr, n + alignment);
  if (around == nullptr) return nullptr;
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(around)) % alignment;
  if (before != 0) munmap(around, before);
  if (before != alignment) munmap(around + before + n, alignment - before);
  return around + before;
}

std::size_t mapping_limit() {
  std::size_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  return limit;
}

}  // namespace shm::pages

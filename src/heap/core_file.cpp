// SPDX-License-Identifier: BSD-3-Clause
#include "heap/core_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace shm {
namespace {

constexpr std::uint64_t kCorePage = 4096;
constexpr int kMostParts = 16384;  // each may be a mapping of its own then; the kernel allows 65530

constinit std::array<OwnMemory, 2> own{};
constinit std::atomic<std::size_t> own_used{0};

struct CoreArea {
  std::atomic<void*> at{nullptr};
  std::atomic<std::size_t> size{0};
};
constinit CoreArea area{};

void choose_touched(const OwnMemory& memory, int& parts) {
  const std::uint64_t end = memory.offset + memory.size;
  for (std::uint64_t next = memory.offset; next < end && parts < kMostParts; ++parts) {
    const off_t data = lseek(memory.file, static_cast<off_t>(next), SEEK_DATA);
    if (data < 0 || static_cast<std::uint64_t>(data) >= end) return;
    const off_t hole = lseek(memory.file, data, SEEK_HOLE);
    next = hole < 0 ? end : std::min(static_cast<std::uint64_t>(hole), end);
    const std::uint64_t first =
        std::max(static_cast<std::uint64_t>(data) / kCorePage * kCorePage, memory.offset);
    madvise(memory.at + (first - memory.offset), next - first, MADV_DODUMP);
  }
}

}  // namespace

void leave_out_of_core(const void* at, std::size_t size) {
  if (size > 0) madvise(const_cast<void*>(at), size, MADV_DONTDUMP);
}

void add_touched_to_core(const OwnMemory& memory) {
  const std::size_t used = own_used.load();
  if (used == own.size() || memory.size == 0) return;
  leave_out_of_core(memory.at, memory.size);
  own[used] = memory;
  own_used.store(used + 1);
}

void leave_area_out_of_core(const void* at, std::size_t size) {
  area.at.store(nullptr);
  area.size.store(size);
  area.at.store(const_cast<void*>(at));
}

void choose_core_memory() {
  if (void* at = area.at.load()) madvise(at, area.size.load(), MADV_DONTDUMP);
  int parts = 0;
  for (std::size_t i = 0; i < own_used.load(); ++i) choose_touched(own[i], parts);
}

}  // namespace shm

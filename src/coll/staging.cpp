// SPDX-License-Identifier: BSD-3-Clause
#include "coll/staging.hpp"

#include "base/copy_bytes.hpp"
#include "core/region.hpp"

namespace shm {
namespace {

std::byte* staging = nullptr;

}  // namespace

void set_staging(std::byte* all) { staging = all; }

std::span<std::byte> staging_of(const Group& g) {
  return {staging + static_cast<std::size_t>(g.slot) * kStagingBytes, kStagingBytes};
}

bool is_staging(const void* address, std::size_t n) {
  if (staging == nullptr) return false;
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(staging);
  return offset < kStagingOfAllSlots && n <= kStagingOfAllSlots - offset;
}

void stage_in(std::byte* to, const void* own, std::size_t n) {
  if (Region* region = find_region(own, n)) {
    region->get(nullptr, to, reinterpret_cast<std::uintptr_t>(own), n, rt.me, false);
  } else {
    copy_bytes(to, own, n);
  }
}

void will_stage_out(void* own, std::size_t n, std::size_t part) {
  if (n <= part) return;
  if (Region* region = find_region(own, n)) region->will_overwrite(reinterpret_cast<std::uintptr_t>(own), n);
}

void stage_out(void* own, const std::byte* from, std::size_t n) {
  if (Region* region = find_region(own, n)) {
    region->put(nullptr, reinterpret_cast<std::uintptr_t>(own), from, n, rt.me, false);
  } else {
    copy_bytes(own, from, n);
  }
}

}  // namespace shm

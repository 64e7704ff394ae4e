// SPDX-License-Identifier: BSD-3-Clause
#include "core/region.hpp"

#include <algorithm>
#include <array>

#include "base/fatal.hpp"
#include "core/runtime.hpp"

namespace shm {
namespace {

std::array<Region*, kMaxRegions> regions;
int count = 0;

// Of all regions, for rt.regions.
AddressRange hull() {
  std::uintptr_t first = UINTPTR_MAX, last = 0;
  for (int i = 0; i < count; ++i) {
    const Region* region = regions[static_cast<std::size_t>(i)];
    first = std::min(first, region->base());
    last = std::max(last, region->base() + region->size());
  }
  return count == 0 ? AddressRange() : AddressRange{first, last - first};
}

}  // namespace

void add_region(Region* region) {
  if (count == kMaxRegions)
    fatal("%s cannot be added: there are %d address regions already", region->name(), count);
  regions[static_cast<std::size_t>(count++)] = region;
  rt.regions = hull();
}

void remove_region(Region* region) {
  const auto end = regions.begin() + count;
  count -= static_cast<int>(end - std::remove(regions.begin(), end, region));
  rt.regions = hull();
}

Region* look_for_region(std::uintptr_t address, std::size_t n) {
  for (int i = 0; i < count; ++i) {
    Region* region = regions[static_cast<std::size_t>(i)];
    if (region->holds(address, n)) return region;
  }
  return nullptr;
}

void quiet_regions(Context& context) {
  for (int i = 0; i < count; ++i) regions[static_cast<std::size_t>(i)]->quiet(context);
}

void fence_regions(Context& context) {
  for (int i = 0; i < count; ++i) regions[static_cast<std::size_t>(i)]->fence(context);
}

}  // namespace shm

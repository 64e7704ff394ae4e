// SPDX-License-Identifier: BSD-3-Clause
#include "core/region.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/fatal.hpp"
#include "core/runtime.hpp"

namespace shm {
namespace {

std::array<Region*, kMaxRegions> regions;
int count = 0;

// Never destroyed: it is asked until the process ends.
std::vector<AddressRange>& private_pages() {
  static auto& ranges = *new std::vector<AddressRange>;
  return ranges;
}

// Of all regions and the private pages, for rt.regions.
AddressRange hull() {
  std::uintptr_t first = UINTPTR_MAX, last = 0;
  const auto include = [&](std::uintptr_t base, std::size_t size) {
    if (size == 0) return;
    first = std::min(first, base);
    last = std::max(last, base + size);
  };
  for (int i = 0; i < count; ++i)
    include(regions[static_cast<std::size_t>(i)]->base(), regions[static_cast<std::size_t>(i)]->size());
  for (const AddressRange& range : private_pages()) include(range.base, range.size);
  return last == 0 ? AddressRange() : AddressRange{first, last - first};
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

void add_private_pages(std::uintptr_t base, std::size_t size) {
  private_pages().push_back({base, size});
  rt.regions = hull();
}

void remove_private_pages() {
  private_pages().clear();
  rt.regions = hull();
}

bool look_for_pages(std::uintptr_t address, std::size_t n) {
  const auto meets = [&](std::uintptr_t base, std::size_t size) {
    return ranges_meet(address, n, base, size);
  };
  return std::ranges::any_of(private_pages(),
                             [&](const AddressRange& range) { return meets(range.base, range.size); }) ||
         std::any_of(regions.begin(), regions.begin() + count,
                     [&](const Region* region) { return meets(region->base(), region->size()); });
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

void end_quiet_of_regions() {
  for (int i = 0; i < count; ++i) regions[static_cast<std::size_t>(i)]->quiet_ends();
}

void fence_regions(Context& context) {
  for (int i = 0; i < count; ++i) regions[static_cast<std::size_t>(i)]->fence(context);
}

}  // namespace shm

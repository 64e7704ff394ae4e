// SPDX-License-Identifier: BSD-3-Clause
#include "remote/leases.hpp"

#include <algorithm>

#include "remote/wire.hpp"

namespace shm::remote {

Leases::Leases(std::uint64_t bytes) : bytes_(bytes / kLeaseGrain * kLeaseGrain), free_(bytes_) {}

std::optional<std::uint64_t> Leases::lend(int pe, std::uint64_t bytes) {
  if (bytes == 0 || bytes % kLeaseGrain != 0 || bytes > free_) return std::nullopt;
  std::uint64_t gap = 0;  // where the gap before a lease begins
  for (const auto& [offset, lease] : lent_) {
    if (offset - gap >= bytes) break;
    gap = offset + lease.bytes;
  }
  if (bytes_ - gap < bytes) return std::nullopt;
  lent_.emplace(gap, Lease{bytes, pe});
  free_ -= bytes;
  return gap;
}

// The lease of `pe` that has all of the range, or the end.
Leases::ByOffset::const_iterator Leases::find(int pe, const Range& range) const {
  auto found = lent_.upper_bound(range.offset);
  if (range.bytes == 0 || found == lent_.begin()) return lent_.end();
  --found;
  const auto& [offset, lease] = *found;
  const std::uint64_t before = range.offset - offset;
  const bool holds = lease.pe == pe && before < lease.bytes && range.bytes <= lease.bytes - before;
  return holds ? found : lent_.end();
}

bool Leases::lent_to(int pe, const Range& range) const { return find(pe, range) != lent_.end(); }

bool Leases::take_back(int pe, const Range& range) {
  if (range.offset % kLeaseGrain != 0 || range.bytes % kLeaseGrain != 0) return false;
  const auto found = find(pe, range);
  if (found == lent_.end()) return false;
  const auto [offset, lease] = *found;
  const std::uint64_t before = range.offset - offset;
  const std::uint64_t behind = lease.bytes - before - range.bytes;
  lent_.erase(found);
  if (before != 0) lent_.emplace(offset, Lease{before, pe});
  if (behind != 0) lent_.emplace(range.offset + range.bytes, Lease{behind, pe});
  free_ += range.bytes;
  return true;
}

std::vector<Leases::Range> Leases::lent_to(int pe) const {
  std::vector<Range> ranges;
  for (const auto& [offset, lease] : lent_) {
    if (lease.pe == pe) ranges.push_back({offset, lease.bytes});
  }
  return ranges;
}

std::vector<Leases::Range> Leases::take_back_all(int pe) {
  std::vector<Range> ranges = lent_to(pe);
  for (const Range& range : ranges) take_back(pe, range);
  return ranges;
}

}  // namespace shm::remote

// SPDX-License-Identifier: BSD-3-Clause
#include "remote/placement.hpp"

#include <utility>

namespace shm::remote {

Placement::Placement(const Shape& shape)
    : shape_(shape),
      extents_((shape.bytes + shape.extent_bytes - 1) / shape.extent_bytes),
      owned_(extents_.size()) {}

void Placement::lend(std::uint64_t extent, std::vector<Place> shares) {
  owned_[extent] = std::make_unique<const Shares>(std::move(shares));
  extents_[extent].store(owned_[extent].get(), std::memory_order_release);
}

std::vector<Place> Placement::take_back(std::uint64_t extent) {
  extents_[extent].store(nullptr, std::memory_order_release);
  const std::unique_ptr<const Shares> shares = std::move(owned_[extent]);
  return *shares;
}

Place Placement::find(std::uint64_t at) const {
  const Shares& shares = *extents_[extent_of(at)].load(std::memory_order_acquire);
  const std::uint64_t page = at % shape_.extent_bytes / shape_.page_bytes;
  const Place& share = shares[page % shares.size()];
  return {share.server, share.offset + page / shares.size() * shape_.page_bytes + at % shape_.page_bytes};
}

}  // namespace shm::remote

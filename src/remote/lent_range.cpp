// SPDX-License-Identifier: BSD-3-Clause
#include "remote/lent_range.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/human.hpp"

namespace shm::remote {
namespace {

constexpr std::uint64_t kLargestExtent = std::uint64_t{64} << 20;
constexpr std::uint64_t kPartsOfServer = 16;  // an extent is no larger a part of what a server lends

}  // namespace

Placement::Shape LentRange::shape_for(std::uint64_t bytes, std::uint64_t page_bytes,
                                      std::uint64_t server_bytes) {
  const std::uint64_t part = std::bit_floor(std::max<std::uint64_t>(server_bytes / kPartsOfServer, 1));
  return {bytes, std::max(page_bytes, std::min(part, kLargestExtent)), page_bytes};
}

LentRange::LentRange(Servers& servers, const Placement::Shape& shape)
    : servers_(servers),
      placement_(shape),
      reserved_((shape.bytes + shape.page_bytes - 1) / shape.page_bytes),
      in_use_(placement_.extents()) {}

LentRange::~LentRange() {
  const LockGuard guard(mutex_);
  for (std::uint64_t extent = 0; extent < placement_.extents(); ++extent) {
    if (placement_.is_lent(extent)) give_back(extent);
  }
}

Status LentRange::reserve(std::uint64_t first, std::uint64_t last) {
  const LockGuard guard(mutex_);
  std::vector<std::uint64_t> taken;
  for (std::uint64_t extent = extent_of_page(first); first < last && extent <= extent_of_page(last - 1);
       ++extent) {
    if (placement_.is_lent(extent)) continue;
    if (lease(extent)) {
      taken.push_back(extent);
      continue;
    }
    for (const std::uint64_t lent : taken) give_back(lent);
    return Status::error(
        "the memory servers have no room for " + human_bytes((last - first) * shape().page_bytes) +
        " more (" + std::to_string(servers_.count()) + " of them; the last one asked has " +
        human_bytes(servers_.last_free()) + " left): start more of them, or raise --memory-per-server");
  }
  for (std::uint64_t page = first; page < last; ++page) {
    if (reserved_[page]) continue;
    reserved_[page] = true;
    ++in_use_[extent_of_page(page)];
  }
  return {};
}

// On all servers, or on those that have room.
bool LentRange::lease(std::uint64_t extent) {
  std::vector<int> candidates(static_cast<std::size_t>(servers_.count()));
  std::iota(candidates.begin(), candidates.end(), 0);
  const auto turn = static_cast<std::ptrdiff_t>(next_server_ % candidates.size());
  std::rotate(candidates.begin(), candidates.begin() + turn, candidates.end());
  const std::uint64_t pages = shape().extent_bytes / shape().page_bytes;
  while (!candidates.empty()) {
    const std::size_t parts = std::min<std::uint64_t>(candidates.size(), pages);
    const std::uint64_t bytes = placement_.share_bytes(parts);
    std::vector<Place> shares;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::optional<std::uint64_t> offset = servers_.lease(candidates[part], bytes);
      if (offset) shares.push_back({candidates[part], *offset});
    }
    if (shares.size() == parts) {
      placement_.lend(extent, std::move(shares));
      next_server_ += pages;
      return true;
    }
    // Those that have refused are not asked again.
    std::vector<int> others(candidates.begin() + static_cast<std::ptrdiff_t>(parts), candidates.end());
    for (const Place& share : shares) {
      servers_.give_back(share.server, share.offset, bytes);
      others.push_back(share.server);
    }
    candidates = std::move(others);
  }
  return false;
}

void LentRange::give_back(std::uint64_t extent) {
  const std::vector<Place> shares = placement_.take_back(extent);
  for (const Place& share : shares)
    servers_.give_back(share.server, share.offset, placement_.share_bytes(shares.size()));
}

void LentRange::release(std::uint64_t first, std::uint64_t last) {
  const LockGuard guard(mutex_);
  for (std::uint64_t page = first; page < last; ++page) {
    if (!reserved_[page]) continue;
    reserved_[page] = false;
    const std::uint64_t extent = extent_of_page(page);
    if (--in_use_[extent] == 0) give_back(extent);
  }
}

}  // namespace shm::remote

// SPDX-License-Identifier: BSD-3-Clause
// On which memory server each page of a range of bytes lies.  Pure.
//
// The range is cut into extents.  Those of an extent that have been lent lie on one server or several, its
// pages on each of them in turn, so that neighbouring pages come from different servers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace shm::remote {

/// A byte of a server's memory.
struct Place {
  int server;
  std::uint64_t offset;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Thread safety: find() and is_lent() by any thread, in signal handlers too; the rest by one at a time.  An
/// extent is not taken back while somebody looks for a page of it.
class Placement {
 public:
  /// Powers of two; an extent is as large as a page, or larger.
  struct Shape {
    std::uint64_t bytes;  // of the range
    std::uint64_t extent_bytes;
    std::uint64_t page_bytes;
  };
  explicit Placement(const Shape& shape);

  const Shape& shape() const { return shape_; }
  std::uint64_t extents() const { return extents_.size(); }
  std::uint64_t extent_of(std::uint64_t at) const { return at / shape_.extent_bytes; }

  /// What each of `servers` servers has to lend for an extent.
  std::uint64_t share_bytes(std::size_t servers) const {
    const std::uint64_t pages = shape_.extent_bytes / shape_.page_bytes;
    return (pages + servers - 1) / servers * shape_.page_bytes;
  }
  /// The extent lies there from now on: one share on each server.  REQUIRES: not lent.
  void lend(std::uint64_t extent, std::vector<Place> shares);
  /// Where it lay.  REQUIRES: lent.
  std::vector<Place> take_back(std::uint64_t extent);
  bool is_lent(std::uint64_t extent) const {
    return extents_[extent].load(std::memory_order_acquire) != nullptr;
  }

  /// Where byte `at` of the range lies, and the rest of its page behind it.  REQUIRES: its extent is lent.
  Place find(std::uint64_t at) const;

 private:
  using Shares = std::vector<Place>;
  const Shape shape_;
  std::vector<std::atomic<const Shares*>> extents_;
  std::vector<std::unique_ptr<const Shares>> owned_;  // those of extents_
};

}  // namespace shm::remote

// SPDX-License-Identifier: BSD-3-Clause
// Which parts of a memory server's memory are lent, and to whom.  Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace shm::remote {

/// Thread safety: one thread.
class Leases {
 public:
  struct Range {
    std::uint64_t offset, bytes;
    friend bool operator==(const Range&, const Range&) = default;
  };

  /// A server of `bytes` bytes, none of them lent.
  explicit Leases(std::uint64_t bytes);

  /// Lends `bytes` in one piece to `pe`, where they fit first; nothing if there is no such piece, or `bytes`
  /// is 0 or no multiple of kLeaseGrain.
  std::optional<std::uint64_t> lend(int pe, std::uint64_t bytes);
  /// Takes back exactly what lend() has lent to `pe`, or a part of it.  Returns false, and changes nothing,
  /// if any of the range is not lent to `pe`.
  bool take_back(int pe, const Range& range);
  /// Takes back all that `pe` has, and returns it.
  std::vector<Range> take_back_all(int pe);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t free() const { return free_; }
  /// Whether all of the range, which is not empty, is one lease of `pe`'s, or part of one.
  bool lent_to(int pe, const Range& range) const;
  /// What `pe` has, by offset; neighbours may be one or several.
  std::vector<Range> lent_to(int pe) const;

 private:
  struct Lease {
    std::uint64_t bytes;
    int pe;
  };
  using ByOffset = std::map<std::uint64_t, Lease>;
  ByOffset::const_iterator find(int pe, const Range& range) const;

  const std::uint64_t bytes_;
  std::uint64_t free_;
  ByOffset lent_;  // by offset; they do not overlap
};

}  // namespace shm::remote

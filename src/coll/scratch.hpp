// SPDX-License-Identifier: BSD-3-Clause
// Memory for what arrives from other nodes during one collective call.
#pragma once

#include <cstddef>
#include <vector>

namespace shm {

/// n bytes, aligned for every type, for as long as this lives.  They are symmetric memory, which peers can
/// put into, unless n is larger than kScratchBytes or other threads use too much at the moment: then private
/// memory, which parcels reach by messages.  Thread safety: any thread.
class Scratch {
 public:
  explicit Scratch(std::size_t n);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() { return data_; }

 private:
  std::byte* data_;
  std::size_t first_ = 0, blocks_ = 0;  // of the symmetric area
  std::vector<std::byte> private_;
};

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Which memory of this process holds zeros only: much of what a program has declared it has never used, and
// to look into that would give it memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shm::remote {

/// Knows the mappings that were there when it was made.  Thread safety: one thread; the memory it is asked of
/// does not change.
class ZeroMemory {
 public:
  ZeroMemory();
  ~ZeroMemory();
  ZeroMemory(const ZeroMemory&) = delete;
  ZeroMemory& operator=(const ZeroMemory&) = delete;

  /// Whether [at, at + n), whole pages of the system, are zeros.  REQUIRES: they may be loaded from.
  bool holds(const std::byte* at, std::size_t n) const;

 private:
  struct Range {
    std::uintptr_t begin, end;
  };
  bool is_anonymous(std::uintptr_t begin, std::size_t n) const;
  void find_used(std::uintptr_t begin, std::span<bool> used) const;

  std::vector<Range> anonymous_;  // what no file is below
  int pagemap_ = -1;              // -1: the system does not say what was used
};

}  // namespace shm::remote

// SPDX-License-Identifier: BSD-3-Clause
// Local memory that stands for remote memory in a system call, which fails with EFAULT on pages that are not
// here.
#pragma once

#include <cstddef>

namespace remote_malloc {

/// Async-signal-safe, unlike malloc.
class Stage {
 public:
  /// Of these sizes and below, some are kept.
  static constexpr std::size_t kKeptBytes = std::size_t{256} << 10;

  explicit Stage(std::size_t bytes);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// At a multiple of 4096; null if there is no memory: errno says so.
  std::byte* at() const { return at_; }

 private:
  const std::size_t bytes_;
  int kept_ = -1;  // which; -1: none
  std::byte* at_ = nullptr;
};

}  // namespace remote_malloc

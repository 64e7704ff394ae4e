// SPDX-License-Identifier: BSD-3-Clause
// Windows of an area: ranges of its pages whose addresses are elsewhere, at memory that a program had before.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ranges_meet.hpp"

namespace shm::pages {

/// Few.  Thread safety: one thread adds and removes; all others ask, also in signal handlers and meanwhile.
class Windows {
 public:
  static constexpr std::size_t kMost = 64;

  struct Window {
    std::size_t offset = 0;  // in the area, of its first byte
    std::size_t bytes = 0;
    std::byte* at = nullptr;

    bool has_offset(std::size_t other) const { return other - offset < bytes; }
    bool has_address(const void* address) const {
      return static_cast<std::size_t>(static_cast<const std::byte*>(address) - at) < bytes;
    }
  };

  /// REQUIRES: it meets no other one; there are less than kMost.
  void add(const Window& window) {
    const std::size_t n = count();
    all_[n] = window;
    count_.store(n + 1, std::memory_order_release);
  }
  /// The one that was added last, which nobody knows of.
  void remove_last() { count_.store(count() - 1, std::memory_order_release); }

  std::size_t count() const { return count_.load(std::memory_order_acquire); }
  const Window& operator[](std::size_t n) const { return all_[n]; }

  /// The window that has it, or null.
  const Window* with_offset(std::size_t offset) const {
    return find([offset](const Window& window) { return window.has_offset(offset); });
  }
  const Window* with_address(const void* address) const {
    return find([address](const Window& window) { return window.has_address(address); });
  }

  /// Whether any of [address, address + n) is in one.
  bool meet(const void* address, std::size_t n) const {
    return find([address, n](const Window& window) {
             return ranges_meet(reinterpret_cast<std::uintptr_t>(address), n,
                                reinterpret_cast<std::uintptr_t>(window.at), window.bytes);
           }) != nullptr;
  }

  /// How many of the `n` bytes of the area from `offset` on lie behind each other: in one window, or all in
  /// none.
  std::size_t in_a_row(std::size_t offset, std::size_t n) const {
    if (const Window* window = with_offset(offset))
      return std::min(n, window->offset + window->bytes - offset);
    for (std::size_t i = 0; i < count(); ++i) {
      if (all_[i].offset > offset) n = std::min(n, all_[i].offset - offset);
    }
    return n;
  }

 private:
  template <class Has>
  const Window* find(Has has) const {
    const std::size_t n = count();
    for (std::size_t i = 0; i < n; ++i) {
      if (has(all_[i])) return &all_[i];
    }
    return nullptr;
  }

  std::array<Window, kMost> all_;
  std::atomic<std::size_t> count_{0};  // stored last
};

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
// Bytes of all PEs come to PE 0, however many they are, through little symmetric memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace observe {

/// Symmetric memory at multiples of 8: allocated, or where there is none, that which nobody needs any more.
class Window {
 public:
  /// Collective.  `spare`: see ObserverSettings::window; null while the program runs.
  Window(std::size_t wanted, std::byte* spare, std::size_t spare_bytes);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::byte* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }  ///< 0: there is none

 private:
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  bool allocated_ = false;
};

/// Collective.  `make` appends the next bytes of this PE, at most as many as it is told; nothing: there are
/// none left. On PE 0 `take` gets those of each PE in their order.  The window has at least kLeastWindow
/// bytes.
inline constexpr std::size_t kLeastWindow = 16384;
void gather(const Window& window, const std::function<void(std::string&, std::size_t)>& make,
            const std::function<void(int, const std::string&)>& take);

}  // namespace observe

// SPDX-License-Identifier: BSD-3-Clause
// What a process makes known to all others at the start (Boot::exchange).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace shm {

struct Announcement {
  std::vector<std::byte> link;  // how it is reached by memory servers, or is one; empty where there are none
  std::vector<std::byte> node;  // the PEs of its node, by the lowest of them

  std::vector<std::byte> pack() const {
    if (link.empty() && node.empty()) return {};
    const std::uint64_t n = link.size();
    std::vector<std::byte> bytes(sizeof n);
    std::memcpy(bytes.data(), &n, sizeof n);
    bytes.insert(bytes.end(), link.begin(), link.end());
    bytes.insert(bytes.end(), node.begin(), node.end());
    return bytes;
  }
  /// Returns false if `bytes` is not what pack() makes.
  static bool unpack(const std::vector<std::byte>& bytes, Announcement& to) {
    std::uint64_t n = 0;
    if (bytes.size() < sizeof n) return false;
    std::memcpy(&n, bytes.data(), sizeof n);
    if (n > bytes.size() - sizeof n) return false;
    const auto link = bytes.begin() + sizeof n, node = link + static_cast<std::ptrdiff_t>(n);
    to = {{link, node}, {node, bytes.end()}};
    return true;
  }
};

}  // namespace shm

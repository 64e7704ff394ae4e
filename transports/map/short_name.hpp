// SPDX-License-Identifier: BSD-3-Clause
// Names of limited length for keys that may be longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace shm {

/// `prefix` and `key`, or if that is longer than `limit`, `prefix` and 32 hexadecimal digits that depend on
/// all of the key.  Cutting it off instead would give the virtual nodes of a host, which differ at the end,
/// one name. REQUIRES: prefix.size() + 32 <= limit.
inline std::string short_name(std::string_view prefix, std::string_view key, std::size_t limit) {
  if (prefix.size() + key.size() <= limit) return std::string(prefix).append(key);
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t a = 0xcbf29ce484222325, b = ~a;  // FNV-1a, twice
  for (const char c : key) {
    a = (a ^ static_cast<unsigned char>(c)) * kPrime;
    b = (b ^ (a >> 32) ^ static_cast<unsigned char>(c)) * kPrime;
  }
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return std::string(prefix).append(digits);
}

}  // namespace shm

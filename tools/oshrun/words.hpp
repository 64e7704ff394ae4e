// SPDX-License-Identifier: BSD-3-Clause
// Words of a command line: how errors show them, and numbers and times among them.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iomanip>  // std::quoted, which others have anyway with some versions of the C++ library
#include <optional>
#include <string>
#include <string_view>

namespace oshrun {

/// At most so many bytes, and no part of a character (UTF-8).
inline std::string_view beginning(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

/// For an error line: no control characters, and only the beginning of what is long. `more` follows inside.
inline std::string quoted(std::string_view text, std::string_view more = {}) {
  constexpr std::size_t kShown = 200;
  std::string result = "'";
  for (const char c : beginning(text, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      result += c;
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      result.append("\\x").append({kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return result.append(text.size() > kShown ? "..." : more).append("'");
}
/// The same: for a std::string the compiler would prefer std::quoted to what takes a view of it.
inline std::string quoted(const std::string& text, std::string_view more = {}) {
  return quoted(std::string_view(text), more);
}
inline std::string quoted(std::string& text, std::string_view more = {}) {
  return quoted(std::string_view(text), more);
}

/// Nothing but digits, after a sign perhaps.
inline std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return std::nullopt;
  return value;
}

inline constexpr int kMaxTimeout = 31'536'000;  // seconds of every option that takes some: one year

/// A number above 0 and up to kMaxTimeout; no shorter time than a millisecond.
inline std::optional<std::chrono::milliseconds> seconds(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0 || value > kMaxTimeout)
    return std::nullopt;
  return std::chrono::milliseconds(std::max(1L, std::lround(value * 1000)));
}

/// "2", "2.5".
inline std::string in_seconds(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  const long part = time.count() % 1000;
  if (part == 0) return text;
  text += '.' + std::to_string(1000 + part).substr(1);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

}  // namespace oshrun

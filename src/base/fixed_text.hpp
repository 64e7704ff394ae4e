// SPDX-License-Identifier: BSD-3-Clause
// Text that is put together where no memory may be taken: in a process that dies, say.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace shm {

/// Of at most kBytes - 1 characters; what is longer is cut off.
template <std::size_t kBytes>
class FixedText {
 public:
  /// As printf.
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(text_ + length_, sizeof text_ - length_, format, arguments);
    va_end(arguments);
    length_ = std::min(length_ + static_cast<std::size_t>(std::max(n, 0)), sizeof text_ - 1);
  }
  std::string_view text() const { return {text_, length_}; }
  void clear() { length_ = 0; }

 private:
  char text_[kBytes] = {};
  std::size_t length_ = 0;
};

}  // namespace shm

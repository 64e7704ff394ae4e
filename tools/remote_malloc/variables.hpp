// SPDX-License-Identifier: BSD-3-Clause
// Which static variables the executable has, as its file and its program headers say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace remote_malloc::variables {

/// Addresses [begin, end).
struct Range {
  std::uintptr_t begin = 0, end = 0;

  std::size_t bytes() const { return end - begin; }
  bool holds(const Range& other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Range&) const = default;
};

struct Executable {
  std::vector<Range> writable;  // where variables are; but for those that are read-only once it has started
  std::vector<Range> zeroed;    // parts of these: they are not in the file, and begin as zeros
  std::vector<Range> known;     // variables, large and small, in these
  bool all_are_known = false;   // false: it has been stripped, and only those of the dynamic linker are
};

/// Of this process.  Where the file cannot be read, as if it had been stripped.
Executable of_this_process();

/// Variables of at least `least` bytes, by address, and as one range where nothing else is between them.  Of
/// a stripped executable also what is between known variables and begins as zeros, if it is that large.
std::vector<Range> large(const Executable& executable, std::size_t least);

}  // namespace remote_malloc::variables

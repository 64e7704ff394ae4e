// SPDX-License-Identifier: BSD-3-Clause
// Remote memory as the tests have it: an area of which few pages can be accessed at a time.  A fault opens a
// page and closes another one, so that system calls fail with EFAULT as they do on real remote memory.
#pragma once

#include <cstddef>

namespace paged {

constexpr std::size_t kPage = std::size_t{16} << 10;
constexpr std::size_t kPages = 4096;
constexpr std::size_t kOpen = 64;

struct Counts {
  int starts = 0, ends = 0;
  std::size_t faults = 0;
  std::size_t blocks = 0;  // that live
};
Counts counts();

/// Pages that may be in use: kPages at first.
void set_room(std::size_t pages);
/// Closes all pages: nothing is resident.
void close_all();
/// Whether the page at `address` can be accessed.
bool is_open(const void* address);
/// Whether this is the only PE, as it is at first.
void set_alone(bool alone);
/// What start() does beside starting, once.
void at_start(void (*function)());

}  // namespace paged

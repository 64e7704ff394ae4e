// SPDX-License-Identifier: BSD-3-Clause
// Addresses for pages that come and go, and how many mappings of them a process may have.
#pragma once

#include <cstddef>

namespace shm::pages {

/// mmap() by a system call of our own, as ThreadSanitizer takes mmap() for a write of the range, and the
/// program's threads may be about to access it.  Null, and errno set, if it fails.  Async-signal-safe.
std::byte* map_raw(std::byte* at, std::size_t n, int protection, int flags, int file, std::size_t offset);

/// Addresses where every access is a fault: at `at`, whatever is mapped there, or anywhere if that is null.
/// Null, and errno set, if there is no room.  Async-signal-safe.
std::byte* reserve_addresses(std::byte* at, std::size_t n);
/// The same anywhere at a multiple of `alignment`, which is a multiple of the system's page.
std::byte* reserve_aligned(std::size_t n, std::size_t alignment);

/// How many mappings a process may have (vm.max_map_count); 0: not known.
std::size_t mapping_limit();

}  // namespace shm::pages

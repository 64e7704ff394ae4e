// SPDX-License-Identifier: BSD-3-Clause
// Which memory of a node's file a core file of this process holds.  The kernel would write all of each
// mapping, and to read a page that nobody has touched allocates it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shm {

/// Memory of this PE that is mapped from a file.
struct OwnMemory {
  std::byte* at = nullptr;
  std::size_t size = 0;
  int file = -1;
  std::uint64_t offset = 0;  // in that file
};

/// Core files leave out these mappings, which are those of whoever else.
void leave_out_of_core(const void* at, std::size_t size);

/// Core files have of this memory what is touched when choose_core_memory() is called, and nothing before. At
/// most two such ranges.
void add_touched_to_core(const OwnMemory& memory);

/// As leave_out_of_core(), but of mappings that come and go: what is there when choose_core_memory() is
/// called. One such range; null: none.
void leave_area_out_of_core(const void* at, std::size_t size);

/// Before a core file is written.  Async-signal-safe.
void choose_core_memory();

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// The executable's global and static variables, made symmetric by remapping them onto shared memory
// (OpenSHMEM 1.6, section 3: "global and static C variables" of the executable are symmetric).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace shm {

/// The pages that hold .data and .bss of the executable: from the end of the read-only relocations to the end
/// of the writable segment.  `layout` is equal in two PEs only if their executables lay out statics alike.
struct StaticRange {
  std::uintptr_t base = 0;
  std::size_t size = 0;  // whole pages; 0: the executable has none
  std::uint64_t layout = 0;
};

StaticRange find_statics();

/// Whether [address, address + n) is in what the executable's file has that cannot be written, as string
/// literals and constants; but for constants that hold addresses, which differ between processes.  False
/// before find_statics().
bool is_constant(std::uintptr_t address, std::size_t n);

/// Replaces the pages of `range` by [offset, offset + size) of `file`, shared, with the same contents.  Only
/// pages that hold something are copied.  REQUIRES: no other thread writes to the range meanwhile; a page of
/// the file that was never written reads as zeros.  Registers a fork handler that gives children a private
/// copy.
Status share_statics(const StaticRange& range, int file, std::uint64_t offset);

}  // namespace shm

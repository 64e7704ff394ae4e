// SPDX-License-Identifier: BSD-3-Clause
// Looks at memory, and ends the job with a line if it is not what it must be.
#pragma once

#include <cstddef>

namespace checks {

/// n > 0 bytes.
void check_symmetric(const char* call, const char* argument, const void* at, std::size_t n);
void check_local(const char* call, const char* argument, const void* at, std::size_t n);
/// Where a block of one of the heaps begins; other memory is left to the library.
void check_block(const char* call, const char* argument, const void* at);

}  // namespace checks

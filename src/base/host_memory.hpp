// SPDX-License-Identifier: BSD-3-Clause
// How much memory there is.
#pragma once

#include <cstddef>

namespace shm {

/// Bytes that this process may have all of: the host's, or the container's.
std::size_t host_memory();

/// Bytes that are free, or can be had from caches, on the host; not more than the container may have.
std::size_t available_memory();

}  // namespace shm

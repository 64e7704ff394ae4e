// SPDX-License-Identifier: BSD-3-Clause
// Memory as transfers want it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "pages/device.hpp"

namespace shm::pages {

struct FreeBuffer {
  void operator()(std::byte* buffer) const { std::free(buffer); }
};
using AlignedBuffer = std::unique_ptr<std::byte[], FreeBuffer>;

/// n bytes, a multiple of kBlock, of any contents; null if there is no memory.
inline AlignedBuffer aligned_buffer(std::size_t n) {
  return AlignedBuffer(static_cast<std::byte*>(std::aligned_alloc(kBlock, n)));
}

}  // namespace shm::pages

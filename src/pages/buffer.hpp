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
using PageBuffer = std::unique_ptr<std::byte[], FreeBuffer>;

/// n bytes, a multiple of kBlock, of any contents; null if there is no memory.
inline PageBuffer aligned_buffer(std::size_t n) {
  return PageBuffer(static_cast<std::byte*>(std::aligned_alloc(kBlock, n)));
}

}  // namespace shm::pages

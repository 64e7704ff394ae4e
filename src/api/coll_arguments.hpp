// SPDX-License-Identifier: BSD-3-Clause
// Checks that the collective calls share.
#pragma once

#include "base/fatal.hpp"
#include "coll/teams.hpp"
#include "coll/collectives.hpp"

namespace shm::api {

/// count elements in bytes.
inline std::size_t bytes_of(Call call, std::size_t count, std::size_t element) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, element, &bytes) && bytes <= PTRDIFF_MAX) [[likely]]
    return bytes;
  fatal("%s: nelems is %zu elements of %zu bytes, more than memory can hold", call.name, count, element);
}

inline int checked_root(Call call, const Group& g, int root) {
  if (static_cast<unsigned>(root) < static_cast<unsigned>(g.size())) [[likely]]
    return root;
  fatal("%s: PE_root is %d; allowed is 0 to %d", call.name, root, g.size() - 1);
}

/// One side of an alltoall; `stride` in elements.
inline Blocks blocks_of(Call call, const char* argument, const void* base, std::ptrdiff_t stride,
                        std::size_t element, std::size_t count, int pes) {
  if (stride < 1 && count > 0) fatal("%s: %s is %td; allowed is 1 and more", call.name, argument, stride);
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, static_cast<std::size_t>(pes), &all)) all = SIZE_MAX;
  bytes_of(call, all, element * static_cast<std::size_t>(stride));
  return {static_cast<std::byte*>(const_cast<void*>(base)), element, count,
          element * static_cast<std::size_t>(stride)};
}

}  // namespace shm::api

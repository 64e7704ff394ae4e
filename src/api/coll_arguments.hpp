// SPDX-License-Identifier: BSD-3-Clause
// Checks that the collective calls share.
#pragma once

#include "base/fatal.hpp"
#include "coll/collectives.hpp"
#include "coll/teams.hpp"

namespace shm::api {

/// Bytes of `count` elements from each of `pes` PEs.
inline std::size_t bytes_of(Call call, std::size_t count, std::size_t element, std::size_t pes = 1) {
  std::size_t each = 0, all = 0;
  if (!__builtin_mul_overflow(count, element, &each) && !__builtin_mul_overflow(each, pes, &all) &&
      all <= PTRDIFF_MAX) [[likely]]
    return all;
  fatal("%s: nelems is %zu, elements of %zu bytes for %zu PE(s); allowed is what memory can hold", call.name,
        count, element, pes);
}

/// Ends the job unless the n bytes at `address` are symmetric memory of this PE, which small payloads that
/// ride in messages would not find out.  n may be 0: then nothing is looked at.  REQUIRES: the library is
/// initialised.
inline void check_symmetric(Call call, const char* argument, const void* address, std::size_t n) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  if (n == 0 || rt.heap.holds(a, n) || rt.statics.holds(a, n)) [[likely]]
    return;
  resolve(call, argument, address, n, rt.me);
}

/// Both sides of a collective.
inline void check_both(Call call, const void* dest, std::size_t to, const void* source, std::size_t from) {
  check_symmetric(call, "dest", dest, to);
  check_symmetric(call, "source", source, from);
}

inline int checked_root(Call call, int pes, int root) {
  if (static_cast<unsigned>(root) < static_cast<unsigned>(pes)) [[likely]]
    return root;
  fatal("%s: PE_root is %d; allowed is 0 to %d", call.name, root, pes - 1);
}

/// What the user knows one side of an alltoall as.
struct SideNames {
  const char *base, *stride;
};
inline constexpr SideNames kDestSide{"dest", "dst"}, kSourceSide{"source", "sst"};

/// One side of an alltoall; `stride` in elements.
inline StridedBlocks blocks_of(Call call, SideNames names, const void* base, std::ptrdiff_t stride,
                               std::size_t element, std::size_t count, int pes) {
  StridedBlocks blocks{static_cast<std::byte*>(const_cast<void*>(base)), element, count, element};
  if (count == 0) return blocks;
  if (stride < 1) fatal("%s: %s is %td; allowed is 1 and more", call.name, names.stride, stride);
  if (__builtin_mul_overflow(static_cast<std::size_t>(stride), element, &blocks.step) ||
      blocks.step > PTRDIFF_MAX) {
    fatal("%s: %s is %td elements of %zu bytes; allowed is what memory can hold", call.name, names.stride,
          stride, element);
  }
  bytes_of(call, count, blocks.step, static_cast<std::size_t>(pes));
  check_symmetric(call, names.base, base, blocks.extent(pes));
  return blocks;
}

}  // namespace shm::api

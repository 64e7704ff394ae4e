// SPDX-License-Identifier: BSD-3-Clause
// Copies to and from a page.  A copy of one aligned word is one store or load, so that wait_until may watch
// the word; longer copies promise nothing of the kind.  `shared`: that side of the copy which is in the page.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/copy_bytes.hpp"
#include "base/copy_word.hpp"

namespace shm::pages {

namespace detail {

#if defined(__SANITIZE_THREAD__)
// For ThreadSanitizer: what PEs do to the same words of a page at the same time is the program's affair, also
// where one of them is on another node and a pager does it. Words stay whole, as they do without it.
inline void copy_bulk(void* to, const void* from, std::size_t n, const void* shared) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const auto* page = static_cast<const std::byte*>(shared);
  while (n > 0) {
    const std::size_t word = sizeof(std::uint64_t);
    const std::size_t now = n >= word && copy_word<std::uint64_t>(out, in, word, page) ? word : 1;
    if (now == 1) copy_word<std::uint8_t>(out, in, now, page);
    out += now, in += now, page += now, n -= now;
  }
}
#else
inline void copy_bulk(void* to, const void* from, std::size_t n, const void*) { copy_bytes(to, from, n); }
#endif

inline void copy(void* to, const void* from, std::size_t n, const void* shared) {
  if (copy_word<std::uint64_t>(to, from, n, shared) || copy_word<std::uint32_t>(to, from, n, shared) ||
      copy_word<std::uint16_t>(to, from, n, shared))
    return;
  copy_bulk(to, from, n, shared);
}

}  // namespace detail

/// To a page, or from one.
inline void copy_in(std::byte* page, const void* from, std::size_t n) { detail::copy(page, from, n, page); }
inline void copy_out(void* to, const std::byte* page, std::size_t n) { detail::copy(to, page, n, page); }

}  // namespace shm::pages

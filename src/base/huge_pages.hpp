// SPDX-License-Identifier: BSD-3-Clause
// Huge pages below memory that processes share.
#pragma once

#include <cstddef>
#include <functional>

namespace shm {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Puts huge pages below the n bytes at `at`, if the system has some; what is in them stays.  Works whatever
/// the system's setting for shared memory is, from Linux 6.1 on, but not for memory that is pinned: what a
/// disk is reading into, say, is tried again a few times, with `pause` between two of them.  Waits for all
/// cores, however much it is for.  REQUIRES: `at` is a multiple of kHugePage.
void lay_out_on_huge_pages(std::byte* at, std::size_t n);
void lay_out_on_huge_pages(std::byte* at, std::size_t n, const std::function<void()>& pause);

}  // namespace shm

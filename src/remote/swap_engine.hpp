// SPDX-License-Identifier: BSD-3-Clause
// How pages of private remote memory come and leave, as an interface: pages::LocalPages, or PaperPages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "pages/local_statistics.hpp"
#include "pages/page_word.hpp"
#include "pages/swap_stages.hpp"
#include "pages/windows.hpp"
#include "remote/lent_range.hpp"

namespace shm::remote {

/// SHMEM_SWAP.
enum class Swap : std::uint8_t { direct, r3, r58, r77 };

/// What `direct` is made of: any of it may be left out, to measure what it brings (SHMEM_REMOTE_WITHOUT).
struct Mechanisms {
  bool ahead = true;    // pages are read ahead of use
  bool sweeper = true;  // a thread keeps frames at hand; else whoever needs one makes it free
  bool huge = true;     // frames lie on huge pages
};

/// An area of memory whose pages are those of a LentRange.  Contracts: pages::LocalPages.
class SwapEngine {
 public:
  struct Settings {
    Swap swap = Swap::direct;
    std::size_t frames = 0;
    std::size_t ahead = 1;  // pages that are read ahead of use; of direct
    Mechanisms mechanisms;
    unsigned reads = 2;  // that threads wait for at a time; of direct
  };
  static constexpr std::size_t kFewestFrames = 4;

  /// Started.  `range` outlives it.
  static Result<std::unique_ptr<SwapEngine>> open(const LentRange& range, const Settings& settings);
  virtual ~SwapEngine() = default;

  virtual std::byte* base() const = 0;
  virtual std::size_t size() const = 0;
  virtual bool contains(const void* address) const = 0;
  /// REQUIRES: contains().
  virtual std::size_t offset_of(const void* address) const = 0;
  /// Pages [offset, offset + n) are at `at` from now on.  An error says why not; all but `direct` refuse.
  virtual Status add_window(std::size_t offset, std::size_t n, std::byte* at) = 0;
  virtual const pages::Windows& windows() const = 0;
  /// Puts memory below all frames: before the first access.
  virtual void lay_out() const = 0;
  virtual void forget(std::size_t offset, std::size_t n) = 0;
  virtual void overwrite(std::size_t offset, std::size_t n) = 0;
  virtual void read(std::size_t offset, void* into, std::size_t n) = 0;
  virtual void write(std::size_t offset, const void* from, std::size_t n) = 0;
  virtual bool pin(std::size_t offset, std::size_t n, pages::Access access) = 0;
  virtual bool unpin(std::size_t offset, std::size_t n) = 0;
  virtual bool any_pinned(std::size_t offset, std::size_t n) = 0;
  virtual const pages::LocalStatistics& statistics() const = 0;
  virtual const pages::SwapStages& stages() const = 0;
};

}  // namespace shm::remote

// SPDX-License-Identifier: BSD-3-Clause
// Private memory of a PE in the memory of the job's memory servers (shmem/remote.h): blocks of whole pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "remote/leases.hpp"
#include "remote/lent_range.hpp"
#include "remote/swap_engine.hpp"

namespace shm::remote {

/// Thread safety: all calls by any thread; allocate() and free() not in a signal handler.
class Area {
 public:
  struct Settings {
    std::size_t page_bytes = 0;    // a power of two
    std::size_t local_bytes = 0;   // of this PE's memory that cache pages
    std::size_t server_bytes = 0;  // that each server lends
    std::size_t ahead = 1;         // pages that are read ahead of use
    Swap swap = Swap::direct;      // how they come and leave
    Mechanisms mechanisms{};       // what direct is made of
    unsigned reads = 2;            // pages that threads read at a time
  };
  /// `servers` outlives it.
  static Result<std::unique_ptr<Area>> open(Servers& servers, const Settings& settings);

  std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(pages_->base()); }
  std::size_t size() const { return pages_->size(); }

  /// A block that reads as zeros.  The error says what is missing.
  Result<void*> allocate(std::size_t bytes);
  /// The whole pages of [at, at + bytes) are pages of the area from now on, with what they hold: memory of
  /// the program, which is never given back, and of which pages of zeros take nothing of the servers' time.
  /// Returns these.  The error says why there are none.  REQUIRES: nobody uses that memory meanwhile, and it
  /// may be loaded from; its addresses are not used otherwise before the end.
  Result<std::span<std::byte>> take_over(void* at, std::size_t bytes);
  enum class Freed : std::uint8_t { yes, no_block, pinned };
  /// Ends the block that begins there, unless some of it is pinned.
  Freed free(void* block);
  /// What was asked for, if a block begins there.
  std::optional<std::size_t> size_of(const void* block) const;
  /// Whether all of [at, at + n) lies in one block, or in pages that were taken over together.
  bool holds(const void* at, std::size_t n) const;
  /// Whether any of it lies in the area, or in pages that were taken over.
  bool touches(const void* at, std::size_t n) const;

  // REQUIRES: holds().  See SwapEngine.
  void read(const void* from, void* into, std::size_t n) { pages_->read(offset_of(from), into, n); }
  void write(void* to, const void* from, std::size_t n) { pages_->write(offset_of(to), from, n); }
  void overwrite(const void* at, std::size_t n) { pages_->overwrite(offset_of(at), n); }
  bool pin(const void* at, std::size_t n, pages::Access access) {
    return pages_->pin(offset_of(at), n, access);
  }
  bool unpin(const void* at, std::size_t n) { return pages_->unpin(offset_of(at), n); }

 private:
  Area(Servers& servers, const Settings& settings, const Placement::Shape& shape);
  std::size_t offset_of(const void* at) const { return pages_->offset_of(at); }
  Result<std::uint64_t> make_room(std::size_t bytes) REQUIRES(mutex_);
  void give_room_back(std::uint64_t offset, std::size_t bytes) REQUIRES(mutex_);

  const Settings settings_;
  LentRange range_;
  std::unique_ptr<SwapEngine> pages_;

  mutable Mutex mutex_;
  Leases room_ GUARDED_BY(mutex_);                                    // of the area's addresses
  std::map<std::size_t, std::size_t> blocks_ GUARDED_BY(mutex_);      // bytes asked for, by offset
  std::map<std::size_t, std::size_t> taken_over_ GUARDED_BY(mutex_);  // their bytes, by offset
  bool laid_out_ GUARDED_BY(mutex_) = false;
};

}  // namespace shm::remote

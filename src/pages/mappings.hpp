// SPDX-License-Identifier: BSD-3-Clause
// The pages of a PE's own segment in its address space: the frame of a page is mapped over its place there,
// to be read until the program writes to it, so that a page that is dirty is known.
//
//   a thread that has faulted:  latch the page, claim its frame's mapping, system call, release, unlatch
//
//   the pager:                  close the page; no latch is left, so nobody maps it; claim, unmap, release
//
// A claim is held for few system calls by a thread that takes no signals, so whoever finds one waits for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "pages/pool.hpp"

namespace shm::pages {

/// The system calls.
class AddressSpace {
 public:
  // Each of these returns false and sets errno where the system has no room for more mappings; then what was
  // mapped there still is.  The first two, and now(), are async-signal-safe.

  /// Maps the pool's bytes at `offset` over [at, at + n) of this process; `writable` or to be read only.
  virtual bool map(std::byte* at, std::size_t offset, std::size_t n, bool writable) = 0;
  /// What is mapped there may be written to from now on, or only read.
  virtual bool protect(std::byte* at, std::size_t n, bool writable) = 0;
  /// Nothing is mapped there any more: an access is a fault.
  virtual bool unmap(std::byte* at, std::size_t n) = 0;
  /// Whether threads that have faulted may map pages.  While there is little room the pager alone does, so
  /// that it does not lose what it has made room for.
  virtual bool has_room() const { return true; }
  /// What is taken for the time.
  virtual std::chrono::steady_clock::time_point now() const { return std::chrono::steady_clock::now(); }

 protected:
  ~AddressSpace() = default;
};

/// How a page is mapped; each permits more than the one before.
enum class MapState : std::uint8_t { no, to_read, to_write };

/// Of one PE, in its process.  The state of a mapping is Frame::mapping.
class Mappings {
 public:
  using Clock = std::chrono::steady_clock;

  /// The PE's segment begins at `segment`.
  Mappings(AddressSpace& space, const Pool& pool, std::byte* segment)
      : space_(space), pool_(pool), segment_(segment) {}

  // By a thread that has faulted and takes no signals.  Async-signal-safe.

  /// What became of a fault.
  enum class Outcome : std::uint8_t {
    refused,   // the page is not here, or not in the right state, or there is no room for more mappings: the
               // pager has to do it
    mapped,    // the access is to be tried again
    upgraded,  // the same: the page was mapped, to be read, and may be written to now
  };
  /// A write makes the page modified.
  Outcome resolve(PageNumber page, Access access);
  /// Maps a page that will be used soon, if it is here, and unmapped.  Returns whether it has done so.
  bool map_ahead(PageNumber page);

  // By the pager: of a page that is in `frame`, and stays there.  These two return false and set errno where
  // the system has no room; then all is as before.

  /// The page may be accessed so, or more freely, from now on.
  bool raise(PageNumber page, FrameNumber frame, MapState least);
  /// It may be accessed so at most.  REQUIRES: closed and not latched, or `most` is no.
  bool lower(PageNumber page, FrameNumber frame, MapState most);

  MapState state(FrameNumber frame) const;
  /// When a thread got this mapping, or found it there after a fault.
  Clock::time_point since(FrameNumber frame) const;

 private:
  struct Claim;
  bool change(PageNumber page, FrameNumber frame, MapState from, MapState to);

  AddressSpace& space_;
  const Pool pool_;
  std::byte* const segment_;
};

}  // namespace shm::pages

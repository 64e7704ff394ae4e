// SPDX-License-Identifier: BSD-3-Clause
// System calls whose buffers are remote, by way of local memory (Stage).
//
// The data are copied rather than their pages pinned: a thread may be in such a call for hours, and most of
// local memory must not be pinned; a message has to come in one piece, wherever its buffers lie; and what
// meets EFAULT half-way is lost, for a datagram, an event counter or a terminal.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stage.hpp"

namespace remote_malloc {

/// A list of buffers of the program, one behind the other.  Neither it nor they need be local.
class Buffers {
 public:
  Buffers(const iovec* list, std::size_t count) : list_(list), count_(count) {}

  /// Whether any of them is remote, or the list is.
  bool touch_remote() const;
  /// In all, and at most what one system call transfers.
  std::size_t bytes() const;
  /// Copies [from, from + n) of them.
  void gather(std::size_t from, std::byte* into, std::size_t n) const;
  void scatter(std::size_t from, const std::byte* out, std::size_t n) const;

 private:
  template <typename Copy>
  void for_each(std::size_t from, std::size_t n, Copy copy) const;

  const iovec* const list_;
  const std::size_t count_;
};

/// How a transfer is divided into system calls.
struct Division {
  std::size_t piece;  // bytes of a call, at most
  bool goes_on;       // after a call that transferred all it was asked to

  /// Of a file: in any pieces.  Of anything else: as large as one that it would give or take at a time is,
  /// and not again when one has come, since the next might wait.
  static Division of_read(int fd);
  /// A write that may wait goes on until all is written.
  static Division of_write(int fd);
};

/// One call after the other: `one(at, n, done)` transfers up to n bytes by way of `at`, after `done`, and
/// returns as read() does.  The result is that of one call for all: an error only if nothing was transferred
/// before.
template <typename One>
ssize_t in_calls(const Buffers& buffers, Division division, One one) {
  const std::size_t all = buffers.bytes();
  const Stage stage(std::clamp<std::size_t>(all, 1, division.piece));
  if (stage.at() == nullptr) return -1;
  std::size_t done = 0;
  do {
    const std::size_t n = std::min(all - done, division.piece);
    const ssize_t now = one(stage.at(), n, done);
    if (now < 0) return done > 0 ? static_cast<ssize_t>(done) : -1;
    done += static_cast<std::size_t>(now);
    if (static_cast<std::size_t>(now) != n) break;
  } while (division.goes_on && done < all);
  return static_cast<ssize_t>(done);
}

template <typename Call>
ssize_t receive(const Buffers& buffers, Division division, Call call) {
  return in_calls(buffers, division, [&](std::byte* at, std::size_t n, std::size_t done) {
    const ssize_t got = call(at, n, done);
    // A datagram's length may be more than what there was room for (MSG_TRUNC).
    if (got >= 0) buffers.scatter(done, at, std::min(static_cast<std::size_t>(got), n));
    return got;
  });
}

template <typename Call>
ssize_t send_out(const Buffers& buffers, Division division, Call call) {
  return in_calls(buffers, division, [&](std::byte* at, std::size_t n, std::size_t done) {
    buffers.gather(done, at, n);
    return call(at, n, done);
  });
}

}  // namespace remote_malloc

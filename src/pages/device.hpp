// SPDX-License-Identifier: BSD-3-Clause
// Where pages are when no node has them: a range of bytes, moved by transfers that end in any order.  What
// was never written reads as zeros.  nvm/storage has those on files.
//
// Thread safety: one thread at a time uses a device.  submit() and listen() are called by one thread, which
// lives as long as transfers are under way; the same one calls start() and finished(), unless never_blocks().
// carry_out() may be called by any thread beside all that.
// One of reserve(), release() and persist() may be called by another thread meanwhile, unless the class says
// otherwise. Whoever destroys a device does so after all have stopped using it.
#pragma once

#include <sched.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace shm::pages {

/// Offsets, sizes and addresses of transfers are multiples of this: all that O_DIRECT may ask for.
inline constexpr std::size_t kBlock = 4096;

/// Bytes to be moved between memory and the device.  The caller owns it and its data and leaves both alone
/// from start() until finished() returns it; then it may be started again.
struct Transfer {
  enum class Kind : std::uint8_t { read, write };

  Kind kind = Kind::read;
  std::uint64_t offset = 0;  // in the device
  std::byte* data = nullptr;
  std::size_t n = 0;
  int error = 0;  // once it has ended: 0 if all n bytes were moved, else errno; then any part may have been

  // The device's own, while it is under way.
  std::size_t done = 0;      // bytes moved so far
  int stalls = 0;            // attempts in a row that moved nothing
  bool carried_out = false;  // one that was taken: its memory is left alone from now on.  Atomic
};

/// Whether this errno says that no room is left: on the file system, or in what the user may have there.
constexpr bool says_full(int error) { return error == ENOSPC || error == EDQUOT; }

class Device {
 public:
  virtual ~Device() = default;

  /// For people: "io_uring, O_DIRECT".
  virtual std::string describe() const = 0;

  /// Makes room for [offset, offset + n), so that no later write there fails for want of it.  What was
  /// written there stays; the rest reads as zeros.  After an error part of the room may have been made:
  /// release() what is not used. REQUIRES: multiples of kBlock, no transfer of that range under way.
  virtual Status reserve(std::uint64_t offset, std::uint64_t n) = 0;

  /// Gives the room of [offset, offset + n) back; it reads as zeros afterwards.  REQUIRES: as for reserve().
  virtual Status release(std::uint64_t offset, std::uint64_t n) = 0;

  /// Whether start() and finished() never wait for the system, nor hand anything to it.
  virtual bool never_blocks() const { return false; }

  /// Takes a transfer, which is under way from now on; any number may be, in no order among them.
  /// REQUIRES: overlaps none that is under way, unless both read.
  virtual void start(Transfer& transfer) = 0;

  /// Hands to the system what has been started since, all with one call where the device can: behind the
  /// start() calls that belong together.  What the system could not take yet gets on in these calls only, so
  /// call it, again and again, as long as under_way() is not 0.
  virtual void submit() {}

  /// Whether submit() would hand something to the system now.
  virtual bool to_be_submitted() const { return false; }

  /// Takes a read that was started and not handed to the system yet, for the caller to carry out: what is
  /// returned goes to carry_out(), once, and then finished() returns `transfer`.  Null: it is none, or cannot
  /// be taken as a whole.
  virtual Transfer* take_read(Transfer& /*transfer*/) { return nullptr; }

  /// Moves what take_read() has returned; waits for the system.  Uses neither the device nor the transfer
  /// any more once finished() may return that.
  virtual void carry_out(Transfer& /*taken*/) {}

  /// The next transfer that has ended, well or not, or null.  Does not wait.
  virtual Transfer* finished() = 0;

  /// Sleeps until finished() may have something to return; it may return earlier.  REQUIRES: finished() has
  /// returned null, and submit() was called since.
  virtual void await() { sched_yield(); }

  /// Transfers started that finished() has not returned yet.
  virtual std::size_t under_way() const = 0;

  /// Before the thread sleeps: whether each transfer that is under way makes `eventfd`, always the same one,
  /// readable when it ends.  Who reads it does so before this call.  False: submit() and ask finished() again
  /// soon instead, as something has ended already, or waits for the system, or the device cannot do so.  Of
  /// reads that were taken, who carries them out tells.
  virtual bool listen(int /*eventfd*/) { return under_way() == 0; }

  /// Makes durable whatever was written by transfers that finished() has returned.  Once it has failed it
  /// fails for good, since nobody knows which bytes were lost.
  virtual Status persist() = 0;
};

}  // namespace shm::pages

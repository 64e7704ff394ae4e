// SPDX-License-Identifier: BSD-3-Clause
// Mail: data between two PEs on different nodes within one collective operation.
//
// Who sends and who receives how much is known on both sides, so there is nothing to negotiate.  Short mail
// goes out as messages at once and waits at the receiver if that has not come so far.  Long mail is sent once
// the receiver has said where it wants it: as one put where that is symmetric memory, else as messages that
// go there directly.
//
// To exchange without deadlock: first expect what is to come, then send, then wait.
//
// Thread safety: any thread; a parcel's two ends are used by one thread each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/group.hpp"

namespace shm {

/// Names a parcel between two PEs: group and phase of the operation, and the step in it.
struct Parcel {
  static constexpr int kSteps = 1 << 26;
  int slot;
  std::uint64_t phase;
  int step;  // < kSteps
};

/// A parcel that is to come.  Lives until wait() has returned.
class Expected {
 public:
  Expected() = default;
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;

  /// n bytes from world PE `pe`, to `into`.
  void expect(const Parcel& parcel, int pe, void* into, std::size_t n);
  /// Returns when they have arrived.
  void wait();

 private:
  void* box_ = nullptr;
  bool direct_ = false;
  std::size_t n_ = 0;
};

/// Returns when `data` may be reused.  For long mail that is after the receiver has expected it.
void send_mail(const Parcel& parcel, int pe, const void* data, std::size_t n);

void receive_mail(const Parcel& parcel, int pe, void* into, std::size_t n);

/// Sets the handler of incoming mail; once per process.
void set_mail_handler();

}  // namespace shm

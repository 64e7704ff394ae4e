// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous: parcels, that is, data between two PEs on different nodes within one collective operation.
//
// Who sends and who receives how much is known on both sides, so there is nothing to negotiate.  Short
// parcels go out as messages at once and wait at a receiver that has not come so far.  Long ones are sent
// once the receiver has said where it wants them: as puts where that is symmetric memory, each followed by a
// put of a mark, else as messages that go there directly.
//
// To exchange without deadlock: first expect what is to come, then send, then wait.  Both ends can work on a
// parcel piece by piece, so that a PE passes on the beginning while the end is still on its way.
//
// Thread safety: any thread; a parcel's two ends are used by one thread each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/group.hpp"

namespace shm {

/// Names a parcel between two PEs: group and phase of the operation, and the step in it.
struct Parcel {
  static constexpr int kSteps = 1 << 26;
  int slot;
  std::uint64_t phase;
  int step;  // < kSteps
};

/// Long parcels of n bytes have at most 64 pieces, of this many bytes but for the last one.
std::size_t piece_of(std::size_t n);

/// A parcel that is to come.  Lives until wait() for all of it has returned.
class Expected {
 public:
  Expected() = default;
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;

  /// n bytes from world PE `pe`, to `into`.
  void expect(const Parcel& parcel, int pe, void* into, std::size_t n);
  /// Returns when they have arrived, or the first `part` of them: whole pieces, or all.  After wait(n)
  /// nothing else may be called.
  void wait() { wait(n_); }
  void wait(std::size_t part);

 private:
  void* box_ = nullptr;
  std::atomic<std::uint64_t>* mark_ = nullptr;
  std::size_t n_ = 0;
  int slot_ = 0, pe_ = 0;  // whom it is from, for reports of waits
};

/// A parcel on its way.
class Outgoing {
 public:
  /// n bytes from `data` to world PE `pe`.
  Outgoing(const Parcel& parcel, int pe, const void* data, std::size_t n);
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  /// The first `part` bytes may go: whole pieces, or all, and more than in the call before.  Of a long
  /// parcel the first call returns after the receiver has expected it.
  void send(std::size_t part);
  void send() { send(n_); }
  /// Returns when all that was sent may be changed.
  void finish();

 private:
  void put(std::size_t part);
  void wait_to_take(const Completion& completion) const;

  const Parcel parcel_;
  const int pe_;
  const std::byte* data_;
  const std::size_t n_;
  std::size_t sent_ = 0;
  bool placed_ = false;  // the receiver has said where it wants it
  bool direct_ = false;
  RemoteAddress at_{}, mark_{};
  std::vector<std::unique_ptr<Completion>> puts_;
};

/// Returns when `data` may be reused.  For a long parcel that is after the receiver has expected it.
void send_parcel(const Parcel& parcel, int pe, const void* data, std::size_t n);

void receive_parcel(const Parcel& parcel, int pe, void* into, std::size_t n);

/// Messages and puts that this PE has sent for parcels; for tests and figures.
struct ParcelCount {
  std::atomic<std::uint64_t> parcels{0}, messages{0}, puts{0};
};
ParcelCount& parcel_count();

/// Has parcels heard, and opens a channel of their own for long ones.  Before the first; REQUIRES:
/// rt.network.
void open_parcels();
/// Waits until all that was put is there.
void finish_parcels(Call call);
/// REQUIRES: finish_parcels(), and no parcel since.
void close_parcels();

}  // namespace shm

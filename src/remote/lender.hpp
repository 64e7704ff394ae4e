// SPDX-License-Identifier: BSD-3-Clause
// A memory server: memory that PEs lease, read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "remote/leases.hpp"
#include "remote/wire.hpp"
#include "transports/net.hpp"

namespace shm::remote {

/// The memory itself: committed from the beginning, on huge pages where the system has them, and not in core
/// dumps.  Reads as zeros.
class LentMemory {
 public:
  static Result<LentMemory> create(std::size_t bytes);
  LentMemory() = default;  // none
  LentMemory(LentMemory&& other) noexcept;
  LentMemory& operator=(LentMemory&& other) noexcept;
  ~LentMemory();

  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  /// [offset, offset + n) reads as zeros.  `pinned`: the network has the addresses of its pages.
  void clear(std::size_t offset, std::size_t n, bool pinned) const;

 private:
  LentMemory(std::byte* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Lends the memory.  Reading and writing need nothing of it but that the network is driven.
/// Thread safety: one thread.
class Lender {
 public:
  Lender(LentMemory memory, int pes);

  const LentMemory& memory() const { return memory_; }
  /// Sends answers on `channel` from now on.  Before the first message.
  void open(Channel* channel, bool pins_segments) {
    channel_ = channel;
    pinned_ = pins_segments;
  }
  Channel* channel() const { return channel_; }
  /// A message of the link.  Ends the job, naming the sender, if it cannot be meant (remote/message_check).
  void receive(int from, std::uint16_t id, const std::byte* message, std::size_t n);
  /// Whether all PEs have come to shmem_finalize; begins anew.
  bool take_finish();

 private:
  template <class Message>
  void send(int pe, LendMessage id, const Message& message);
  void answer(int pe, const LendAnswer& answer);
  void lend(int pe, const LeaseRequest& request);
  void take_back(int pe, const Leases::Range& range);
  void finish(int pe, const FinishRequest& request);

  const LentMemory memory_;
  Leases leases_;
  Channel* channel_ = nullptr;
  bool pinned_ = false;
  std::vector<bool> finished_;  // by PE
};

}  // namespace shm::remote

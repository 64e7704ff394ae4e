// SPDX-License-Identifier: BSD-3-Clause
// What the PEs of a node tell each other: slots of each PE, in memory that all of them map.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "net.hpp"

namespace shm::nic {

/// An atomic whose caller waits (node_batch.hpp).
struct alignas(64) Slot {
  std::atomic<std::uint32_t> done;
  std::atomic<std::int32_t> node;  // target
  std::uint64_t word, value, compare, old;
};

/// The right to send what a node's PEs have posted for one node.
struct alignas(64) Sender {
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t held_by(unsigned node_rank) { return node_rank + 1; }
  static constexpr unsigned node_rank_of(std::uint32_t holder) { return holder - 1; }
  std::atomic<std::uint32_t> holder;
};

/// Zeros: nothing posted, nobody sends, nobody sleeps.
struct SharedSlots {
  static constexpr unsigned kSlots = 8;      // threads of a PE that wait
  static constexpr unsigned kSenders = 128;  // target nodes; others take turns with these

  // A bit for each slot.  `posted`: nobody has taken it yet; set by its PE, cleared by whoever takes it.
  // `waiting`: its PE has not taken the result.
  alignas(64) std::atomic<std::uint32_t> posted;
  std::atomic<std::uint32_t> waiting;
  // Threads of the PE that sleep, or are about to, and may wait for what others store in its memory.
  alignas(64) std::atomic<std::uint32_t> sleepers;
  std::atomic<std::uint32_t> nudged;  // since a thread went to sleep last
  Slot slots[kSlots];
  Sender senders[kSenders];
};
static_assert(sizeof(SharedSlots) <= kSharedSlotsBytes);

using AllSharedSlots = std::vector<SharedSlots*>;  // by node rank

}  // namespace shm::nic

// SPDX-License-Identifier: BSD-3-Clause
// Packets that the PEs of a node share: for atomics whose callers wait for the old value, one at a time, so
// that a PE alone has never two to put into a packet.
//
// A PE posts its request on its board, in memory that the whole node maps.  Who finds the sender's place for
// the target node free takes it, collects what all PEs of the node have posted for that node, sends one
// packet, and keeps the place until the reply is there; what is posted meanwhile goes with the next packet.
// For each pair of nodes one PE on either side is the deputy: it executes the other node's packets, and as
// long as it has requests of its own for that node it is the sender, since it polls the network anyway.
//
//   request (PE that waits)       sender (one of them)                    executor (deputy of the target
//   node) empty -> posted       ------> taken -------------- one packet -----> MSHR file poll: done? mine <-
//   results to the boards, place free <- reply -- all old values
//
// A packet carries a request of its sender, so its sender waits for the reply and polls.  A PE whose request
// is still posted when the place gets free, and whose deputy has no request, takes the place itself: nobody
// depends on a PE that does not wait.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "nic/combine.hpp"

namespace shm::nic {

/// Thread safety: set-up from one thread, then any.
class Share final : private Issuer {
 public:
  explicit Share(Carrier& carrier) : carrier_(carrier) {}

  /// Before the first request.
  void join_node(const NodeMap& map);

  /// Whether there is a PE to share with.
  bool active() const { return boards_.size() > 1; }

  /// Posts an atomic on `pe` whose old value `result` awaits.  Returns false if too many threads of this PE
  /// wait: go another way.  REQUIRES: active().
  bool request(int pe, RemoteAddress at, AtomicOp op, AtomicType type, std::uint64_t value,
               std::uint64_t compare, const Awaited& result);

  /// Takes results, and sends what this PE has still posted.  Returns whether there was a result.
  bool advance();

 private:
  static constexpr unsigned kSlots = 8;      // threads of a PE that wait
  static constexpr unsigned kSenders = 128;  // target nodes; others take turns with these

  struct alignas(64) Slot {
    std::atomic<std::uint32_t> done;
    std::atomic<std::int32_t> node;
    std::uint64_t word, value, compare, old;
  };
  struct alignas(64) Sender {
    std::atomic<std::uint32_t> busy;
  };
  // One for each PE of the node.  Zeros: nothing posted, nobody sends.
  struct Board {
    // A bit for each slot.  `posted`: nobody has sent it yet; set by its PE, cleared by the sender.
    // `waiting`: its PE has not taken the result.
    alignas(64) std::atomic<std::uint32_t> posted;
    std::atomic<std::uint32_t> waiting;
    Slot slots[kSlots];
    Sender senders[kSenders];
  };
  static_assert(sizeof(Board) <= kBoardBytes);

  Sender& sender_for(int node) const;
  int executor_on(int node) const;
  bool left_to_deputy(int node) const;
  bool send(int node);
  bool collect(int node, Packet& packet);
  static void take_from(Board& board, int node, Packet& packet, std::vector<Slot*>& taken);
  void acknowledge(int pe, const std::byte* results, std::size_t n) override;

  Carrier& carrier_;
  std::vector<NodeMap::Peer> peers_;
  std::vector<std::vector<int>> members_;
  int node_ = 0;                // of this PE
  std::vector<Board*> boards_;  // by place
  Board* own_ = nullptr;
  SpinLock taking_;                            // held by the thread that takes results
  std::atomic<std::uint32_t> used_{0};         // slots of this PE
  std::array<Awaited, kSlots> results_{};      // by slot
  std::vector<std::vector<Slot*>> under_way_;  // by node; belongs to who has the sender's place
};

}  // namespace shm::nic

// SPDX-License-Identifier: BSD-3-Clause
// Packets that the PEs of a node share: for atomics whose callers wait for the old value, one at a time, so
// that a PE alone has never two to put into a packet.
//
// A PE posts its request in a slot of its own, in memory that the whole node maps.  Who finds the right to
// send to the target node free takes it, collects what all PEs of the node have posted for that node, sends
// one packet, and keeps it until the reply is there; what is posted meanwhile goes with the next packet. For
// each pair of nodes one PE on either side is the deputy: it executes the other node's packets, and as long
// as it has requests of its own for that node it is the sender, since it polls the network anyway.
//
// clang-format off
//   request (PE that waits)     sender (one of them)                       executor (the target node's deputy,
//   empty -> posted       ----> taken ------------------- one packet ----> or the target of a single request)
//   poll: done? mine      <---- results to the slots, <----- reply ------- MSHR file: all old values
//                               right free
// clang-format on
//
// A packet carries a request of its sender, so its sender waits for the reply and polls.  A PE whose request
// is still posted when the right gets free, and whose deputy has no request, takes it itself.  If
// nobody takes a request for kPatience (the sender is stopped in a debugger, say), its PE withdraws it, sends
// it by itself, and shares nothing with that node for a while.  Whoever clears the bit of a request owns it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "nic/combine.hpp"
#include "nic/shared_slots.hpp"

namespace shm::nic {

/// Nanoseconds: longest wait for a sender, and how long requests go unshared after that.
inline constexpr std::int64_t kPatience = 10'000'000;
inline constexpr std::int64_t kUnbatched = 500'000'000;

/// Thread safety: set-up from one thread, then any.
class NodeBatch final : private Issuer {
 public:
  explicit NodeBatch(NicNetwork& nic) : nic_(nic) {}

  /// Before the first request.  The map stays where it is.
  void join_node(const NodeMap& map, const AllSharedSlots& slots);

  /// Whether there is a PE to share with.
  bool active() const { return all_slots_.size() > 1; }

  /// Posts an atomic on `pe` whose old value `result` awaits.  Returns false if it is to go another way: too
  /// many threads of this PE wait, or requests to that node have been left lying.  What nobody takes for
  /// kPatience goes by `channel`.  REQUIRES: active(), and nothing that must precede it under way.
  bool request(Combiner& channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type, std::uint64_t value,
               std::uint64_t compare, const Awaited& result);

  /// Whether a thread of this PE waits for an answer from the node of `pe`; then, who must act for it: who
  /// has the packet, the PE of this node that has taken the request or will, or who would get it.
  bool waits_for_node_of(int pe) const;
  int actor_for(int pe) const;

  /// Takes results, and sends what this PE has still posted.  Returns whether there was a result.
  bool advance();

 private:
  // A request of this PE: what it needs to be sent another way, and since when it waits to be taken.
  struct Request {
    Combiner* channel;
    int pe;
    RemoteAddress at;
    AtomicOp op;
    AtomicType type;
    Awaited result;
    std::int64_t since;
  };
  struct Withdrawn {
    Request request;
    std::uint64_t value, compare;
  };
  struct Target {
    std::vector<Slot*> under_way;  // belongs to who has the right to send
    std::atomic<std::int64_t> unshared_until{0};
    std::atomic<int> destination{-1};  // of what this PE has under way there
  };

  const NodeMap::Peer& peer(int pe) const { return map_->peers[static_cast<std::size_t>(pe)]; }
  const std::vector<int>& members(int node) const { return map_->members[static_cast<std::size_t>(node)]; }
  Sender& sender_for(int node) const;
  Target& target(int node) { return targets_[static_cast<std::size_t>(node)]; }
  int executor_on(int node) const;
  int target_of(int node, std::uint64_t word) const;
  std::size_t deputy_for(int node) const { return static_cast<std::size_t>(node) % all_slots_.size(); }
  bool left_to_deputy(int node) const;
  bool send(int node, Leaves why);
  void release(unsigned index);
  bool withdraw(unsigned index, Withdrawn& withdrawn);
  static void send_unshared(const Withdrawn& withdrawn);
  bool collect(int node, Packet& packet);
  static void take_from(SharedSlots& shared, int node, Packet& packet, std::vector<Slot*>& taken);
  void acknowledge(int pe, const std::byte* results, std::size_t n) override;

  NicNetwork& nic_;
  std::uint64_t name_ = 0;  // in issuers(), from join_node() on
  const NodeMap* map_ = nullptr;
  int node_ = 0;  // of this PE
  AllSharedSlots all_slots_;
  SharedSlots* own_ = nullptr;
  SpinLock taking_;                                      // held by the thread that takes results
  std::atomic<std::uint32_t> used_{0};                   // slots of this PE
  std::array<Request, SharedSlots::kSlots> requests_{};  // by slot
  std::unique_ptr<Target[]> targets_;                    // by node
};

}  // namespace shm::nic

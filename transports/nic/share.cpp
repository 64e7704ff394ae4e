// SPDX-License-Identifier: BSD-3-Clause
#include "nic/share.hpp"

#include <sched.h>

#include <bit>

#include "base/fatal.hpp"
#include "base/stats.hpp"

namespace shm::nic {

void Share::join_node(const NodeMap& map) {
  peers_ = map.peers;
  boards_.clear();
  for (std::byte* board : map.boards) boards_.push_back(reinterpret_cast<Board*>(board));
  members_ = map.members;
  const NodeMap::Peer& me = peers_[static_cast<std::size_t>(carrier_.me())];
  node_ = me.node;
  own_ = boards_[me.place];
  under_way_.resize(map.members.size());
}

Share::Sender& Share::sender_for(int node) const {
  const auto number = static_cast<std::size_t>(node);
  return boards_[number % boards_.size()]->senders[number / boards_.size() % kSenders];
}

// The deputy of `node` for ours.
int Share::executor_on(int node) const {
  const std::vector<int>& there = members_[static_cast<std::size_t>(node)];
  return there[static_cast<std::size_t>(node_) % there.size()];
}

// Whether our deputy for `node` is about to send, or has just sent, something of its own there.
bool Share::left_to_deputy(int node) const {
  const Board& deputy = *boards_[static_cast<std::size_t>(node) % boards_.size()];
  if (&deputy == own_) return false;
  for (std::uint32_t left = deputy.waiting.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    if (deputy.slots[std::countr_zero(left)].node.load(std::memory_order_relaxed) == node) return true;
  }
  return false;
}

bool Share::request(int pe, RemoteAddress at, AtomicOp op, AtomicType type, std::uint64_t value,
                    std::uint64_t compare, const Awaited& result) {
  std::uint32_t used = used_.load(std::memory_order_relaxed);
  unsigned index;
  do {
    index = static_cast<unsigned>(std::countr_one(used));
    if (index >= kSlots) return false;
  } while (!used_.compare_exchange_weak(used, used | 1u << index, std::memory_order_acquire));
  const NodeMap::Peer& target = peers_[static_cast<std::size_t>(pe)];
  Slot& slot = own_->slots[index];
  slot.node.store(target.node, std::memory_order_relaxed);
  slot.word = encode({at.offset, target.place, at.segment, type, code_of(op), true, false});
  slot.value = value;
  slot.compare = compare;
  slot.done.store(0, std::memory_order_relaxed);
  results_[index] = result;
  // Release: whoever sees the bit sees the request.
  own_->posted.fetch_or(1u << index, std::memory_order_release);
  own_->waiting.fetch_or(1u << index, std::memory_order_release);
  count(Stat::atomics);
  send(target.node);
  return true;
}

bool Share::advance() {
  if (!taking_.try_lock()) return false;  // another thread is at it, and takes what is ours too
  std::array<int, kSlots> to_send;
  std::size_t sends = 0;
  bool worked = false, idle = false;
  for (std::uint32_t left = own_->waiting.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    const auto index = static_cast<unsigned>(std::countr_zero(left));
    const std::uint32_t bit = 1u << index;
    Slot& slot = own_->slots[index];
    if (slot.done.load(std::memory_order_acquire) == 0) {
      const int node = slot.node.load(std::memory_order_relaxed);
      if ((own_->posted.load(std::memory_order_relaxed) & bit) == 0) {
        idle = true;
      } else {
        to_send[sends++] = node;
      }
      continue;
    }
    const Awaited result = results_[index];
    result.take(reinterpret_cast<const std::byte*>(&slot.old));
    own_->waiting.fetch_and(~bit, std::memory_order_relaxed);
    used_.fetch_and(~bit, std::memory_order_release);
    result.completion->set_done();  // last: the caller goes on
    worked = true;
  }
  taking_.unlock();
  for (std::size_t i = 0; i < sends; ++i) idle |= !send(to_send[i]);
  // Another PE has to act, which may want this core.
  if (idle && !worked) sched_yield();
  return worked;
}

// Sends what the node's PEs have posted for `node`; returns false if somebody else is at it.
bool Share::send(int node) {
  std::atomic<std::uint32_t>& busy = sender_for(node).busy;
  // The acquire pairs with the release of the last sender, who has marked what it took.
  if (busy.load(std::memory_order_relaxed) != 0 || left_to_deputy(node) ||
      busy.exchange(1, std::memory_order_acquire) != 0)
    return false;
  Packet packet;
  if (!collect(node, packet)) {
    busy.store(0, std::memory_order_release);
    return false;
  }
  packet.finish(reinterpret_cast<std::uintptr_t>(static_cast<Issuer*>(this)), packet.records);
  count(Stat::packets);
  count(Stat::packed, packet.records);
  if (packet.records > 1) count(Stat::shared, packet.records - 1);
  carrier_.carry(executor_on(node), packet.bytes.data(), packet.size);  // from here on acknowledge() may run
  return true;
}

// Fills a packet with requests for `node`, this PE's first.  Returns false if this PE has none: its reply
// would find nobody who waits for it.
bool Share::collect(int node, Packet& packet) {
  std::vector<Slot*>& taken = under_way_[static_cast<std::size_t>(node)];
  taken.clear();
  take_from(*own_, node, packet, taken);
  if (taken.empty()) return false;
  for (Board* board : boards_) {
    if (board != own_) take_from(*board, node, packet, taken);
  }
  return true;
}

void Share::take_from(Board& board, int node, Packet& packet, std::vector<Slot*>& taken) {
  // The acquire pairs with the release in request().
  for (std::uint32_t left = board.posted.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    Slot& slot = board.slots[std::countr_zero(left)];
    const AtomicOp op = op_of(decode(slot.word).code);
    if (slot.node.load(std::memory_order_relaxed) != node || !packet.has_room(atomic_record(op))) continue;
    packet.add_fetch(slot.word, op, slot.value, slot.compare);
    board.posted.fetch_and(~(left & (0u - left)), std::memory_order_relaxed);
    taken.push_back(&slot);
  }
}

void Share::acknowledge(int pe, const std::byte* results, std::size_t n) {
  const int node = peers_[static_cast<std::size_t>(pe)].node;
  const std::vector<Slot*>& taken = under_way_[static_cast<std::size_t>(node)];
  if (taken.size() * 8 != n)
    fatal("internal error: PE %d answered %zu bytes to %zu atomics", pe, n, taken.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    std::memcpy(&taken[i]->old, results + 8 * i, 8);
    taken[i]->done.store(1, std::memory_order_release);
  }
  sender_for(node).busy.store(0, std::memory_order_release);
}

}  // namespace shm::nic

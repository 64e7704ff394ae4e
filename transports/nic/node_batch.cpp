// SPDX-License-Identifier: BSD-3-Clause
#include "nic/node_batch.hpp"

#include <sched.h>

#include <bit>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "nic/nic_network.hpp"

namespace shm::nic {

void NodeBatch::join_node(const NodeMap& map, const AllSharedSlots& slots) {
  map_ = &map;
  all_slots_ = slots;
  const NodeMap::Peer& me = peer(nic_.me());
  node_ = me.node;
  own_ = all_slots_[me.node_rank];
  name_ = nic_.issuers().add(*this);
  targets_ = std::make_unique<Target[]>(map.members.size());
}

Sender& NodeBatch::sender_for(int node) const {
  const auto number = static_cast<std::size_t>(node);
  return all_slots_[number % all_slots_.size()]->senders[number / all_slots_.size() % SharedSlots::kSenders];
}

// The deputy of `node` for ours.
int NodeBatch::executor_on(int node) const {
  const std::vector<int>& there = members(node);
  return there[static_cast<std::size_t>(node_) % there.size()];
}

int NodeBatch::actor_for(int pe) const {
  const int node = peer(pe).node;
  const int destination =
      targets_[static_cast<std::size_t>(node)].destination.load(std::memory_order_relaxed);
  if (destination >= 0) return destination;
  const unsigned holder = sender_for(node).holder.load(std::memory_order_relaxed);
  if (holder != Sender::kFree) return members(node_)[Sender::node_rank_of(holder)];
  return left_to_deputy(node) ? members(node_)[deputy_for(node)] : executor_on(node);
}

int NodeBatch::target_of(int node, std::uint64_t word) const { return members(node)[decode(word).node_rank]; }

// Whether our deputy for `node` is about to send, or has under way, something of its own there.
bool NodeBatch::left_to_deputy(int node) const {
  const SharedSlots& deputy = *all_slots_[deputy_for(node)];
  if (&deputy == own_) return false;
  for (std::uint32_t left = deputy.waiting.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const Slot& slot = deputy.slots[std::countr_zero(left)];
    if (slot.node.load(std::memory_order_relaxed) == node && slot.done.load(std::memory_order_relaxed) == 0)
      return true;
  }
  return false;
}

bool NodeBatch::request(Combiner& channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                        std::uint64_t value, std::uint64_t compare, const Awaited& result) {
  const auto& [node, node_rank] = peer(pe);
  const std::int64_t now = clock_now();
  if (now < target(node).unshared_until.load(std::memory_order_relaxed)) return false;
  std::uint32_t used = used_.load(std::memory_order_relaxed);
  unsigned index;
  do {
    index = static_cast<unsigned>(std::countr_one(used));
    if (index >= SharedSlots::kSlots) return false;
  } while (!used_.compare_exchange_weak(used, used | 1u << index, std::memory_order_acquire));
  Slot& slot = own_->slots[index];
  // Release: a sender that has seen the bit of the slot's last request, and then sees this node, sees that
  // bit cleared, unless it is set again for this request (take_from()).
  slot.node.store(node, std::memory_order_release);
  slot.word = encode({at.offset, node_rank, at.segment, type, code_of(op), true, false});
  slot.value = value;
  slot.compare = compare;
  slot.done.store(0, std::memory_order_relaxed);
  requests_[index] = {&channel, pe, at, op, type, result, now};
  // Release: whoever sees the bit sees the request.
  own_->posted.fetch_or(1u << index, std::memory_order_release);
  own_->waiting.fetch_or(1u << index, std::memory_order_release);
  send(node, Leaves::free);
  return true;
}

bool NodeBatch::advance() {
  if (own_->waiting.load(std::memory_order_relaxed) == 0) return false;
  if (!taking_.try_lock()) return false;  // another thread is at it, and takes what is ours too
  std::array<int, SharedSlots::kSlots> to_send;
  std::array<Withdrawn, SharedSlots::kSlots> withdrawn;
  std::size_t sends = 0, withdrawals = 0;
  bool worked = false, idle = false;
  for (std::uint32_t left = own_->waiting.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    const auto index = static_cast<unsigned>(std::countr_zero(left));
    Slot& slot = own_->slots[index];
    if (slot.done.load(std::memory_order_acquire) != 0) {
      const Awaited result = requests_[index].result;
      result.take(reinterpret_cast<const std::byte*>(&slot.old));
      count(Stat::atomics);
      count(Stat::packed);  // in whose packet it travelled does not matter
      release(index);
      result.completion->set_done();  // last: the caller goes on
      worked = true;
    } else if ((own_->posted.load(std::memory_order_relaxed) & 1u << index) == 0) {
      idle = true;
    } else if (withdraw(index, withdrawn[withdrawals])) {
      ++withdrawals;
    } else {
      to_send[sends++] = slot.node.load(std::memory_order_relaxed);
    }
  }
  taking_.unlock();
  for (std::size_t i = 0; i < withdrawals; ++i) send_unshared(withdrawn[i]);
  for (std::size_t i = 0; i < sends; ++i) idle |= !send(to_send[i], Leaves::answered);
  // Another PE has to act, which may want this core.
  if (idle && !worked) sched_yield();
  return worked;
}

bool NodeBatch::waits_for_node_of(int pe) const {
  for (std::uint32_t left = own_->waiting.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    if (own_->slots[std::countr_zero(left)].node.load(std::memory_order_relaxed) == peer(pe).node)
      return true;
  }
  return false;
}

void NodeBatch::release(unsigned index) {
  own_->waiting.fetch_and(~(1u << index), std::memory_order_relaxed);
  used_.fetch_and(~(1u << index), std::memory_order_release);
}

// Takes back a request that nobody has taken for too long.
bool NodeBatch::withdraw(unsigned index, Withdrawn& withdrawn) {
  const std::int64_t now = clock_now();
  const std::uint32_t bit = 1u << index;
  if (now - requests_[index].since < kPatience ||
      (own_->posted.fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0)
    return false;
  const Slot& slot = own_->slots[index];
  withdrawn = {requests_[index], slot.value, slot.compare};
  target(slot.node.load(std::memory_order_relaxed))
      .unshared_until.store(now + kUnbatched, std::memory_order_relaxed);
  release(index);
  return true;
}

void NodeBatch::send_unshared(const Withdrawn& withdrawn) {
  const Request& request = withdrawn.request;
  request.channel->fetch_for_another(request.pe, request.at, request.op, request.type, withdrawn.value,
                                     withdrawn.compare, request.result);
}

// Sends what the node's PEs have posted for `node`; returns false if somebody else is at it.  What could not
// be sent when it was posted has waited for the answer to another PE's.
bool NodeBatch::send(int node, Leaves why) {
  std::atomic<std::uint32_t>& holder = sender_for(node).holder;
  // The acquire pairs with the release of the last sender, who has marked what it took.
  std::uint32_t free = Sender::kFree;
  if (holder.load(std::memory_order_relaxed) != free || left_to_deputy(node) ||
      !holder.compare_exchange_strong(free, Sender::held_by(peer(nic_.me()).node_rank),
                                      std::memory_order_acquire, std::memory_order_relaxed))
    return false;
  Packet packet;
  if (!collect(node, packet)) {
    holder.store(Sender::kFree, std::memory_order_release);
    return false;
  }
  packet.finish(name_, packet.records);
  count_packet(why, packet.size);
  if (packet.records > 1) count(Stat::shared, packet.records - 1);
  // One alone goes to its target, which nobody else need wait for, and which it may be meant to wake.
  const Slot& first = *target(node).under_way.front();
  const int executor = packet.records > 1 ? executor_on(node) : target_of(node, first.word);
  target(node).destination.store(executor, std::memory_order_relaxed);
  nic_.carry(executor, packet.bytes.data(), packet.size);  // from here on acknowledge() may run
  return true;
}

// Fills a packet with requests for `node`, this PE's first.  Returns false if this PE has none: its reply
// would find nobody who waits for it.
bool NodeBatch::collect(int node, Packet& packet) {
  std::vector<Slot*>& taken = target(node).under_way;
  taken.clear();
  take_from(*own_, node, packet, taken);
  if (taken.empty()) return false;
  for (SharedSlots* shared : all_slots_) {
    if (shared != own_) take_from(*shared, node, packet, taken);
  }
  return true;
}

void NodeBatch::take_from(SharedSlots& shared, int node, Packet& packet, std::vector<Slot*>& taken) {
  for (std::uint32_t left = shared.posted.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    const std::uint32_t bit = left & (0u - left);
    Slot& slot = shared.slots[std::countr_zero(left)];
    // The slot may have been taken for another node and used again since the bits were read.  Acquire: if
    // this sees the node of a later request, it sees the bit of the earlier one cleared.
    if (slot.node.load(std::memory_order_acquire) != node ||
        !packet.has_room(atomic_record(AtomicOp::compare_swap)))
      continue;
    // The acquire pairs with the release in request().  Only the holder of a node's right to send, and the PE
    // itself, take requests for that node; who clears the bit owns the request.
    if ((shared.posted.load(std::memory_order_acquire) & bit) == 0 ||
        (shared.posted.fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0)
      continue;
    if (slot.node.load(std::memory_order_relaxed) != node) {  // withdrawn, and another one instead
      shared.posted.fetch_or(bit, std::memory_order_release);
      continue;
    }
    packet.add_fetch(slot.word, op_of(decode(slot.word).code), slot.value, slot.compare);
    taken.push_back(&slot);
  }
}

void NodeBatch::acknowledge(int pe, const std::byte* results, std::size_t n) {
  const int node = peer(pe).node;
  if (target(node).destination.load(std::memory_order_relaxed) != pe) [[unlikely]]
    fatal("internal error: PE %d answered a packet that it was not sent", pe);
  const std::vector<Slot*>& taken = target(node).under_way;
  if (taken.size() * 8 != n)
    fatal("internal error: PE %d answered %zu bytes to %zu atomics", pe, n, taken.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    std::memcpy(&taken[i]->old, results + 8 * i, 8);
    taken[i]->done.store(1, std::memory_order_release);
  }
  target(node).destination.store(-1, std::memory_order_relaxed);
  sender_for(node).holder.store(Sender::kFree, std::memory_order_release);
}

}  // namespace shm::nic

// SPDX-License-Identifier: BSD-3-Clause
#include "nic/share.hpp"

#include <bit>

#include "base/fatal.hpp"
#include "base/stats.hpp"

namespace shm::nic {

void Share::join_node(const NodeMap& map) {
  peers_ = map.peers;
  boards_.clear();
  for (std::byte* board : map.boards) boards_.push_back(reinterpret_cast<Board*>(board));
  own_ = boards_[peers_[static_cast<std::size_t>(carrier_.me())].place];
  under_way_.resize(map.members.size());
}

Share::Sender& Share::sender_for(int node) const {
  const auto number = static_cast<std::size_t>(node);
  return boards_[number % boards_.size()]->senders[number / boards_.size() % kSenders];
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
  slot.node = target.node;
  slot.word = encode({at.offset, target.place, at.segment, type, code_of(op), true, false});
  slot.value = value;
  slot.compare = compare;
  slot.done.store(0, std::memory_order_relaxed);
  results_[index] = result;
  // Release: whoever sees the bit sees the request.
  own_->posted.fetch_or(1u << index, std::memory_order_release);
  waiting_.fetch_or(1u << index, std::memory_order_release);
  count(Stat::atomics);
  send(target.node);
  return true;
}

bool Share::advance() {
  if (!taking_.try_lock()) return false;  // another thread is at it, and takes what is ours too
  std::array<int, kSlots> to_send;
  std::size_t sends = 0;
  bool worked = false;
  for (std::uint32_t left = waiting_.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    const auto index = static_cast<unsigned>(std::countr_zero(left));
    const std::uint32_t bit = 1u << index;
    Slot& slot = own_->slots[index];
    if (slot.done.load(std::memory_order_acquire) == 0) {
      if ((own_->posted.load(std::memory_order_relaxed) & bit) != 0) to_send[sends++] = slot.node;
      continue;
    }
    const Awaited result = results_[index];
    std::memcpy(result.fetch, &slot.old, result.width);
    waiting_.fetch_and(~bit, std::memory_order_relaxed);
    used_.fetch_and(~bit, std::memory_order_release);
    result.completion->set_done();  // last: the caller goes on
    worked = true;
  }
  taking_.unlock();
  for (std::size_t i = 0; i < sends; ++i) send(to_send[i]);
  return worked;
}

// Sends what the node's PEs have posted for `node`, unless somebody else is at it.
void Share::send(int node) {
  std::atomic<std::uint32_t>& busy = sender_for(node).busy;
  // The acquire pairs with the release of the last sender, who has marked what it took.
  if (busy.load(std::memory_order_relaxed) != 0 || busy.exchange(1, std::memory_order_acquire) != 0) return;
  Packet packet;
  if (!collect(node, packet)) return busy.store(0, std::memory_order_release);
  packet.finish(reinterpret_cast<std::uintptr_t>(static_cast<Issuer*>(this)), packet.records);
  count(Stat::packets);
  count(Stat::packed, packet.records);
  if (packet.records > 1) count(Stat::shared, packet.records - 1);
  const int executor = carrier_.executor_on(node);
  carrier_.carry(executor, packet.bytes.data(), packet.size);  // from here on acknowledge() may run
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
    if (slot.node != node || !packet.has_room(atomic_record(op))) continue;
    packet.add_atomic(slot.word, op, slot.value, slot.compare);
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

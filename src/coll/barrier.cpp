// SPDX-License-Identifier: BSD-3-Clause
#include "coll/barrier.hpp"

#include "core/internal.hpp"
#include "core/remote.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

// Up to this many PEs on the only node each one watches all others: one step of latency, and few enough
// lines.
constexpr int kFlat = 8;
constexpr int kRadix = 8;  // children in the tree of larger nodes

// Barriers begun.  Never reset, not even by finalize, as the flags in shared memory are not.
std::uint64_t epoch = 0;

// The release store in arrive() pairs with this acquire: what a PE stored before it arrived is visible after.
void wait_for_arrival(int index) {
  const std::atomic<std::uint64_t>& arrived = rt.memory->slot(index).arrived;
  wait_for([&arrived] { return arrived.load(std::memory_order_acquire) >= epoch; });
}

void arrive() { rt.memory->slot(rt.node_index).arrived.store(epoch, std::memory_order_release); }

// Dissemination: in round k each leader tells the one 2^k nodes on, so that after log2(nodes) rounds all know
// of all.  Words only grow, so a leader that is one barrier ahead does no harm.
void sync_leaders() {
  const auto nodes = static_cast<unsigned>(rt.leaders.size());
  for (unsigned distance = 1, round = 0; distance < nodes; distance *= 2, ++round) {
    const int to = rt.leaders[(static_cast<unsigned>(rt.node_number) + distance) % nodes];
    std::atomic<std::uint64_t>& word = internal_area().rounds[round];
    remote_amo({"barrier"}, "round", rt.world_context, AtomicOp::set, AtomicType::u64, &word, &epoch, nullptr,
               nullptr, to, Blocking::no);
    wait_for([&word] { return word.load(std::memory_order_acquire) >= epoch; });
  }
}

void sync_flat(int size) {
  arrive();
  for (int i = 0; i < size; ++i) wait_for_arrival(i);
}

// Arrivals climb a tree to the leader, who releases everybody at once.
void sync_tree(int size) {
  const int me = rt.node_index;
  for (int child = me * kRadix + 1; child <= me * kRadix + kRadix && child < size; ++child)
    wait_for_arrival(child);
  arrive();
  std::atomic<std::uint64_t>& released = rt.memory->block().released;
  if (me == 0) {
    sync_leaders();
    released.store(epoch, std::memory_order_release);
  } else {
    wait_for([&released] { return released.load(std::memory_order_acquire) >= epoch; });
  }
}

}  // namespace

void sync_world() {
  const auto size = static_cast<int>(rt.node_ranks.size());
  ++epoch;
  if (size <= kFlat && rt.network == nullptr) {
    sync_flat(size);
  } else {
    sync_tree(size);
  }
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the software NIC share: PEs behind it, nodes, and what the agents do.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "faulty/faulty.hpp"
#include "loop_job.hpp"
#include "nic/nic.hpp"

namespace shm::test {

inline constexpr int kPes = 4;

inline void ignore(int, std::uint16_t, const std::byte*, std::size_t) {}

inline LoopJob::Wrap behind_nic(std::uint64_t seed, Packed packed = Packed::atomics) {
  return [seed, packed](std::unique_ptr<Network> inner, int pe) {
    if (seed != 0) {  // else no faults
      FaultOptions options{.seed = seed * 10 + static_cast<unsigned>(pe)};
      inner = make_faulty(std::move(inner), options);
    }
    return make_nic(std::move(inner), {.packed = packed, .mshrs = {3, 5}, .batch = true});
  };
}

// PEs side by side on nodes of `per_node`.
class Node {
 public:
  Node(LoopJob& job, std::size_t per_node) {
    all_slots_ = std::vector<SharedSlots>(job.pes.size());
    NodeMap map;
    for (std::size_t pe = 0; pe < job.pes.size(); ++pe) {
      if (pe % per_node == 0) map.members.emplace_back();
      map.add(static_cast<int>(pe / per_node));
    }
    for (std::size_t pe = 0; pe < job.pes.size(); ++pe) {
      map.segments.clear();
      map.shared_slots.clear();
      for (const int peer : map.members[pe / per_node]) {
        LoopPe& member = job.pes[static_cast<std::size_t>(peer)];
        map.segments.push_back({NodeMap::Segment{member.bytes(), member.heap.size() * 8}, {}});
        map.shared_slots.push_back(all_slots_[static_cast<std::size_t>(peer)].bytes);
      }
      job.pes[pe].net->join_node(map);
    }
  }

 private:
  struct SharedSlots {
    alignas(64) std::byte bytes[kSharedSlotsBytes] = {};
  };
  inline static std::vector<SharedSlots> all_slots_;  // until the next job: a job polls until it is gone
};

// What the agents of a job do.
class Agents {
 public:
  explicit Agents(LoopJob& job)
      : thread_([this, &job] {
          while (!stop_.load()) {
            job.poll_all();
            std::this_thread::yield();
          }
        }) {}
  ~Agents() {
    stop_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline void wait(LoopPe& pe, const Completion& done) {
  while (!done.done()) {
    if (!pe.net->poll()) std::this_thread::yield();
  }
}

inline std::uint64_t load(std::uint64_t& word) { return std::atomic_ref(word).load(); }

inline void hint(LoopPe& pe, bool batch, std::size_t total_ops = SIZE_MAX) {
  pe.ops().hint(pe.channel, {batch, total_ops});
}

inline void fence(LoopJob& job, LoopPe& pe) {
  if (!pe.ops().fence(pe.channel)) job.quiet(pe);
}

}  // namespace shm::test

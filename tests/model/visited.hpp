// SPDX-License-Identifier: BSD-3-Clause
// Which states a model has been in: hashes of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace shm::model {

/// Of a state that has no padding.
template <class State>
std::uint64_t hash_of(const State& state) {
  static_assert(sizeof(State) % 4 == 0);
  std::uint32_t words[sizeof(State) / 4];
  std::memcpy(words, &state, sizeof(state));
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const std::uint32_t word : words) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash == 0 ? 1 : hash;
}

/// Hashes of visited states, with their numbers; open addressing, 0 is free.
class Visited {
 public:
  Visited() : slots_(1 << 16) {}

  /// The number of the state: `next` if it is new.
  std::uint32_t add(std::uint64_t hash, std::uint32_t next) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = find(hash);
    if (slot.hash == hash) return slot.number;
    slot = {hash, next};
    ++count_;
    return next;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;
  };
  Slot& find(std::uint64_t hash) {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].hash != 0 && slots_[i].hash != hash) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.hash != 0) find(slot.hash) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace shm::model

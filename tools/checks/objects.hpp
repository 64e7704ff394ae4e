// SPDX-License-Identifier: BSD-3-Clause
// What symmetric memory consists of: blocks of the heaps, those that were freed, and the program's variables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/call_checks.hpp"
#include "variables.hpp"

namespace checks {

/// A call, and where the program makes it.
struct Deed {
  const char* call = nullptr;  ///< null: none
  std::uintptr_t place = 0;    ///< in the instruction of the call; 0: not known
};

struct Object {
  std::uintptr_t base = 0;
  std::size_t size = 0;
  const char* variable = nullptr;  ///< its name; null: it is a block
  Deed made, freed;                ///< of a block

  std::uintptr_t end() const { return base + size; }
};

/// What is known of [address, address + n).
struct Finding {
  enum What {
    fine,       ///< in one object, or in symmetric memory of which no more is known
    elsewhere,  ///< not in symmetric memory
    past_end,   ///< begins in `object`, ends behind it
    freed,      ///< begins in `object`, which was freed
    between,    ///< begins in no block; the one before is `object`, unless its size is 0
    into,       ///< begins in what no symbol is known of, and reaches into the variable `object`
  } what = fine;
  Object object{};
  shm::CheckedRange area{};  ///< that it begins in
};

/// Thread safety: all.
class Objects {
 public:
  /// There are no blocks in the two heaps.  `variables`: those of the program, ascending and apart; empty:
  /// they are not known, and all of their range is one object.
  void begin(const shm::CheckedJob& job, std::vector<Variable> variables);

  /// A block has come, or has another size now.
  void add(std::uintptr_t base, std::size_t size, Deed made);
  void remove(std::uintptr_t base, Deed freed);

  /// n > 0.
  Finding look(std::uintptr_t address, std::size_t n) const;
  /// Whether a block begins there, as look(address, 1) would find it.
  bool is_block(std::uintptr_t address) const;
  /// Bytes of all blocks in a range.
  std::size_t used(const shm::CheckedRange& range) const;

 private:
  static constexpr std::size_t kMostFreed = 65536;  // that are remembered

  Finding look_for(std::uintptr_t address, std::size_t n) const;
  Finding look_for_variable(std::uintptr_t address, std::size_t n) const;
  void forget_freed(std::uintptr_t base, std::size_t size);

  mutable std::shared_mutex mutex_;
  shm::CheckedRange heaps_[2] = {}, variables_range_ = {};
  std::map<std::uintptr_t, Object> blocks_;  // by where they begin; none overlaps another
  std::deque<std::uintptr_t> freed_;         // oldest first; some are gone
  std::vector<Variable> variables_;
  std::atomic<std::uint64_t> changes_{1};
};

}  // namespace checks

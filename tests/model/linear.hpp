// SPDX-License-Identifier: BSD-3-Clause
// Whether what was seen of one key of a shared table can be explained by operations that took effect one
// after the other, each at an instant between its call and its return (linearizability).  The search is that
// of Wing and Gong with Lowe's memory of configurations that were in vain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace shm::linear {

/// What a key can have: a word that arithmetic works on, and a tag for all else, which changes only as a
/// whole.
struct Value {
  std::uint64_t word = 0;
  std::uint64_t tag = 0;
  bool operator==(const Value&) const = default;
};

/// The tag of what an upsert makes.
inline constexpr std::uint64_t kUpserted = 0;

struct State {
  bool there = false;
  Value value;  // all zeros where nothing is there
  bool operator==(const State&) const = default;
};

enum class Kind : std::uint8_t {
  put,
  insert,
  update,
  insert_or_update,
  get_or_insert,
  exchange,
  get,
  contains,
  remove,
  take,
  add,
  upsert,
  compare_swap,
  clear  // nothing is there afterwards; it does not say whether something was
};
inline constexpr int kKinds = 13;  // but clear

/// Whether it brings a whole value; and whether it gives the one that was there.
constexpr bool stores(Kind kind) { return kind <= Kind::exchange; }
constexpr bool gives(Kind kind) {
  return kind == Kind::get || kind == Kind::get_or_insert || kind == Kind::exchange || kind == Kind::take;
}

enum class Outcome : std::uint8_t { done, not_found, exists, mismatch, inserted };

/// One that has not returned may have taken effect or not.
inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// An operation as its caller saw it.
struct Operation {
  Kind kind = Kind::get;
  Outcome outcome = Outcome::done;
  std::uint32_t thread = 0;    // those of one thread take effect in the order of their calls
  Value argument;              // where it stores: the value; add, upsert: .word is the operand;
                               // compare_swap: .word is what is desired
  std::uint64_t expected = 0;  // compare_swap
  Value seen;                // where it gives one: the value; add, upsert, compare_swap: .word is the old one
  std::uint64_t called = 0;  // one that returns at the time of another's call is concurrent with it
  std::uint64_t returned = kNever;  // at least `called`
};

/// What `operation` does to `state`: its outcome and what it sees are set in the copy that is returned.
Operation apply(const Operation& operation, State& state);

struct Verdict {
  bool linearizable = true;
  bool decided = true;             // false if the search was given up
  std::size_t configurations = 0;  // that were remembered
  // If not linearizable: the shortest beginning of the history (by returns) that is not; of it, when the
  // search had come as far as it could, what was there and which operations (places in the history) could not
  // go on.
  State before;
  std::vector<std::size_t> part;
};

/// Operations are in any order, but those of one thread in that of their calls.  Gives up after `most`
/// configurations.
Verdict check(std::span<const Operation> history, const State& initial = {}, std::size_t most = 1 << 22);

std::string describe(const Operation& operation);
/// The offending part, a line each.
std::string describe(std::span<const Operation> history, const Verdict& verdict);

}  // namespace shm::linear

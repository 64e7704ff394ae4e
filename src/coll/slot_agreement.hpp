// SPDX-License-Identifier: BSD-3-Clause
// How the members of a new group agree on a slot that is free on all of them: what a PE says and hears, round
// by round, without how words travel.  tests/model/slots.cpp explores it in every interleaving.
//
// In a round each member says which slots it offers, and all hear what all of them do.  One thread of a PE at
// a time offers; others offer nothing and try again, so that two groups made at the same time cannot get the
// same slot.  Among the threads of a PE that want to offer the one of lowest priority goes first, on every
// PE: so that one is served everywhere, and nobody waits in a circle.
//
// In the first round nobody offers, nor wants to: a member that has not come may be held up until another
// group has agreed, which an offer would prevent.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <set>

#include "coll/internal.hpp"

namespace shm {

/// What members combine: a set of slots, and whether all offer.
using SlotWords = std::array<std::uint64_t, kSlots / 64 + 1>;

/// Of a group in the making: the same on all its PEs, and another one than of any group that threads of one
/// PE may make at the same time.
using SlotPriority = std::array<std::uint64_t, 4>;

/// Which slots a PE has free, and who wants one.
class SlotTable {
 public:
  SlotTable() { free_.fill(~std::uint64_t{0}); }
  void mark(int slot, bool is_free);
  auto operator<=>(const SlotTable&) const = default;

 private:
  friend class SlotAgreement;
  std::array<std::uint64_t, kSlots / 64> free_;
  bool offered_ = false;
  std::multiset<SlotPriority> waiting_;
};

struct SlotRange {
  int begin, end;
  auto operator<=>(const SlotRange&) const = default;
};

/// What a round has come to.
struct SlotOutcome {
  bool agreed;
  int slot;  // -1: none of the range is free on all
};

/// One thread's part in an agreement.  The caller holds the table's lock where it is passed.
class SlotAgreement {
 public:
  SlotAgreement(const SlotPriority& priority, SlotRange range) : priority_(priority), range_(range) {}

  SlotWords begin_round(SlotTable& table);
  /// `combined`: the words of all members, by AND.
  SlotOutcome outcome(const SlotWords& combined) const;
  /// The slot that was agreed on is taken here if this PE is a `member` of the group.
  void end_round(SlotTable& table, const SlotOutcome& outcome, bool member);

  auto operator<=>(const SlotAgreement&) const = default;

 private:
  SlotPriority priority_;
  SlotRange range_;
  bool all_came_ = false;
  bool offers_ = false;
};

}  // namespace shm

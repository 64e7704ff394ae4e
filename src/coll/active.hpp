// SPDX-License-Identifier: BSD-3-Clause
// Active sets: the PEs start + i * 2^log_stride of the world, which deprecated collectives name in each call.
//
// The members of a set that is used with a pSync for the first time agree on a slot, by way of that pSync,
// and keep it: later calls with both find the group and leave pSync alone.  When slots run short a set gets
// one for a single call.
#pragma once

#include "coll/group.hpp"

namespace shm {

struct Triplet {
  int start, log_stride, size;
  auto operator<=>(const Triplet&) const = default;
};

/// An active set, for one collective call.  Thread safety: any thread.
class ActiveSet {
 public:
  /// Ends the job, naming call and argument, if the triplet does not name PEs of the world, this PE is not
  /// among them, or pSync is not what it must be.
  ActiveSet(Call call, const Triplet& set, long* psync);
  ~ActiveSet();
  ActiveSet(const ActiveSet&) = delete;
  ActiveSet& operator=(const ActiveSet&) = delete;

  /// Waits for the other members if the set is new: what else is wrong with the call has been said before.
  Group& group();

 private:
  const Call call_;
  Triplet set_;
  long* const psync_;
  Group* group_;  // null: not yet known
  std::unique_ptr<Group> temporary_;
};

/// Forgets all sets.
void close_active_sets();

}  // namespace shm

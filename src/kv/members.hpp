// SPDX-License-Identifier: BSD-3-Clause
// The PEs of a table: the world, or a team's; and their collective calls.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "coll/check_same.hpp"
#include "core/runtime.hpp"
#include "core/team.hpp"
#include "shmem.h"

namespace shm::kv {

/// What a member tells all others.
struct MemberShard {
  std::uint64_t at;      // where its shard is, from the start of its heap segment
  std::uint64_t number;  // of the table there
};

/// Collective calls are for one thread at a time, as those of the team, and come in one order on all members.
class Members {
 public:
  /// The world.
  Members() : team_{0, 1, static_cast<int>(rt.npes), rt.me, nullptr, 0}, handle_(SHMEM_TEAM_WORLD) {}
  /// Of a team, which must live as long as collective calls are made.  Ends the job if it is none.
  Members(Call call, shmem_team_t team);
  /// The same where the team is known.
  Members(const Team& team, shmem_team_t handle) : team_(team), handle_(handle) {}

  bool is_world() const { return handle_ == SHMEM_TEAM_WORLD; }
  int size() const { return team_.size; }
  int me() const { return team_.me; }
  int world_pe(int member) const { return team_.world_pe(member); }
  /// -1: it is none of them.
  int member(int pe) const { return team_.member(pe); }
  shmem_team_t team() const { return handle_; }

  /// Returns when all have come.
  void sync(Call call) const;
  /// As shm::check_same(), of these PEs.
  void check_same(Call call, std::initializer_list<Argument> arguments) const;
  /// As shm::all_succeeded(), of these PEs.
  bool all_succeeded(Call call, bool failed) const;

  // Of a team.

  std::uint64_t least_of(Call call, std::uint64_t mine) const;
  /// By member.
  std::vector<MemberShard> tell_all(Call call, const MemberShard& mine) const;

 private:
  Team team_;  // of the team as it was: it may end first
  shmem_team_t handle_;
};

}  // namespace shm::kv

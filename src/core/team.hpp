// SPDX-License-Identifier: BSD-3-Clause
// Teams: ordered sets of PEs (OpenSHMEM 1.6, section 9.3).
#pragma once

#include "core/address.hpp"
#include "shmem.h"

namespace shm {

struct Group;

/// Every team is a strided range of the world, or of the PEs of this node: splits of such ranges are such
/// ranges again.
struct Team {
  int start = 0;   // place of member 0
  int stride = 1;  // may be negative; any value when size is 1
  int size = 0;
  int me = -1;                 // this PE's number in the team; -1: not a member
  const int* table = nullptr;  // world PE at each place, ascending; null: places are world PEs
  int places = 0;              // of the table

  int world_pe(int member) const {
    const int place = start + member * stride;
    return table == nullptr ? place : table[place];
  }

  /// The member that is world PE `pe`, or -1.
  int member(int pe) const;
};

/// Makes the predefined teams; ends them and all others that are left, with their contexts.  `world_pe`
/// numbers and the node's PEs are in rt.
void open_teams();
void close_teams();

/// SHMEM_TEAM_WORLD, and its means of collective operation.
const Team& world_team();
Group& world_group();

/// The team behind a handle, or null if it is SHMEM_TEAM_INVALID.  Ends the job if the handle is anything
/// else that is not a live team.
const Team* find_team(Call call, const char* argument, shmem_team_t handle);

/// The group of a team, for collective calls: ends the job for SHMEM_TEAM_INVALID, too.
Group& group_of(Call call, shmem_team_t handle);

/// The handle of a team, which must be live.
shmem_team_t handle_of(const Team& team);

struct TeamSplit {
  int start, stride, size;  // in numbers of the parent
};

/// Collective over the parent, with equal arguments except that teams which are split off at the same time
/// must not overlap.  All return the same: zero, and members have the handle; or non-zero, and no team was
/// made (the triplet is invalid, or there are too many teams).
int split_team(Call call, shmem_team_t parent, const TeamSplit& split, int num_contexts, shmem_team_t* made);

/// Collective over the team.  Destroys its remaining contexts.
void destroy_team(Call call, shmem_team_t handle);

/// The num_contexts that the team was asked for.
int contexts_of(const Team& team);

}  // namespace shm

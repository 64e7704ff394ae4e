// SPDX-License-Identifier: BSD-3-Clause
// The teams that exist, their handles and their means of collective operation (OpenSHMEM 1.6, section 9.4).
#pragma once

#include "core/address.hpp"
#include "core/team.hpp"
#include "shmem.h"

namespace shm {

struct Group;

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

/// The PEs of a team; 0: the handle is not one of a live team.
int size_of_team(shmem_team_t handle);

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

/// The same of this PE alone.  REQUIRES: all members know that nobody makes a collective call on it any more,
/// and have returned from those before; it has no contexts.
void forget_team(shmem_team_t handle);

/// The num_contexts that the team was asked for.
int contexts_of(const Team& team);

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Teams (OpenSHMEM 1.6, section 9.4).
#include "coll/teams.hpp"

#include <algorithm>

#include "api/define.hpp"

namespace {

using shm::Call;
using shm::Team;

int contexts_in(const shmem_team_config_t* config, long mask) {
  return config != nullptr && (mask & SHMEM_TEAM_NUM_CONTEXTS) != 0 ? config->num_contexts : 0;
}

// x teams are the rows, y teams the columns of a grid that is filled row by row.
int split_grid(Call call, shmem_team_t parent, int xrange, const int contexts[2], shmem_team_t* x,
               shmem_team_t* y) {
  shm::check_result(call, "xaxis_team", x);
  shm::check_result(call, "yaxis_team", y);
  *x = *y = SHMEM_TEAM_INVALID;
  const Team* team = shm::find_team(call, "parent_team", parent);
  if (team == nullptr || xrange < 1) return 1;
  const int size = team->size, width = std::min(xrange, size);
  const int column = team->me % width, row = team->me / width;
  const shm::TeamSplit along_x{row * width, 1, std::min(width, size - row * width)};
  const shm::TeamSplit along_y{column, width, (size - column + width - 1) / width};
  if (shm::split_team(call, parent, along_x, contexts[0], x) != 0) return 1;
  if (shm::split_team(call, parent, along_y, contexts[1], y) == 0) return 0;
  shm::destroy_team(call, *x);
  *x = SHMEM_TEAM_INVALID;
  return 1;
}

}  // namespace

extern "C" {

int pshmem_team_my_pe(shmem_team_t team) {
  const Team* t = shm::find_team({"shmem_team_my_pe"}, "team", team);
  return t != nullptr ? t->me : -1;
}

int pshmem_team_n_pes(shmem_team_t team) {
  const Team* t = shm::find_team({"shmem_team_n_pes"}, "team", team);
  return t != nullptr ? t->size : -1;
}

int pshmem_team_get_config(shmem_team_t team, long mask, shmem_team_config_t* config) {
  const Team* t = shm::find_team({"shmem_team_get_config"}, "team", team);
  if (t == nullptr) return 1;
  if ((mask & SHMEM_TEAM_NUM_CONTEXTS) == 0) return 0;
  shm::check_result({"shmem_team_get_config"}, "config", config);
  config->num_contexts = shm::contexts_of(*t);
  return 0;
}

int pshmem_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to) {
  const Team* source = shm::find_team({"shmem_team_translate_pe"}, "src_team", from);
  const Team* dest = shm::find_team({"shmem_team_translate_pe"}, "dest_team", to);
  if (source == nullptr || dest == nullptr || pe < 0 || pe >= source->size) return -1;
  return dest->member(source->world_pe(pe));
}

void* pshmem_team_ptr(shmem_team_t team, const void* dest, int pe) {
  const Team* t = shm::find_team({"shmem_team_ptr"}, "team", team);
  if (t == nullptr || pe < 0 || pe >= t->size) return nullptr;
  return pshmem_ptr(dest, t->world_pe(pe));
}

int pshmem_team_split_strided(shmem_team_t parent, int start, int stride, int npes,
                              const shmem_team_config_t* config, long mask, shmem_team_t* made) {
  const Call call{"shmem_team_split_strided"};
  shm::check_result(call, "new_team", made);
  *made = SHMEM_TEAM_INVALID;
  if (shm::find_team(call, "parent_team", parent) == nullptr) return 1;
  return shm::split_team(call, parent, {start, stride, npes}, contexts_in(config, mask), made);
}

int pshmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t* xconfig, long xmask,
                         shmem_team_t* xteam, const shmem_team_config_t* yconfig, long ymask,
                         shmem_team_t* yteam) {
  const int contexts[2] = {contexts_in(xconfig, xmask), contexts_in(yconfig, ymask)};
  return split_grid({"shmem_team_split_2d"}, parent, xrange, contexts, xteam, yteam);
}

void pshmem_team_destroy(shmem_team_t team) {
  if (team != SHMEM_TEAM_INVALID) shm::destroy_team({"shmem_team_destroy"}, team);
}

ATOLL_FUNCS_TEAM(ATOLL_ALIAS_)

}  // extern "C"

// SPDX-License-Identifier: BSD-3-Clause
// Contexts (OpenSHMEM 1.6, section 9.5) and sessions (9.9).
#include "core/context.hpp"

#include "api/define.hpp"
#include "coll/teams.hpp"
#include "core/session.hpp"

using shm::Call;

extern "C" {

int pshmem_ctx_create(long options, shmem_ctx_t* ctx) {
  shm::check_started({"shmem_ctx_create"});
  shm::check_result({"shmem_ctx_create"}, "ctx", ctx);
  *ctx = shm::create_context(shm::world_team(), options);
  return *ctx == SHMEM_CTX_INVALID ? 1 : 0;
}

int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t* ctx) {
  const shm::Team* t = shm::find_team({"shmem_team_create_ctx"}, "team", team);
  shm::check_result({"shmem_team_create_ctx"}, "ctx", ctx);
  *ctx = t != nullptr ? shm::create_context(*t, options) : SHMEM_CTX_INVALID;
  return *ctx == SHMEM_CTX_INVALID ? 1 : 0;
}

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t* team) {
  shm::check_result({"shmem_ctx_get_team"}, "team", team);
  *team = SHMEM_TEAM_INVALID;
  if (ctx == SHMEM_CTX_INVALID) return 1;
  *team = shm::handle_of(*shm::context_of({"shmem_ctx_get_team"}, ctx).team);
  return 0;
}

void pshmem_ctx_destroy(shmem_ctx_t ctx) { shm::destroy_context({"shmem_ctx_destroy"}, ctx); }

void pshmem_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t* config,
                              long mask) {
  if (ctx == SHMEM_CTX_INVALID) return;
  shm::start_session(shm::context_of({"shmem_ctx_session_start"}, ctx), options, config, mask);
}

void pshmem_ctx_session_stop(shmem_ctx_t ctx) {
  if (ctx != SHMEM_CTX_INVALID) shm::stop_session(shm::context_of({"shmem_ctx_session_stop"}, ctx));
}

ATOLL_FUNCS_CONTEXT(ATOLL_ALIAS_)

}  // extern "C"

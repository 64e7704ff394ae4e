// SPDX-License-Identifier: BSD-3-Clause
// Memory ordering (OpenSHMEM 1.6, section 9.12) and the barriers of the world (9.10).
#include "core/order.hpp"

#include "api/define.hpp"
#include "coll/barrier.hpp"
#include "coll/memory.hpp"

namespace {

using shm::Call;
using shm::rt;

void quiet_pes(Call call, shmem_ctx_t ctx, const int* pes, size_t count) {
  shm::check_started(call);
  if (ctx == SHMEM_CTX_INVALID) return;
  shm::Context& context = shm::context_of(call, ctx);
  shm::check_array(call, "target_pes", pes, count);
  const auto world = [&](size_t i) {
    const int pe = shm::to_world(call, ctx, pes[i]);
    shm::check_pe(call, pe);
    return pe;
  };
  // What is held for them leaves before the first is waited for.
  if (context.channel != nullptr && count > 1)
    for (size_t i = 0; i < count; ++i) shm::flush_to(context.channel, world(i));
  for (size_t i = 0; i < count; ++i) shm::quiet_to(context, world(i), call);
}

}  // namespace

extern "C" {

void pshmem_fence(void) {
  shm::check_started({"shmem_fence"});
  shm::fence(rt.world_context);
}
void pshmem_quiet(void) {
  shm::check_started({"shmem_quiet"});
  shm::quiet(rt.world_context);
}

// On SHMEM_CTX_INVALID these do nothing.
void pshmem_ctx_fence(shmem_ctx_t ctx) {
  if (ctx != SHMEM_CTX_INVALID) shm::fence(shm::context_of({"shmem_ctx_fence"}, ctx), {"shmem_ctx_fence"});
}
void pshmem_ctx_quiet(shmem_ctx_t ctx) {
  if (ctx != SHMEM_CTX_INVALID) shm::quiet(shm::context_of({"shmem_ctx_quiet"}, ctx), {"shmem_ctx_quiet"});
}

void pshmem_pe_quiet(const int* pes, size_t count) {
  quiet_pes({"shmem_pe_quiet"}, SHMEM_CTX_DEFAULT, pes, count);
}
void pshmem_ctx_pe_quiet(shmem_ctx_t ctx, const int* pes, size_t count) {
  quiet_pes({"shmem_ctx_pe_quiet"}, ctx, pes, count);
}

void pshmem_barrier_all(void) {
  constexpr Call call{"shmem_barrier_all"};
  shm::check_started(call);
  shm::quiet(rt.world_context, call);
  shm::sync_world(call);
  shm::map_ahead();
}

void pshmem_sync_all(void) {
  shm::check_started({"shmem_sync_all"});
  shm::sync_world({"shmem_sync_all"});
}

ATOLL_FUNCS_ORDER(ATOLL_ALIAS_)
ATOLL_ALIAS_(void, shmem_barrier_all, (void))
ATOLL_ALIAS_(void, shmem_sync_all, (void))

}  // extern "C"

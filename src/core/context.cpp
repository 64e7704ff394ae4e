// SPDX-License-Identifier: BSD-3-Clause
#include "core/context.hpp"

#include <vector>

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "core/address.hpp"
#include "core/order.hpp"
#include "core/team.hpp"

namespace shm {
namespace {

// Contexts live in blocks that never move nor go away, so that a handle can be checked without a lock.  A
// handle is index and generation, so one that was destroyed is not taken for the next context of that index.
constexpr std::uintptr_t kBlock = 256, kBlocks = 1024;
constexpr int kIndexBits = 20;
constexpr std::uintptr_t kFirstHandle = 16;  // the predefined ones lie below
static_assert(kBlock * kBlocks + kFirstHandle < std::uintptr_t{1} << kIndexBits);

Mutex mutex;                                   // guards creation and destruction
std::atomic<Context*> blocks[kBlocks];         // stored with the mutex held
std::uintptr_t indices GUARDED_BY(mutex) = 0;  // ever used
std::vector<std::uintptr_t> free_indices GUARDED_BY(mutex);

Context& at(std::uintptr_t index) {
  return blocks[index / kBlock].load(std::memory_order_acquire)[index % kBlock];
}

bool is_live(const Context& context) { return context.generation.load(std::memory_order_acquire) % 2 == 1; }

Context* find(shmem_ctx_t handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::uintptr_t index = (value & ((std::uintptr_t{1} << kIndexBits) - 1)) - kFirstHandle;
  if (index >= kBlock * kBlocks || blocks[index / kBlock].load(std::memory_order_acquire) == nullptr)
    return nullptr;
  Context& context = at(index);
  const std::uint64_t generation = context.generation.load(std::memory_order_acquire);
  return generation == value >> kIndexBits && generation % 2 == 1 ? &context : nullptr;
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse(Call call, shmem_ctx_t handle) {
  check_started(call);
  fatal(
      "%s: ctx is %s; allowed are SHMEM_CTX_DEFAULT and contexts made by shmem_ctx_create or "
      "shmem_team_create_ctx and not yet destroyed",
      call.name, handle == SHMEM_CTX_INVALID ? "SHMEM_CTX_INVALID" : "not a context");
}

// Returns kBlock * kBlocks when none is left.
std::uintptr_t take_index() REQUIRES(mutex) {
  if (!free_indices.empty()) {
    const std::uintptr_t index = free_indices.back();
    free_indices.pop_back();
    return index;
  }
  if (indices == kBlock * kBlocks) return indices;
  if (indices % kBlock == 0) blocks[indices / kBlock].store(new Context[kBlock], std::memory_order_release);
  return indices++;
}

void end(std::uintptr_t index) REQUIRES(mutex) {
  Context& context = at(index);
  quiet(context);
  context.generation.fetch_add(1);
  if (context.channel != nullptr) rt.network->close_channel(context.channel);
  context.channel = nullptr;
  context.team = nullptr;
  free_indices.push_back(index);
}

}  // namespace

Context& find_context(Call call, shmem_ctx_t handle) {
  if (Context* context = find(handle)) [[likely]]
    return *context;
  refuse(call, handle);
}

int world_pe(Call call, shmem_ctx_t handle, int pe) {
  const Team& team = *context_of(call, handle).team;
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(team.size)) {
    fatal("%s: pe is %d; allowed in the context's team is 0 to %d", call.name, pe, team.size - 1);
  }
  return team.world_pe(pe);
}

shmem_ctx_t create_context(const Team& team, long options) {
  constexpr long kKnown = SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE;
  if ((options & ~kKnown) != 0) return SHMEM_CTX_INVALID;
  const LockGuard lock(mutex);
  const std::uintptr_t index = take_index();
  if (index == kBlock * kBlocks) return SHMEM_CTX_INVALID;
  Context& context = at(index);
  const ChannelUse use = rt.parallel_contexts ? ChannelUse::parallel : ChannelUse::common;
  context.channel = rt.network != nullptr ? rt.network->open_channel(use) : nullptr;
  context.team = &team;
  context.options = options;
  context.session = {};
  context.uses_regions = false;
  const std::uint64_t generation = context.generation.fetch_add(1) + 1;
  return reinterpret_cast<shmem_ctx_t>(generation << kIndexBits | (index + kFirstHandle));
}

void destroy_context(Call call, shmem_ctx_t handle) {
  if (handle == SHMEM_CTX_INVALID) return;
  if (handle == SHMEM_CTX_DEFAULT)
    fatal("%s: ctx is SHMEM_CTX_DEFAULT, which lives as long as the library", call.name);
  if (find(handle) == nullptr) refuse(call, handle);
  quiet(context_of(call, handle));  // without the mutex: it may take long
  const LockGuard lock(mutex);
  if (find(handle) == nullptr) refuse(call, handle);
  end((reinterpret_cast<std::uintptr_t>(handle) & ((std::uintptr_t{1} << kIndexBits) - 1)) - kFirstHandle);
}

void destroy_contexts(const Team* team) {
  const LockGuard lock(mutex);
  for (std::uintptr_t index = 0; index < indices; ++index) {
    if (is_live(at(index)) && (team == nullptr || at(index).team == team)) end(index);
  }
}

}  // namespace shm

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
// handle is place and generation, so one that was destroyed is not taken for the next context there.
constexpr std::uintptr_t kBlock = 256, kBlocks = 1024;
constexpr int kPlaceBits = 20;
constexpr std::uintptr_t kFirstHandle = 16;  // the predefined ones lie below
static_assert(kBlock * kBlocks + kFirstHandle < std::uintptr_t{1} << kPlaceBits);

Mutex mutex;                                  // guards creation and destruction
std::atomic<Context*> blocks[kBlocks];        // stored with the mutex held
std::uintptr_t places GUARDED_BY(mutex) = 0;  // ever used
std::vector<std::uintptr_t> free_places GUARDED_BY(mutex);

Context& at(std::uintptr_t place) {
  return blocks[place / kBlock].load(std::memory_order_acquire)[place % kBlock];
}

bool is_live(const Context& context) { return context.generation.load(std::memory_order_acquire) % 2 == 1; }

Context* find(shmem_ctx_t handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::uintptr_t place = (value & ((std::uintptr_t{1} << kPlaceBits) - 1)) - kFirstHandle;
  if (place >= kBlock * kBlocks || blocks[place / kBlock].load(std::memory_order_acquire) == nullptr)
    return nullptr;
  Context& context = at(place);
  const std::uint64_t generation = context.generation.load(std::memory_order_acquire);
  return generation == value >> kPlaceBits && generation % 2 == 1 ? &context : nullptr;
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse(Call call, shmem_ctx_t handle) {
  check_started(call);
  fatal(
      "%s: ctx is %s; allowed are SHMEM_CTX_DEFAULT and contexts made by shmem_ctx_create or "
      "shmem_team_create_ctx and not yet destroyed",
      call.name, handle == SHMEM_CTX_INVALID ? "SHMEM_CTX_INVALID" : "not a context");
}

// Returns kBlock * kBlocks when there is no place.
std::uintptr_t take_place() REQUIRES(mutex) {
  if (!free_places.empty()) {
    const std::uintptr_t place = free_places.back();
    free_places.pop_back();
    return place;
  }
  if (places == kBlock * kBlocks) return places;
  if (places % kBlock == 0) blocks[places / kBlock].store(new Context[kBlock], std::memory_order_release);
  return places++;
}

void end(std::uintptr_t place) REQUIRES(mutex) {
  Context& context = at(place);
  quiet(context);
  context.generation.fetch_add(1);
  if (context.channel != nullptr) rt.network->close_channel(context.channel);
  context.channel = nullptr;
  context.team = nullptr;
  free_places.push_back(place);
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
  const std::uintptr_t place = take_place();
  if (place == kBlock * kBlocks) return SHMEM_CTX_INVALID;
  Context& context = at(place);
  const bool parallel = rt.thread_level == SHMEM_THREAD_MULTIPLE;
  const ChannelUse use = parallel ? ChannelUse::parallel : ChannelUse::common;
  context.channel = rt.network != nullptr ? rt.network->open_channel(use) : nullptr;
  context.team = &team;
  context.options = options;
  context.session = {};
  context.uses_regions = false;
  const std::uint64_t generation = context.generation.fetch_add(1) + 1;
  return reinterpret_cast<shmem_ctx_t>(generation << kPlaceBits | (place + kFirstHandle));
}

void destroy_context(Call call, shmem_ctx_t handle) {
  if (handle == SHMEM_CTX_INVALID) return;
  if (handle == SHMEM_CTX_DEFAULT)
    fatal("%s: ctx is SHMEM_CTX_DEFAULT, which lives as long as the library", call.name);
  if (find(handle) == nullptr) refuse(call, handle);
  quiet(context_of(call, handle));  // without the mutex: it may take long
  const LockGuard lock(mutex);
  if (find(handle) == nullptr) refuse(call, handle);
  end((reinterpret_cast<std::uintptr_t>(handle) & ((std::uintptr_t{1} << kPlaceBits) - 1)) - kFirstHandle);
}

void destroy_contexts(const Team* team) {
  const LockGuard lock(mutex);
  for (std::uintptr_t place = 0; place < places; ++place) {
    if (is_live(at(place)) && (team == nullptr || at(place).team == team)) end(place);
  }
}

}  // namespace shm

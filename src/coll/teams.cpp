// SPDX-License-Identifier: BSD-3-Clause
#include "coll/teams.hpp"

#include <algorithm>
#include <atomic>

#include "base/fatal.hpp"
#include "coll/barrier.hpp"
#include "coll/collectives.hpp"
#include "coll/group.hpp"
#include "coll/slots.hpp"
#include "core/context.hpp"
#include "core/order.hpp"

namespace shm {
namespace {

/// A live team: on each member in the same slot.  Handles carry slot and generation, so that one that was
/// destroyed is not taken for the next team there.
struct TeamEntry {
  Team team;
  std::unique_ptr<Group> group;
  int num_contexts = 0;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<bool> live{false};
};

TeamEntry entries[kSlots];

constexpr int kSlotBits = 12;
constexpr std::uintptr_t kFirstHandle = 16;  // the predefined ones lie below

void open_team(int slot, const Team& team, int num_contexts) {
  TeamEntry& entry = entries[slot];
  entry.team = team;
  entry.num_contexts = num_contexts;
  entry.group = make_group(team, slot);
  entry.generation.fetch_add(1);
  entry.live.store(true, std::memory_order_release);
}

void close_team(int slot) {
  entries[slot].live.store(false);
  entries[slot].group.reset();
}

TeamEntry* entry_of(shmem_team_t handle) {
  if (handle == SHMEM_TEAM_WORLD) return &entries[kWorldSlot];
  if (handle == SHMEM_TEAM_SHARED) return &entries[kSharedSlot];
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::uintptr_t slot = (value & ((std::uintptr_t{1} << kSlotBits) - 1)) - kFirstHandle;
  if (slot < kFirstSlot || slot >= kSlots) return nullptr;
  TeamEntry& entry = entries[slot];
  const bool match =
      entry.live.load(std::memory_order_acquire) && entry.generation.load() == value >> kSlotBits;
  return match ? &entry : nullptr;
}

TeamEntry& checked(Call call, const char* argument, shmem_team_t handle) {
  check_started(call);
  if (TeamEntry* entry = entry_of(handle)) [[likely]]
    return *entry;
  fatal(
      "%s: %s is %s; allowed are SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED and teams that this PE got from a split "
      "and "
      "that are not yet destroyed",
      call.name, argument, handle == SHMEM_TEAM_INVALID ? "SHMEM_TEAM_INVALID" : "not a team");
}

int slot_of(const Team& team) {
  // Every Team that leaves this file is the first member of a TeamEntry.
  static_assert(offsetof(TeamEntry, team) == 0);
  return static_cast<int>(reinterpret_cast<const TeamEntry*>(&team) - entries);
}

bool valid(const Team& parent, const TeamSplit& split) {
  if (split.size < 1 || split.start < 0 || split.start >= parent.size) return false;
  if (split.stride == 0) return split.size == 1;
  const std::int64_t last = split.start + (static_cast<std::int64_t>(split.size) - 1) * split.stride;
  return last >= 0 && last < parent.size;
}

SlotExchange exchange_over(Group& g) {
  return {[&g](SlotWords& words) {
            reduce_inline(g, kReduction<ReduceOp::bit_and, std::uint64_t>, words.data(), words.data(),
                          words.size());
          },
          [&g](std::uint64_t value) {
            reduce_inline(g, kReduction<ReduceOp::max, std::uint64_t>, &value, &value, 1);
            return value;
          }};
}

}  // namespace

void open_teams() {
  reset_slots();
  const auto node_size = static_cast<int>(rt.node_pes.size());
  open_team(kWorldSlot, {0, 1, static_cast<int>(rt.npes), rt.me, nullptr, 0}, 0);
  // On NVM only its PE has a pointer to an object.
  const Team alone{rt.me, 1, 1, 0, nullptr, 0};
  const Team node{0, 1, node_size, rt.node_rank, rt.node_pes.data(), node_size};
  open_team(kSharedSlot, rt.paged_by_default ? alone : node, 0);
  rt.world_context.team = &entries[kWorldSlot].team;
  rt.world_context.session = {};
}

void close_teams() {
  for (int slot = 0; slot < kSlots; ++slot) close_team(slot);
}

const Team& world_team() { return entries[kWorldSlot].team; }
Group& world_group() { return *entries[kWorldSlot].group; }

const Team* find_team(Call call, const char* argument, shmem_team_t handle) {
  return handle == SHMEM_TEAM_INVALID ? nullptr : &checked(call, argument, handle).team;
}

int size_of_team(shmem_team_t handle) {
  const TeamEntry* entry = entry_of(handle);
  return entry == nullptr ? 0 : entry->team.size;
}

Group& group_of(Call call, shmem_team_t handle) {
  Group& group = *checked(call, "team", handle).group;
  begin_call(group.slot, call);
  return group;
}

shmem_team_t handle_of(const Team& team) {
  const int slot = slot_of(team);
  if (slot == kWorldSlot) return SHMEM_TEAM_WORLD;
  if (slot == kSharedSlot) return SHMEM_TEAM_SHARED;
  const std::uintptr_t number = static_cast<std::uintptr_t>(slot) + kFirstHandle;
  return reinterpret_cast<shmem_team_t>(entries[slot].generation.load() << kSlotBits | number);
}

int split_team(Call call, shmem_team_t parent_handle, const TeamSplit& split, int num_contexts,
               shmem_team_t* made) {
  *made = SHMEM_TEAM_INVALID;
  Group& parent = group_of(call, parent_handle);
  if (!valid(parent.team, split)) return 1;  // on all: the arguments are the same
  Team team = parent.team;
  // Places of the parent's members and of ours, so no int is too small.  A team of one may have been asked
  // for with any stride.
  team.start += split.start * parent.team.stride;
  team.stride = split.size == 1 ? 1 : team.stride * split.stride;
  team.size = split.size;
  team.me = team.member(rt.me);
  const SlotPriority priority{static_cast<std::uint64_t>(parent.slot)};
  const int slot =
      agree_on_slot(call, exchange_over(parent), priority, {kFirstSlot, kTeamSlots}, team.me >= 0);
  if (slot < 0) return 1;
  if (team.me < 0) return 0;
  open_team(slot, team, num_contexts);
  *made = handle_of(entries[slot].team);
  return 0;
}

void destroy_team(Call call, shmem_team_t handle) {
  TeamEntry& entry = checked(call, "team", handle);
  const int slot = slot_of(entry.team);
  if (slot < kFirstSlot) fatal("%s: team is predefined; allowed are teams that a split made", call.name);
  destroy_contexts(&entry.team);
  // All members are here: nobody reads the payload of a cell any more.
  begin_call(slot, call);
  sync_group(*entry.group);
  close_team(slot);
  free_slot(slot);
}

void forget_team(shmem_team_t handle) {
  const int slot = slot_of(entry_of(handle)->team);
  close_team(slot);
  free_slot(slot);
}

int contexts_of(const Team& team) { return entries[slot_of(team)].num_contexts; }

}  // namespace shm

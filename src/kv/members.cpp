// SPDX-License-Identifier: BSD-3-Clause
#include "kv/members.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "coll/barrier.hpp"
#include "coll/collectives.hpp"
#include "coll/memory.hpp"
#include "coll/teams.hpp"

namespace shm::kv {
namespace {

constexpr std::size_t kWords = Cell::kPayload / sizeof(std::uint64_t);  // that travel at once

// What member 0 says of the call that it is in.
struct SaidToTeam {
  static constexpr std::size_t kValues = 7;
  char call[(kWords - kValues) * sizeof(std::uint64_t)];
  std::uint64_t values[kValues];
};
static_assert(sizeof(SaidToTeam) == kWords * sizeof(std::uint64_t));

template <ReduceOp op>
void combine(Call call, shmem_team_t team, std::uint64_t* words, std::size_t n) {
  reduce_inline(group_of(call, team), kReduction<op, std::uint64_t>, words, words, n);
}

}  // namespace

Members::Members(Call call, shmem_team_t team) : team_(group_of(call, team).team), handle_(team) {}

void Members::sync(Call call) const {
  if (is_world()) return sync_world(call);
  sync_group(group_of(call, handle_));
}

void Members::check_same(Call call, std::initializer_list<Argument> arguments) const {
  if (is_world()) return shm::check_same(call, arguments);
  SaidToTeam mine{};
  std::strncpy(mine.call, call.name, sizeof mine.call - 1);
  std::transform(arguments.begin(), arguments.end(), mine.values, [](const Argument& a) { return a.value; });
  std::uint64_t words[kWords]{};
  if (me() == 0) std::memcpy(words, &mine, sizeof mine);
  combine<ReduceOp::bit_or>(call, handle_, words, kWords);
  SaidToTeam theirs;
  std::memcpy(&theirs, words, sizeof theirs);
  const int other = world_pe(0);
  if (std::strcmp(theirs.call, mine.call) != 0)
    fatal("%s: PE %d is in %s; all PEs of the team must call it together", call.name, other,
          theirs.call[0] == 0 ? "another collective call" : theirs.call);
  const std::uint64_t* value = theirs.values;
  for (const Argument& argument : arguments) {
    const std::uint64_t that = *value++;
    if (that == argument.value) continue;
    if (!argument.is_number)
      fatal("%s: %s is not what PE %d passes; all PEs of the team must pass the same", call.name,
            argument.name, other);
    fatal("%s: %s is %zu here and %zu on PE %d; all PEs of the team must pass the same", call.name,
          argument.name, static_cast<std::size_t>(argument.value), static_cast<std::size_t>(that), other);
  }
}

bool Members::all_succeeded(Call call, bool failed) const {
  if (is_world()) return shm::all_succeeded(call, failed);
  std::uint64_t any = failed ? 1 : 0;
  combine<ReduceOp::bit_or>(call, handle_, &any, 1);
  return any == 0;
}

std::uint64_t Members::least_of(Call call, std::uint64_t mine) const {
  combine<ReduceOp::min>(call, handle_, &mine, 1);
  return mine;
}

std::vector<MemberShard> Members::tell_all(Call call, const MemberShard& mine) const {
  constexpr int kAtOnce = sizeof(std::uint64_t) * kWords / sizeof(MemberShard);
  std::vector<MemberShard> all(static_cast<std::size_t>(size()));
  for (int first = 0; first < size(); first += kAtOnce) {
    const int n = std::min(kAtOnce, size() - first);
    MemberShard some[kAtOnce]{};
    if (me() >= first && me() < first + n) some[me() - first] = mine;
    std::uint64_t words[kWords]{};
    std::memcpy(words, some, sizeof some);
    combine<ReduceOp::bit_or>(call, handle_, words, kWords);
    std::memcpy(static_cast<void*>(&all[static_cast<std::size_t>(first)]), words,
                static_cast<std::size_t>(n) * sizeof(MemberShard));
  }
  return all;
}

}  // namespace shm::kv

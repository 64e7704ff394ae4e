// SPDX-License-Identifier: BSD-3-Clause
#include "coll/check_same.hpp"

#include <cstring>

#include "base/fatal.hpp"
#include "coll/barrier.hpp"
#include "coll/internal.hpp"
#include "core/remote.hpp"

namespace shm {

void check_same(Call call, std::initializer_list<Argument> arguments) {
  static std::uint64_t turn = 0;
  const int other = static_cast<int>((static_cast<unsigned>(rt.me) + 1) % rt.npes);
  Said& mine = internal_area().said[++turn % 2];
  mine = {.turn = turn, .call = {}, .values = {}};
  std::strncpy(mine.call, call.name, sizeof mine.call - 1);
  std::uint64_t* value = mine.values;
  for (const Argument& argument : arguments) *value++ = argument.value;
  sync_world(call);
  Said theirs;
  if (const Said* here = internal_at(&mine, other)) {
    theirs = *here;
  } else {
    get_internal(call, &theirs, &mine, sizeof theirs, other);
  }
  if (theirs.turn != turn)
    fatal("%s: PE %d is in another collective call; all PEs must call it together", call.name, other);
  if (other == 0) return;  // a pair fewer says the same, and each difference is told once
  if (std::strcmp(theirs.call, mine.call) != 0)
    fatal("%s: PE %d is in %s; all PEs must call it together", call.name, other, theirs.call);
  value = theirs.values;
  for (const Argument& argument : arguments) {
    const std::uint64_t that = *value++;
    if (that == argument.value) continue;
    if (!argument.is_number)
      fatal("%s: %s is not what PE %d passes; all PEs must pass the same", call.name, argument.name, other);
    fatal("%s: %s is %zu here and %zu on PE %d; all PEs must pass the same", call.name, argument.name,
          static_cast<std::size_t>(argument.value), static_cast<std::size_t>(that), other);
  }
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// How the elements of a shard lie, group by group.
#pragma once

#include <bit>

#include "kv/shard.hpp"

namespace shm::kv {

template <class Memory>
ShardSurvey Shard<Memory>::survey() const {
  ShardSurvey found;
  for (std::uint64_t group = 0, end = segments() * layout_.segment_groups; group < end; ++group) {
    unsigned taken = 0, guests = 0, with_away = 0;
    look_whole(group, kUnlimited, [&](const Head<Memory>& head, unsigned&) {
      const unsigned slots = head.tags().taken();
      taken = static_cast<unsigned>(std::popcount(slots));
      guests = static_cast<unsigned>(std::popcount(slots & head.guests()));
      with_away = 0;
      for (unsigned alternate = 0; alternate < kAlternates; ++alternate)
        with_away += head.away(alternate) != 0 ? 1 : 0;
    });
    found.at_home += taken - guests;
    found.away += guests;
    found.with_away += with_away;
    found.without_away += kAlternates - with_away;
    ++found.groups[taken];
  }
  return found;
}

}  // namespace shm::kv

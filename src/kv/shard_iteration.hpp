// SPDX-License-Identifier: BSD-3-Clause
// All elements of a shard, one after the other, while others come, go and move.
#pragma once

#include "kv/shard_room.hpp"

namespace shm::kv {

// kBusy: what was read makes no sense, as it is being changed.
template <class Memory>
Code Shard<Memory>::read(const Head<Memory>& head, std::uint64_t group, unsigned slot,
                         Element& element) const {
  Bytes bytes;
  if (!bytes_of(head, group, slot, bytes)) return kBusy;
  element.key_bytes = bytes.key_bytes;
  element.value_bytes = bytes.value_bytes;
  const bool key_fits = bytes.key_bytes <= element.key_room;
  const bool value_fits = element.value == nullptr || bytes.value_bytes <= element.value_room;
  if (key_fits) memory_.read(bytes.key_at, element.key, bytes.key_bytes);
  if (value_fits && element.value != nullptr) memory_.read(bytes.value_at, element.value, bytes.value_bytes);
  return key_fits && value_fits ? SHMEMX_KV_OK : SHMEMX_KV_TOO_LARGE;
}

// The element with the least number that is not below the cursor's.  It is looked for in all groups of the
// home before any other home; one that comes home meanwhile is looked for once more.
template <class Memory>
Code Shard<Memory>::next_of_home(std::uint64_t& cursor, Element& element) const {
  const std::uint64_t home = home_of_cursor(cursor);
  const unsigned first = static_cast<unsigned>(cursor % kNumbers);
  unsigned least;
  Code status;
  const auto look_at = [&](std::uint64_t group, auto also) {
    const unsigned least_before = least;
    const Code status_before = status;
    look_whole(group, kUnlimited, [&](const Head<Memory>& head, unsigned& looks) {
      least = least_before;
      status = status_before;
      also(head);
      const Bytes16 all = numbers(group);
      int found = -1;
      for_each_of_home(head, home, group, [&](unsigned slot) {
        if (all[slot] < first || all[slot] >= least) return;
        least = all[slot];
        found = static_cast<int>(slot);
      });
      if (found < 0) return;
      status = read(head, group, static_cast<unsigned>(found), element);
      if (status == SHMEMX_KV_OK && element.value != nullptr) looks = after_copy(looks, element.value_bytes);
    });
  };
  std::uint64_t away;
  std::uint16_t returns;
  do {
    least = kNumbers;
    status = SHMEMX_KV_NOT_FOUND;
    look_at(home, [&](const Head<Memory>& head) {
      away = head.away();
      returns = head.returns();
    });
    for_each_alternate(home, away, [&](std::uint64_t group) { look_at(group, [](const Head<Memory>&) {}); });
  } while (away != 0 && head(home).returns() != returns);
  if (status == SHMEMX_KV_OK) cursor = cursor_at(home) + least + 1;
  return status;
}

template <class Memory>
Code Shard<Memory>::next(std::uint64_t& cursor, Element& element) const {
  for (; home_of_cursor(cursor) < layout_.groups; cursor = cursor_at(home_of_cursor(cursor) + 1)) {
    const Code status = next_of_home(cursor, element);
    if (status != SHMEMX_KV_NOT_FOUND) return status;
  }
  return SHMEMX_KV_NOT_FOUND;
}

}  // namespace shm::kv

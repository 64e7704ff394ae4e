// SPDX-License-Identifier: BSD-3-Clause
// Slots: which cells a group uses.  The members of a new group agree on a slot that is free on all of them,
// and on a phase number that is past what any of them has used it for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/wait_report.hpp"
#include "coll/internal.hpp"
#include "coll/slot_agreement.hpp"

namespace shm {

/// Fixed slots; the others are given out, the lowest first.
inline constexpr int kWorldSlot = 0;
inline constexpr int kSharedSlot = 1;
inline constexpr int kFirstSlot = 2;

/// Teams have slots below this one; the last ones serve single calls of active sets, so that there always is
/// one.
inline constexpr int kTeamSlots = kSlots - 16;

/// Phases taken on a slot.  Never reset, not even by finalize, as the cells in shared memory are not.
std::uint64_t& slot_counter(int slot);

/// The collective calls that this PE has made as a member of a slot's group.
struct SlotCalls {
  std::atomic<const char*> last = "a collective operation";  // its name: what members wait in; any thread
  std::uint64_t count = 0;  // equal on all members that have made the same calls
};
namespace detail {
extern SlotCalls calls_of_slots[kSlots];
}
inline SlotCalls& slot_calls(int slot) { return detail::calls_of_slots[slot]; }
inline const char* last_call(int slot) { return slot_calls(slot).last.load(std::memory_order_relaxed); }
inline void begin_call(int slot, Call call) {
  SlotCalls& calls = slot_calls(slot);
  calls.last.store(call.name, std::memory_order_relaxed);
  ++calls.count;
}

/// Describes a wait of the last call for world PE `pe`.
inline void describe_behind(WaitRecord& record, int slot, int pe) {
  describe_wait(record, last_call(slot), pe, "for PE %d, %s", pe, kNotAsFar);
  record.program = 1;
  record.group = slot;
  record.calls = slot_calls(slot).count;
}

/// How the PEs that have to agree exchange words: each replaces its own by the result.
struct SlotExchange {
  std::function<void(SlotWords&)> all_and;
  std::function<std::uint64_t(std::uint64_t)> max;
};

/// Collective over the PEs behind `exchange`, who all come before any holds up other threads of its PE; those
/// may do the same over other PEs at the same time.  Returns a slot of `range`, now taken on this PE if
/// `member`, or -1 on all when none is free on all.  `call` is what the program has called.
int agree_on_slot(Call call, const SlotExchange& exchange, const SlotPriority& priority, SlotRange range,
                  bool member);

/// Gives a slot back.  REQUIRES: no member reads payloads of its cells any more.
void free_slot(int slot);

/// All slots but the fixed ones are free.
void reset_slots();

}  // namespace shm

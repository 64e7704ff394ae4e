// SPDX-License-Identifier: BSD-3-Clause
#include "coll/slots.hpp"

#include "base/mutex.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

std::uint64_t counters[kSlots];

Mutex mutex;
SlotTable table GUARDED_BY(mutex);

}  // namespace

constinit SlotCalls detail::calls_of_slots[kSlots];

std::uint64_t& slot_counter(int slot) { return counters[slot]; }

int agree_on_slot(Call call, const SlotExchange& exchange, const SlotPriority& priority, SlotRange range,
                  bool member) {
  const auto describe = [&](WaitRecord& record) {
    describe_wait(record, call.name, WaitRecord::kNobody,
                  "for other threads to have made the teams or active sets that they make");
  };
  SlotAgreement agreement(priority, range);
  for (Waiter waiter;; waiter.pause(describe)) {
    SlotWords words;
    {
      const LockGuard lock(mutex);
      words = agreement.begin_round(table);
    }
    exchange.all_and(words);
    const SlotOutcome outcome = agreement.outcome(words);
    if (outcome.slot >= 0) {
      const std::uint64_t number = exchange.max(counters[outcome.slot]);
      if (member) {
        counters[outcome.slot] = number;
        slot_calls(outcome.slot).count = 0;
      }
    }
    {
      const LockGuard lock(mutex);
      agreement.end_round(table, outcome, member);
    }
    if (outcome.agreed) return outcome.slot;
  }
}

void free_slot(int slot) {
  const LockGuard lock(mutex);
  table.mark(slot, true);
}

void reset_slots() {
  const LockGuard lock(mutex);
  for (int slot = 0; slot < kSlots; ++slot) table.mark(slot, slot >= kFirstSlot);
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
#include "coll/slots.hpp"

#include <bit>
#include <set>

#include "base/mutex.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

constexpr std::size_t kWords = kSlots / 64;

std::uint64_t counters[kSlots];

// One thread of a PE at a time offers this PE's free slots; others offer none and try again, so that two
// teams made at the same time cannot get the same slot.  Among waiting threads the one with the lowest
// priority number goes first, on every PE: so that one is served everywhere, and nobody waits in a circle.
struct Offers {
  Mutex mutex;
  std::uint64_t free[kWords] GUARDED_BY(mutex);
  bool held GUARDED_BY(mutex) = false;           // somebody offers
  std::multiset<int> waiting GUARDED_BY(mutex);  // priorities
} offers;

void wait_to_offer(int priority) {
  const LockGuard lock(offers.mutex);
  offers.waiting.insert(priority);
}

bool try_offer(int priority, SlotWords& words) {
  const LockGuard lock(offers.mutex);
  words.fill(0);
  if (offers.held || priority > *offers.waiting.begin()) return false;
  offers.held = true;
  for (std::size_t i = 0; i < kWords; ++i) words[i] = offers.free[i];
  words[kWords] = 1;
  return true;
}

void end_offer(int priority, bool offered, bool served) {
  const LockGuard lock(offers.mutex);
  if (offered) offers.held = false;
  if (served) offers.waiting.erase(offers.waiting.find(priority));
}

int first_of(const SlotWords& words) {
  for (std::size_t i = 0; i < kWords; ++i) {
    if (words[i] != 0) return static_cast<int>(i * 64) + std::countr_zero(words[i]);
  }
  return -1;
}

void mark(int slot, bool is_free) {
  const LockGuard lock(offers.mutex);
  const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
  std::uint64_t& word = offers.free[static_cast<std::size_t>(slot) / 64];
  word = is_free ? word | bit : word & ~bit;
}

}  // namespace

std::uint64_t& slot_counter(int slot) { return counters[slot]; }

int agree_on_slot(const SlotExchange& exchange, int priority, bool member) {
  wait_to_offer(priority);
  SlotWords words;
  for (Waiter waiter;; waiter.pause()) {
    const bool offered = try_offer(priority, words);
    exchange.all_and(words);
    const bool all_offered = words[kWords] != 0;
    const int slot = all_offered ? first_of(words) : -1;
    if (slot >= 0) {
      const std::uint64_t number = exchange.max(counters[slot]);
      if (member) {
        counters[slot] = number;
        mark(slot, false);
      }
    }
    end_offer(priority, offered, all_offered);
    if (all_offered) return slot;
  }
}

void free_slot(int slot) { mark(slot, true); }

void reset_slots() {
  const LockGuard lock(offers.mutex);
  for (std::uint64_t& word : offers.free) word = ~std::uint64_t{0};
  offers.free[0] &= ~((std::uint64_t{1} << kFirstSlot) - 1);
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
#include "coll/slot_agreement.hpp"

#include <algorithm>

namespace shm {
namespace {

constexpr std::size_t kAllOffer = kSlots / 64;  // the word behind the set

std::uint64_t bit_of(int slot) { return std::uint64_t{1} << (slot % 64); }
std::size_t word_of(int slot) { return static_cast<std::size_t>(slot) / 64; }

}  // namespace

void SlotTable::mark(int slot, bool is_free) {
  std::uint64_t& word = free_[word_of(slot)];
  word = is_free ? word | bit_of(slot) : word & ~bit_of(slot);
}

SlotWords SlotAgreement::begin_round(SlotTable& table) {
  SlotWords words{};
  offers_ = all_came_ && !table.offered_ && priority_ == *table.waiting_.begin();
  if (!offers_) return words;
  table.offered_ = true;
  std::copy(table.free_.begin(), table.free_.end(), words.begin());
  words[kAllOffer] = 1;
  return words;
}

SlotOutcome SlotAgreement::outcome(const SlotWords& combined) const {
  if (combined[kAllOffer] == 0) return {false, -1};
  for (int slot = range_.begin; slot < range_.end; ++slot) {
    if ((combined[word_of(slot)] & bit_of(slot)) != 0) return {true, slot};
  }
  return {true, -1};
}

void SlotAgreement::end_round(SlotTable& table, const SlotOutcome& outcome, bool member) {
  if (offers_) table.offered_ = false;
  if (!all_came_) {
    all_came_ = true;
    table.waiting_.insert(priority_);
  }
  if (!outcome.agreed) return;
  table.waiting_.erase(table.waiting_.find(priority_));
  if (outcome.slot >= 0 && member) table.mark(outcome.slot, false);
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/inbox.hpp"

#include <sys/mman.h>

#include "base/fatal.hpp"

namespace shm::ofi {

bool Inbox::open(std::size_t rings) {
  rings_used_ = rings;
  void* memory =
      mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(memory);
  return true;
}

Inbox::~Inbox() {
  if (base_ != nullptr) munmap(base_, bytes());
}

bool Inbox::survey() {
  bool waiting = false;
  for (std::size_t i = 0; i < open_rings_; ++i) {
    Ring& ring = rings_[i];
    if (ring.pe == kNobody) continue;
    for (;;) {
      // Invariant 1: there are never so many.
      if (ring.seen.passed() - ring.taken >= RingCursor::kBytes) [[unlikely]]
        refuse(ring.pe);
      const std::byte* entry = ring.base + ring.seen.offset();
      std::uint64_t message = 0;
      std::memcpy(&message, entry, sizeof message);
      // A head that is stored in part gives a size that is too small, and nothing is stored behind it yet.
      if (message == 0 || message > InboxEntry::kLargestMessage) break;
      const std::size_t size = InboxEntry::size(message);
      if (entry[size - 1] != InboxEntry::kEnd) break;
      ring.seen.advance(size);
    }
    waiting |= ring.seen.passed() != ring.taken;
  }
  return waiting;
}

void Inbox::refuse(int pe) { fatal("internal error: PE %d wrote an entry that it cannot have meant", pe); }

void Inbox::take() {
  for (std::size_t i = 0; i < open_rings_; ++i) rings_[i].taken = rings_[i].seen.passed();
}

int Inbox::welcome(int pe) {
  const auto index = static_cast<std::size_t>(pe);
  if (index >= kMostPes) return kNobody;
  ++messages_;
  if (ring_of_.size() <= index) ring_of_.resize(index + 1);
  if (ring_of_[index] != 0) return kNobody;
  for (std::size_t i = 0; i < open_rings_; ++i) {
    if (rings_[i].pe != kNobody) continue;
    give(i, pe);
    return kNobody;
  }
  if (open_rings_ == rings_used_) return whom_to_ask(pe);
  give(open_rings_++, pe);
  return kNobody;
}

void Inbox::give(std::size_t index, int pe) {
  Ring& ring = rings_[index];
  ring = {};
  ring.pe = pe;
  ring.base = base_ + ring_offset(index + 1);
  ring.last_used = messages_;
  ring_of_[static_cast<std::size_t>(pe)] = static_cast<std::uint8_t>(index + 1);
  wishes_.erase(pe);
}

// The PE whose ring has been used least recently, if `pe` needs it more.
int Inbox::whom_to_ask(int pe) {
  if (recalled_ != 0) return kNobody;
  if (wishes_.size() >= kMostWishes) wishes_.clear();
  Wish& wish = wishes_[pe];
  if (wish.messages++ == 0) wish.since = messages_;
  if (wish.messages < kWorthARing) return kNobody;
  const std::uint64_t since = wish.since;
  wish = {};
  std::size_t oldest = rings_used_;
  for (std::size_t i = 0; i < rings_used_; ++i) {
    // Who has not been told of its ring would be told of it after the recall.
    if (!rings_[i].told || rings_[i].last_used >= since) continue;
    if (oldest == rings_used_ || rings_[i].last_used < rings_[oldest].last_used) oldest = i;
  }
  if (oldest == rings_used_) return kNobody;
  recalled_ = oldest + 1;
  return rings_[oldest].pe;
}

void Inbox::returned(int pe) {
  const auto index = static_cast<std::size_t>(pe);
  const std::size_t number = index < ring_of_.size() ? ring_of_[index] : 0;
  if (number != recalled_ || number == 0 ||
      rings_[number - 1U].read.passed() != rings_[number - 1U].seen.passed())
    fatal("internal error: PE %d has returned a ring that it was not asked for, or that is not empty", pe);
  rings_[number - 1U] = {};
  ring_of_[index] = 0;
  recalled_ = 0;
}

}  // namespace shm::ofi

// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/inbox.hpp"

#include <sys/mman.h>

namespace shm::ofi {

bool Inbox::open() {
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
    for (;;) {
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

void Inbox::take() {
  for (std::size_t i = 0; i < open_rings_; ++i) rings_[i].taken = rings_[i].seen.passed();
}

void Inbox::welcome(int pe) {
  const auto index = static_cast<std::size_t>(pe);
  if (open_rings_ == kRings || index >= kMostPes) return;
  if (ring_of_.size() <= index) ring_of_.resize(index + 1);
  if (ring_of_[index] != 0) return;
  Ring& ring = rings_[open_rings_];
  ring.pe = pe;
  ring.base = base_ + ring_offset(open_rings_ + 1);
  ring_of_[index] = static_cast<std::uint8_t>(++open_rings_);
}

}  // namespace shm::ofi

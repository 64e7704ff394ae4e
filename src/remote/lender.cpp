// SPDX-License-Identifier: BSD-3-Clause
#include "remote/lender.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/fatal.hpp"
#include "base/host_memory.hpp"
#include "base/huge_pages.hpp"
#include "base/human.hpp"
#include "pages/addresses.hpp"
#include "remote/message_check.hpp"

namespace shm::remote {
// Committing more than there is would not fail, but have processes of the host killed.
Result<LentMemory> LentMemory::create(std::size_t bytes) {
  const auto refuse = [bytes](const std::string& reason) {
    return Status::error("cannot lend " + human_bytes(bytes) + " of memory: " + reason +
                         "; lower SHMEM_MEMORY_PER_SERVER (oshrun --memory-per-server)");
  };
  if (const std::size_t available = available_memory(); bytes > available)
    return refuse("the host has " + human_bytes(available) + " left");
  std::byte* base = pages::reserve_aligned(bytes, kHugePage);
  if (base == nullptr) return refuse(std::strerror(errno));
  if (mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0) return refuse(std::strerror(errno));
  madvise(base, bytes, MADV_HUGEPAGE);
  madvise(base, bytes, MADV_DONTDUMP);
  if (madvise(base, bytes, MADV_POPULATE_WRITE) != 0) return refuse(std::strerror(errno));
  return LentMemory(base, bytes);
}

LentMemory::LentMemory(LentMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

LentMemory& LentMemory::operator=(LentMemory&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

LentMemory::~LentMemory() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

void LentMemory::clear(std::size_t offset, std::size_t n, bool pinned) const {
  if (pinned || madvise(base_ + offset, n, MADV_DONTNEED) != 0) std::memset(base_ + offset, 0, n);
}

Lender::Lender(LentMemory memory, int pes)
    : memory_(std::move(memory)), leases_(memory_.bytes()), finished_(static_cast<std::size_t>(pes)) {}

// Here alone is decided who gets something of this server.
void Lender::receive(int from, std::uint16_t id, const std::byte* message, std::size_t n) {
  const auto pes = static_cast<int>(finished_.size());
  check_message(from, "a request", wrong_with_request(from, id, message, n, pes, leases_));
  switch (static_cast<LendMessage>(id)) {
    case LendMessage::lease: return lend(from, message_at<LeaseRequest>(message));
    case LendMessage::give_back: {
      const auto back = message_at<GiveBack>(message);
      return take_back(from, {back.offset, back.bytes});
    }
    case LendMessage::finish: return finish(from, message_at<FinishRequest>(message));
    case LendMessage::page:
      return send(from, LendMessage::ready, PageReady{message_at<PageRequest>(message).number});
    default: return;  // refused above
  }
}

void Lender::lend(int pe, const LeaseRequest& request) {
  const std::optional<std::uint64_t> offset = leases_.lend(pe, request.bytes);
  answer(pe, {request.number, offset.value_or(0), leases_.free(), offset.has_value()});
}

template <class Message>
void Lender::send(int pe, LendMessage id, const Message& message) {
  channel_->ops->send(channel_, pe, static_cast<std::uint16_t>(id), &message, sizeof message);
}

void Lender::answer(int pe, const LendAnswer& answer) { send(pe, LendMessage::answer, answer); }

// What the next PE gets reads as zeros.
void Lender::take_back(int pe, const Leases::Range& range) {
  leases_.take_back(pe, range);
  memory_.clear(range.offset, range.bytes, pinned_);
}

void Lender::finish(int pe, const FinishRequest& request) {
  for (const Leases::Range& range : leases_.take_back_all(pe))
    memory_.clear(range.offset, range.bytes, pinned_);
  finished_[static_cast<std::size_t>(pe)] = true;
  answer(pe, {request.number, 0, leases_.free(), 1});
}

bool Lender::take_finish() {
  if (std::ranges::find(finished_, false) != finished_.end()) return false;
  finished_.assign(finished_.size(), false);
  return true;
}

}  // namespace shm::remote

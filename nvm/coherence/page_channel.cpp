// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/page_channel.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"

namespace shm::nvm {

PageBuffer make_page_buffer(std::size_t n) {
  PageBuffer buffer = aligned_buffer(n);
  if (buffer == nullptr) fatal("out of memory: %zu bytes for a page of the NVM heap", n);
  return buffer;
}

void PageChannel::send(Delivery delivery) {
  const int home = pool_.pe_of(delivery.page);
  const bool to_home = part_for(delivery.message.kind) == Part::home;
  const int pe = to_home ? home : nodes_.caching_pe(home, delivery.message.to);
  if (pe == me_) return local_.push_back(std::move(delivery));
  const PageMessage head{delivery.page, delivery.message, 0, 0};
  if (delivery.operation != nullptr) return send_operation(pe, head, *delivery.operation);
  if (!delivery.message.data) return wire_.send(pe, reinterpret_cast<const std::byte*>(&head), sizeof head);
  if (to_home) return send_home(pe, head, pool_.bytes(delivery.frame));
  put_page(pe, std::move(delivery));
}

void PageChannel::put_page(int pe, Delivery delivery) {
  Sending& sending = sending_.emplace_back();
  sending.pe = pe;
  sending.delivery = std::move(delivery);
  const Delivery& sent = sending.delivery;
  const std::byte* page = sent.buffer != nullptr ? sent.buffer.get() : pool_.bytes(sent.frame);
  wire_.put(pe, sent.message.tag, page, pool_.shape().page_bytes, sending.done);
}

bool PageChannel::next_sent(Delivery& sent) {
  const auto found = std::ranges::find_if(sending_, [](const Sending& one) { return one.done.done(); });
  if (found == sending_.end()) return false;
  const PageMessage head{found->delivery.page, found->delivery.message, 0, 0};
  wire_.send(found->pe, reinterpret_cast<const std::byte*>(&head), sizeof head);
  sent = std::move(found->delivery);
  sending_.erase(found);
  return true;
}

bool PageChannel::drive() {
  if (sending_.empty()) return false;
  wire_.drive();
  return true;
}

void PageChannel::send_home(int pe, PageMessage head, const std::byte* page) {
  std::byte message[sizeof head + kLargestPiece];
  const std::size_t page_bytes = pool_.shape().page_bytes;
  for (std::size_t at = 0; at < page_bytes; at += head.n) {
    head.offset = static_cast<std::uint32_t>(at);
    head.n = static_cast<std::uint32_t>(std::min(kLargestPiece, page_bytes - at));
    std::memcpy(message, &head, sizeof head);
    std::memcpy(message + sizeof head, page + at, head.n);
    wire_.send(pe, message, sizeof head + head.n);
  }
}

void PageChannel::send_operation(int pe, const PageMessage& head, const Foreign& operation) {
  std::byte message[kMaxMessage];
  std::memcpy(message, &head, sizeof head);
  std::memcpy(message + sizeof head, operation.message.data(), operation.message.size());
  wire_.send(pe, message, sizeof head + operation.message.size());
}

bool PageChannel::receive(const std::byte* message, std::size_t n) {
  PageMessage head;
  std::memcpy(&head, message, sizeof head);
  Delivery delivery{.page = head.page, .message = head.message};
  if (head.n != 0) {
    if (!take_piece(head, message + sizeof head, delivery)) return false;
  } else if (n > sizeof head) {
    delivery.operation = std::make_unique<Foreign>(Foreign{{message + sizeof head, message + n}});
  }
  const LockGuard guard(mutex_);
  arrived_.push_back(std::move(delivery));
  return true;
}

// Returns whether the page is complete.
bool PageChannel::take_piece(const PageMessage& head, const std::byte* piece, Delivery& delivery) {
  const std::size_t page_bytes = pool_.shape().page_bytes;
  // The home waits for one copy of a page at a time.
  const LockGuard guard(mutex_);
  Arriving& arriving = arriving_[head.page];
  if (arriving.buffer == nullptr) arriving.buffer = make_page_buffer(page_bytes);
  std::memcpy(arriving.buffer.get() + head.offset, piece, head.n);
  arriving.n += head.n;
  if (arriving.n < page_bytes) return false;
  delivery.buffer = std::move(arriving.buffer);
  arriving_.erase(head.page);
  return true;
}

void PageChannel::hand(const std::byte* operation, std::size_t n) {
  Delivery delivery;
  delivery.operation = std::make_unique<Foreign>(Foreign{{operation, operation + n}});
  const Operation& head = delivery.operation->head();
  delivery.page = head.page;
  delivery.message.kind = access_of(head) == Access::read ? Event::ask_get : Event::ask_put;
  delivery.message.from = delivery.message.requester = nodes_.node_of(head.pe);
  delivery.message.to = nodes_.here;
  const LockGuard guard(mutex_);
  arrived_.push_back(std::move(delivery));
}

bool PageChannel::next(Delivery& delivery) {
  if (local_.empty()) {
    const LockGuard guard(mutex_);
    local_.swap(arrived_);
  }
  if (local_.empty()) return false;
  delivery = std::move(local_.front());
  local_.pop_front();
  return true;
}

bool PageChannel::empty() {
  const LockGuard guard(mutex_);
  return local_.empty() && arrived_.empty();
}

}  // namespace shm::nvm

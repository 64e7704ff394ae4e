// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/page_channel.hpp"

#include <algorithm>
#include <cstring>

namespace shm::nvm {

void PageChannel::send(Delivery delivery) {
  const int home = pool_.pe_of(delivery.page);
  const bool to_home = part_for(delivery.message.kind) == Part::home;
  const int pe = to_home ? home : nodes_.caching_pe(home, delivery.message.to);
  if (pe == me_) return local_.push_back(std::move(delivery));
  PageMessage head{delivery.page, delivery.message, 0, 0, 0};
  if (delivery.operation != nullptr) return add(pe, head, delivery.operation.get());
  if (delivery.message.data && !to_home) return put_page(pe, std::move(delivery));
  if (delivery.message.data) {
    head.frame = pool_.offset(delivery.frame);
    head.given_up = delivery.frees ? 1 : 0;
    if (delivery.frees) to_be_fetched_.emplace(delivery.frame, delivery.page);
  }
  add(pe, head);
}

void PageChannel::add(int pe, PageMessage head, const Foreign* operation) {
  if (operation != nullptr) head.n = static_cast<std::uint32_t>(operation->message.size());
  Packet& packet = packet_for(packets_, pe);
  if (packet.bytes.size() + sizeof head + head.n > kMaxMessage) leave(packet);
  const auto* bytes = reinterpret_cast<const std::byte*>(&head);
  packet.bytes.insert(packet.bytes.end(), bytes, bytes + sizeof head);
  if (operation == nullptr) return;
  packet.bytes.insert(packet.bytes.end(), operation->message.begin(), operation->message.end());
}

PageChannel::Packet& PageChannel::packet_for(std::vector<Packet>& packets, int pe) {
  const auto found = std::ranges::find(packets, pe, &Packet::pe);
  return found != packets.end() ? *found : packets.emplace_back(Packet{pe, {}});
}

void PageChannel::leave(Packet& packet) {
  wire_.send(packet.pe, packet.bytes.data(), packet.bytes.size());
  packet.bytes.clear();
}

bool PageChannel::fetched(PageNumber page, FrameNumber frame) {
  const auto found = to_be_fetched_.find(frame);
  if (found == to_be_fetched_.end() || found->second != page) return false;
  to_be_fetched_.erase(found);
  return true;
}

void PageChannel::answer(int pe, const std::byte* answer, std::size_t n) {
  Packet& packet = packet_for(answers_, pe);
  if (packet.bytes.size() + n > kMaxMessage) leave_answers(packet);
  packet.bytes.insert(packet.bytes.end(), answer, answer + n);
}

void PageChannel::leave_answers(Packet& packet) {
  wire_.answer(packet.pe, packet.bytes.data(), packet.bytes.size());
  packet.bytes.clear();
}

void PageChannel::flush() {
  for (Packet& packet : answers_) {
    if (!packet.bytes.empty()) leave_answers(packet);
  }
  for (Packet& packet : packets_) {
    if (!packet.bytes.empty()) leave(packet);
  }
}

PageChannel::Move& PageChannel::begin_move(int pe, bool fetched, Delivery delivery) {
  Move& move = moving_.emplace_back();
  Completion* const shown = arrivals_.begin();
  move.done = shown != nullptr ? shown : &move.own;
  move.pe = pe;
  move.fetched = fetched;
  move.delivery = std::move(delivery);
  return move;
}

void PageChannel::end_move(std::list<Move>::iterator move) {
  arrivals_.end(move->done);
  moving_.erase(move);
}

void PageChannel::put_page(int pe, Delivery delivery) {
  flush();
  Move& move = begin_move(pe, false, std::move(delivery));
  const Delivery& sent = move.delivery;
  const std::byte* page = sent.buffer != nullptr ? sent.buffer.get() : pool_.bytes(sent.frame);
  wire_.put(pe, sent.message.tag, page, pool_.shape().page_bytes, *move.done);
  if (wire_.messages_follow_puts()) {
    tell(move);
    leave(packet_for(packets_, pe));
    move.told = true;
  }
}

void PageChannel::tell(const Move& move) {
  add(move.pe, {move.delivery.page, move.delivery.message, 0, 0, 0});
}

void PageChannel::fetch(Delivery delivery) {
  flush();
  const int pe = nodes_.caching_pe(me_, delivery.message.from);
  Move& move = begin_move(pe, true, std::move(delivery));
  wire_.get(pe, move.delivery.away_at, move.delivery.buffer.get(), pool_.shape().page_bytes, *move.done);
}

bool PageChannel::next_sent(Delivery& sent) {
  const auto found = next_moved(false);
  if (found == moving_.end()) return false;
  if (!found->told) tell(*found);
  sent = std::move(found->delivery);
  end_move(found);
  return true;
}

bool PageChannel::next_fetched(Delivery& fetched) {
  const auto found = next_moved(true);
  if (found == moving_.end()) return false;
  fetched = std::move(found->delivery);
  fetched.away = false;
  if (fetched.given_up) {
    PageMessage told{fetched.page, {.kind = Event::fetched, .from = nodes_.here}, 0, 0, 0};
    told.message.to = fetched.message.from;
    told.message.tag = fetched.away_at;
    add(found->pe, told);
  }
  end_move(found);
  return true;
}

std::list<PageChannel::Move>::iterator PageChannel::next_moved(bool fetched) {
  return std::ranges::find_if(moving_,
                              [&](const Move& move) { return move.fetched == fetched && move.done->done(); });
}

bool PageChannel::any_untold() const {
  return std::ranges::any_of(moving_, [](const Move& move) { return !move.fetched && !move.told; });
}

bool PageChannel::any_moved() const {
  return std::ranges::any_of(moving_, [](const Move& move) { return move.done->done(); });
}

bool PageChannel::sends_from(FrameNumber frame) const {
  return std::ranges::any_of(moving_, [frame](const Move& move) { return move.delivery.frame == frame; });
}

void PageChannel::receive(const std::byte* packet, std::size_t n) {
  const LockGuard guard(mutex_);
  for (const std::byte* const end = packet + n; packet != end;) {
    PageMessage head;
    std::memcpy(&head, packet, sizeof head);
    packet += sizeof head;
    Delivery& delivery = arrived_.emplace_back();
    delivery.page = head.page;
    delivery.message = head.message;
    if (head.message.data && part_for(head.message.kind) == Part::home) {
      delivery.away = true;
      delivery.given_up = head.given_up != 0;
      delivery.away_at = head.frame;
    }
    if (head.n != 0) delivery.operation = std::make_unique<Foreign>(Foreign{{packet, packet + head.n}});
    packet += head.n;
  }
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
  if (handed_[head.pe]++ == 0) any_handed_.fetch_add(1, std::memory_order_relaxed);
  arrived_.push_back(std::move(delivery));
}

void PageChannel::executed(int pe) {
  const LockGuard guard(mutex_);
  const auto found = handed_.find(pe);
  if (--found->second != 0) return;
  handed_.erase(found);
  any_handed_.fetch_sub(1, std::memory_order_release);
}

bool PageChannel::any_handed(int pe) {
  if (any_handed_.load(std::memory_order_acquire) == 0) return false;
  const LockGuard guard(mutex_);
  return handed_.contains(pe);
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

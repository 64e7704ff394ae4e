// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/gathering.hpp"

#include <cstring>
#include <utility>

#include "base/stats.hpp"

namespace shm::nvm {
namespace {

constexpr std::size_t kSmallest = sizeof(Operation);  // of a record

}  // namespace

void Gathering::add(int pe, const Operation& operation, const std::byte* data) {
  const std::size_t n = record_bytes(operation);
  Target& to = target(pe);
  Message leaves;
  bool sends, opens = false;
  {
    const LockGuard guard(to.lock);
    if (to.open.size() + n > kMaxMessage) close(to, Stat::page_full_packets);
    if (to.gathered++ == 0) {
      to.opened = ticks_.load(std::memory_order_relaxed);
      to.open.swap(to.spare);
      to.open.clear();
      open_.fetch_add(1, std::memory_order_seq_cst);
      opens = true;
    }
    const std::size_t at = to.open.size();
    to.open.resize(at + n);
    std::memcpy(to.open.data() + at, &operation, sizeof operation);
    if (data != nullptr) std::memcpy(to.open.data() + at + sizeof operation, data, operation.n);
    if (!shares_ || to.under_way.load(std::memory_order_relaxed) == 0) {
      close(to);
      opens = false;
    } else if (to.open.size() + kSmallest > kMaxMessage) {
      close(to, Stat::page_full_packets);
      opens = false;
    }
    sends = begin(to, leaves);
  }
  if (sends) transmit(pe, to, std::move(leaves));
  if (opens) outlet_.hold();
}

// REQUIRES: something is open.
void Gathering::close(Target& of) {
  of.under_way.fetch_add(std::exchange(of.gathered, 0), std::memory_order_relaxed);
  of.closed.push_back(std::move(of.open));
  of.open = {};
  open_.fetch_sub(1, std::memory_order_relaxed);
}

void Gathering::close(Target& of, Stat why) {
  count(why);
  close(of);
}

// Returns whether there is a message to be sent and nobody sends: then the caller does.
bool Gathering::begin(Target& to, Message& message) {
  if (to.sending || to.closed.empty()) return false;
  to.sending = true;
  message = std::move(to.closed.front());
  to.closed.pop_front();
  return true;
}

// What is closed meanwhile is sent, too.
void Gathering::transmit(int pe, Target& to, Message message) {
  for (bool more = true; more;) {
    outlet_.send_operations(pe, message.data(), message.size());
    count(Stat::page_packets);
    const LockGuard guard(to.lock);
    if (to.spare.capacity() == 0) to.spare = std::move(message);
    to.sending = false;
    more = begin(to, message);
  }
}

void Gathering::answered(int pe, std::uint32_t operations) {
  Target& from = target(pe);
  Message leaves;
  bool sends;
  {
    const LockGuard guard(from.lock);
    const std::uint32_t left = from.under_way.load(std::memory_order_relaxed) - operations;
    from.under_way.store(left, std::memory_order_relaxed);
    if (left == 0 && from.gathered != 0) close(from, Stat::page_answered_packets);
    sends = begin(from, leaves);
  }
  if (sends) transmit(pe, from, std::move(leaves));
}

template <class Which>
void Gathering::close_and_send(Stat why, Which which) {
  for (std::size_t pe = 0; pe < targets_.size() && holds(); ++pe) {
    Target& to = targets_[pe];
    Message leaves;
    bool sends;
    {
      const LockGuard guard(to.lock);
      if (to.gathered != 0 && which(to.opened)) close(to, why);
      sends = begin(to, leaves);
    }
    if (sends) transmit(static_cast<int>(pe), to, std::move(leaves));
  }
}

void Gathering::flush() {
  close_and_send(Stat::page_wanted_packets, [](std::uint32_t) { return true; });
}

bool Gathering::tick() {
  const std::uint32_t now = ticks_.fetch_add(1, std::memory_order_relaxed) + 1;
  close_and_send(Stat::page_old_packets, [now](std::uint32_t opened) { return now - opened >= 2; });
  return holds();
}

}  // namespace shm::nvm

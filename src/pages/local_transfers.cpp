// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_transfers.hpp"

#include <algorithm>

namespace shm::pages {
namespace {

using Clock = std::chrono::steady_clock;

// Polls in a row that brought nothing.
constexpr unsigned kPollsBeforeLook = 64, kPollsBeforeTelling = 128;

}  // namespace

LocalTransfers::LocalTransfers(Backing& backing, Finisher& finisher, const Limits& limits)
    : backing_(backing),
      finisher_(finisher),
      first_{0, limits.calls, limits.calls + limits.ahead, limits.calls + limits.ahead + limits.cleanings},
      transits_(std::make_unique<Transit[]>(first_[kKinds])),
      waits_(static_cast<Poller&>(*this)) {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (unsigned i = first_[kind]; i < first_[kind + 1]; ++i) transits_[i].kind_ = static_cast<Kind>(kind);
  }
}

LocalTransfers::Transit* LocalTransfers::take(Kind kind) {
  const auto k = static_cast<std::size_t>(kind);
  for (unsigned i = first_[k]; i < first_[k + 1]; ++i) {
    Transit& transit = transits_[i];
    Transit::State free = Transit::kFree;
    if (transit.state_.compare_exchange_strong(free, Transit::kTaken, std::memory_order_acq_rel))
      return &transit;
  }
  return nullptr;
}

template <class Is>
bool LocalTransfers::any(Kind kind, Is is) const {
  const auto k = static_cast<std::size_t>(kind);
  return std::any_of(
      transits_.get() + first_[k], transits_.get() + first_[k + 1],
      [&](const Transit& transit) { return is(transit.state_.load(std::memory_order_acquire)); });
}

bool LocalTransfers::any_taken(Kind kind) const {
  return any(kind, [](Transit::State state) { return state != Transit::kFree; });
}

bool LocalTransfers::any_free(Kind kind) const {
  return any(kind, [](Transit::State state) { return state == Transit::kFree; });
}

void LocalTransfers::read(Transit& transit, std::size_t within, std::byte* into, std::size_t n) {
  transit.done_.reset();
  backing_.read(transit.page, within, into, n, transit.done_);
  begun(transit);
}

void LocalTransfers::write(Transit& transit, std::size_t within, const std::byte* from, std::size_t n) {
  transit.done_.reset();
  backing_.write(transit.page, within, from, n, transit.done_);
  begun(transit);
}

void LocalTransfers::begun(Transit& transit) {
  const std::chrono::nanoseconds now = Clock::now().time_since_epoch();
  transit.since_.store(now.count(), std::memory_order_relaxed);
  transit.state_.store(Transit::kUnderWay, std::memory_order_release);
}

void LocalTransfers::wait(const Transit& transit) {
  const auto done = [&transit] { return transit.done_.done(); };
  waits_.wait_until(&transit, Asked(done));
}

bool LocalTransfers::poll(WaitWatch& watch) {
  const bool moved = backing_.poll(), ended = serve();
  if (moved || ended) {
    idle_polls_ = 0;
    return true;
  }
  ++idle_polls_;
  if (idle_polls_ % kPollsBeforeLook == 0) {
    // A page may have become one that can leave because a latch was let go, which nobody announces.
    waits_.wake_one(this->ended());
    waits_.wake(given());
  }
  if (idle_polls_ % kPollsBeforeTelling == 0) tell_of_waits(watch);
  return false;
}

// Those that have ended.  Nobody else does this meanwhile.
bool LocalTransfers::serve() {
  bool any = false;
  for (unsigned i = 0; i < first_[kKinds]; ++i) {
    Transit& transit = transits_[i];
    if (transit.state_.load(std::memory_order_acquire) != Transit::kUnderWay || !transit.done_.done())
      continue;
    if (transit.kind_ == Kind::call) {
      waits_.wake(&transit);
      continue;
    }
    finisher_.finish(transit.kind_, transit);
    give(transit);
    waits_.wake_one(ended());
    waits_.wake(given());
    any = true;
  }
  return any;
}

void LocalTransfers::tell_of_waits(WaitWatch& watch) {
  for (unsigned i = 0; i < first_[kKinds]; ++i) {
    const Transit& transit = transits_[i];
    if (transit.state_.load(std::memory_order_acquire) != Transit::kUnderWay) continue;
    const std::chrono::nanoseconds since(transit.since_.load(std::memory_order_relaxed));
    backing_.waits(Clock::time_point(std::chrono::duration_cast<Clock::duration>(since)), watch);
  }
}

}  // namespace shm::pages

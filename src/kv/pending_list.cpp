// SPDX-License-Identifier: BSD-3-Clause
#include "kv/pending_list.hpp"

#include <algorithm>
#include <utility>

#include "base/stats.hpp"
#include "boot/boot.hpp"
#include "core/progress.hpp"
#include "core/runtime.hpp"
#include "kv/matched.hpp"
#include "transports/registry.hpp"

namespace shm::kv {
namespace {

PendingList* of_this_process = nullptr;  // of who is in a collective call

}  // namespace

struct PendingList::NewElement : TaggedReceive {
  std::unique_ptr<std::byte[]> bytes;
};

PendingList::PendingList(std::unique_ptr<Matcher> matcher)
    : room_(rt.env.kv_pending), matcher_(std::move(matcher)) {}

PendingList::~PendingList() {
  if (rt.progress == nullptr) return;
  Progress::remove_poller(poll_one, this);
  rt.progress->remove_source(matcher_.get());
}

shm::Result<PendingList*> PendingList::open() {
  if (of_this_process != nullptr) {
    ++of_this_process->users_;
    return of_this_process;
  }
  const MatcherOptions options{.provider = rt.env.provider,
                               .interface = rt.env.interface,
                               .one_host = rt.boot->job().one_host,
                               .receives = rt.env.kv_pending + kAwaited,
                               .reports_unmatched = false};
  shm::Result<std::unique_ptr<Matcher>> matcher = make_matcher(options);
  if (!matcher.ok()) return matcher.status();
  return of_this_process = new PendingList(std::move(matcher.value()));
}

void PendingList::close() {
  if (--users_ == 0) delete std::exchange(of_this_process, nullptr);
}

shm::Status PendingList::connect(const Matcher::AddressLookup& lookup) {
  if (is_connected_) return {};
  shm::Result<int> first = connect_to(lookup);
  if (!first.ok()) return first.status();
  is_connected_ = true;
  start();
  return {};
}

shm::Result<int> PendingList::connect_to(const Matcher::AddressLookup& lookup) {
  return matcher_->connect(static_cast<int>(rt.npes), lookup);
}

// Who sends already finds it: what comes earlier waits in the network.
void PendingList::start() {
  most_awaited_ = matcher_->most_receives() - std::min(matcher_->most_receives(), room_.size());
  {
    const LockGuard guard(mutex_);
    for (NewElement& receive : room_) {
      receive.bytes = std::make_unique_for_overwrite<std::byte[]>(kMostRoom);
      receive.tag = kAddition;
      receive.ignore = ~kClassBits;
      receive.room = receive.bytes.get();
      receive.room_bytes = kMostRoom;
      post(receive);
    }
  }
  Progress::add_poller(poll_one, this);
  const auto may_block = [](void* matcher) { return static_cast<Matcher*>(matcher)->may_block(); };
  rt.progress->add_source({matcher_->wait_fd(), may_block, matcher_.get(), kLongestMatchSleep});
}

void PendingList::add(std::uint32_t table, MatchedEngine& engine) {
  const LockGuard guard(mutex_);
  served_.push_back({table, &engine});
}

void PendingList::remove(std::uint32_t table) {
  const LockGuard guard(mutex_);
  std::erase_if(served_, [table](const Served& served) { return served.table == table; });
}

bool PendingList::await(AwaitedReply& awaited) {
  if (awaited_.fetch_add(1, std::memory_order_acquire) < most_awaited_ && matcher_->post(awaited))
    return true;
  awaited_.fetch_sub(1, std::memory_order_release);
  return false;
}

void PendingList::post(NewElement& receive) {
  if (!matcher_->post(receive)) not_posted_.push_back(&receive);
}

bool PendingList::post_again() {
  const std::size_t before = not_posted_.size();
  while (!not_posted_.empty() && matcher_->post(*not_posted_.back())) not_posted_.pop_back();
  return not_posted_.size() != before;
}

void PendingList::take_new(const std::byte* message, std::size_t n) {
  count(Stat::kv_added);
  const std::uint32_t table = table_of_match(message, n);
  const auto served = std::ranges::find(served_, table, &Served::table);
  if (served == served_.end()) [[unlikely]]
    refuse_message(sender_of_match(message, n, rt.npes), kMatchRequest, "of no table");
  served->engine->take_new(message, n);
}

void PendingList::take(const Arrival& arrival) {
  if ((arrival.receive->tag & kClassBits) != kReply) {
    take_new(arrival.bytes, arrival.n);
    post(static_cast<NewElement&>(*arrival.receive));
    return;
  }
  auto& awaited = static_cast<AwaitedReply&>(*arrival.receive);
  take_match_reply(arrival.bytes, arrival.n, awaited.reply);
  awaited.left.store(0, std::memory_order_release);
}

bool PendingList::poll() {
  if (!mutex_.try_lock()) return false;
  const LockGuard guard(mutex_, std::adopt_lock);
  bool worked = post_again();
  worked |= matcher_->poll([this](const Arrival& arrival) REQUIRES(mutex_) { take(arrival); });
  return worked;
}

}  // namespace shm::kv

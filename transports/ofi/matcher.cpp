// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/matcher.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "ofi/fabric.hpp"

namespace shm {
namespace ofi {
namespace {

static_assert(sizeof(fi_context2) <= sizeof(TaggedReceive::provider));

void* context_of(TaggedReceive& receive) { return receive.provider; }
TaggedReceive* receive_of(void* context) {
  return reinterpret_cast<TaggedReceive*>(static_cast<std::byte*>(context) -
                                          offsetof(TaggedReceive, provider));
}

}  // namespace

TaggedMatcher::TaggedMatcher(std::unique_ptr<Endpoint> endpoint, bool reports_unmatched)
    : endpoint_(std::move(endpoint)),
      reports_unmatched_(reports_unmatched),
      most_receives_(endpoint_->info().rx_attr->size - kSpareReceives),
      unmatched_(kMostMatched) {}

// Receives may go when this has ended.
TaggedMatcher::~TaggedMatcher() { endpoint_->stop(); }

std::string TaggedMatcher::describe() const {
  return "libfabric " + endpoint_->provider() + ", " + std::to_string(most_receives_) + " tagged receives";
}

// The cookie, and the endpoint's address.
Result<std::vector<std::byte>> TaggedMatcher::address() {
  Result<std::vector<std::byte>> address = endpoint_->address();
  if (!address.ok()) return address;
  std::vector<std::byte> bytes = std::move(address.value());
  const auto* cookie = reinterpret_cast<const std::byte*>(&cookie_);
  bytes.insert(bytes.begin(), cookie, cookie + sizeof cookie_);
  return bytes;
}

Result<int> TaggedMatcher::connect(int npes, const AddressLookup& lookup) {
  const LockGuard guard(lock_);
  const auto first = static_cast<int>(peers_.size());
  for (int pe = 0; pe < npes; ++pe) {
    Peer peer;
    peer.pe = pe;
    const std::span<const std::byte> told = lookup(pe);
    if (told.size() <= sizeof peer.cookie)
      return Status::error("libfabric: the address of PE " + std::to_string(pe) + " is too short");
    std::memcpy(&peer.cookie, told.data(), sizeof peer.cookie);
    if (Status status = endpoint_->insert(told.subspan(sizeof peer.cookie), &peer.address); !status.ok())
      return Status::error("libfabric: the address of PE " + std::to_string(pe) + " " + status.text());
    peers_.push_back(peer);
  }
  return first;
}

bool TaggedMatcher::post(TaggedReceive& receive) {
  const LockGuard guard(lock_);
  if (posted_ == most_receives_) return false;
  receive.withdrawn = false;
  if (post_at_provider(receive) == -FI_EAGAIN) return false;
  ++posted_;
  return true;
}

bool TaggedMatcher::is_ours(std::size_t bytes, std::uint64_t cookie) const {
  return bytes >= sizeof cookie_ && cookie == cookie_;
}

// 0, or -FI_EAGAIN.
long TaggedMatcher::post_at_provider(TaggedReceive& receive) {
  const iovec rooms[2] = {{&receive.cookie, sizeof receive.cookie}, {receive.room, receive.room_bytes}};
  const auto code = fi_trecvv(endpoint_->ep(), rooms, nullptr, 2, FI_ADDR_UNSPEC, receive.tag, receive.ignore,
                              context_of(receive));
  if (code != 0 && code != -FI_EAGAIN) fatal("libfabric: fi_trecvv: %s", endpoint_->library().error(code));
  return code;
}

// No PE of the job has sent it.
void TaggedMatcher::refuse() {
  count(Stat::refused_messages);
  ++refusals_;
}

// Nor what matched this one, whose place is kept.
void TaggedMatcher::refuse(TaggedReceive& receive) {
  refuse();
  (receive.withdrawn ? withdrawn_ : refused_).push_back(&receive);
}

void TaggedMatcher::post_refused() {
  std::erase_if(refused_,
                [&](TaggedReceive* receive) REQUIRES(lock_) { return post_at_provider(*receive) == 0; });
}

bool TaggedMatcher::has_room() {
  const LockGuard guard(lock_);
  return posted_ < most_receives_;
}

// Not found: matched, and its completion is in the queue.
void TaggedMatcher::cancel(TaggedReceive& receive) {
  const LockGuard guard(lock_);
  receive.withdrawn = true;
  if (std::erase(refused_, &receive) != 0) return withdrawn_.push_back(&receive);
  fi_cancel(&endpoint_->ep()->fid, context_of(receive));
}

bool TaggedMatcher::inject(int list, std::uint64_t tag, const void* bytes, std::size_t n) {
  const Peer& peer = peers_[static_cast<std::size_t>(list)];
  std::byte message[sizeof peer.cookie + kMostMatched];
  std::memcpy(message, &peer.cookie, sizeof peer.cookie);
  if (n != 0) std::memcpy(message + sizeof peer.cookie, bytes, n);
  const auto code = fi_tinject(endpoint_->ep(), message, sizeof peer.cookie + n, peer.address, tag);
  if (code == 0) return true;
  if (code != -FI_EAGAIN)
    lost_peer("libfabric: fi_tinject of %zu bytes to PE %d: %s", n, peer.pe,
              endpoint_->library().error(code));
  return false;
}

void TaggedMatcher::send(int list, std::uint64_t tag, const void* bytes, std::size_t n) {
  const LockGuard guard(lock_);
  if (unsent_.empty() && inject(list, tag, bytes, n)) return;
  const auto* first = static_cast<const std::byte*>(bytes);
  unsent_.push_back({list, tag, {first, first + n}});
}

// A list that is still being connected to holds up no other.
void TaggedMatcher::send_held_back() {
  std::vector<int> refused;
  std::erase_if(unsent_, [&](const Unsent& one) REQUIRES(lock_) {
    if (std::ranges::find(refused, one.list) != refused.end()) return false;
    const bool sent = inject(one.list, one.tag, one.bytes.data(), one.bytes.size());
    if (!sent) refused.push_back(one.list);
    return sent;
  });
}

// Asks for a message that no receive fits; the answer comes in the queue.
void TaggedMatcher::peek() {
  if (!reports_unmatched_ || peek_ != Peek::none) return;
  fi_msg_tagged message{};
  message.addr = FI_ADDR_UNSPEC;
  message.ignore = ~std::uint64_t{0};
  message.context = &peek_context_;
  const auto code = fi_trecvmsg(endpoint_->ep(), &message, FI_PEEK | FI_CLAIM);
  if (code == -FI_EAGAIN) return;
  if (code != 0) fatal("libfabric: fi_trecvmsg(FI_PEEK): %s", endpoint_->library().error(code));
  peek_ = Peek::asked;
}

void TaggedMatcher::claim(std::uint64_t tag) {
  const iovec rooms[2] = {{&unmatched_cookie_, sizeof unmatched_cookie_},
                          {unmatched_.data(), unmatched_.size()}};
  fi_msg_tagged message{};
  message.msg_iov = rooms;
  message.iov_count = 2;
  message.addr = FI_ADDR_UNSPEC;
  message.tag = tag;
  message.context = &peek_context_;
  const auto code = fi_trecvmsg(endpoint_->ep(), &message, FI_CLAIM);
  if (code != 0) fatal("libfabric: fi_trecvmsg(FI_CLAIM): %s", endpoint_->library().error(code));
  peek_ = Peek::claimed;
}

bool TaggedMatcher::take_error(Arrival& arrival) {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(endpoint_->cq(), &error, 0) != 1) return false;
  if (error.op_context == &peek_context_ && error.err == FI_ENOMSG) {
    peek_ = Peek::none;
    return false;
  }
  // A packet that rxm does not know.
  if (error.op_context == nullptr && error.err == FI_EINVAL) {
    refuse();
    return false;
  }
  if (error.op_context == nullptr || (error.err != FI_ECANCELED && error.err != FI_ETRUNC))
    lost_peer("libfabric %s: a tagged message was lost: %s", endpoint_->provider().c_str(),
              endpoint_->library().error(error.err));
  // No PE sends more than a receive takes, or what waits to be fetched.
  if (error.op_context == &peek_context_) {
    peek_ = Peek::none;
    refuse();
    return false;
  }
  if (error.err == FI_ETRUNC || !receive_of(error.op_context)->withdrawn) {
    refuse(*receive_of(error.op_context));
    return false;
  }
  --posted_;
  arrival = {Arrival::cancelled, receive_of(error.op_context), nullptr, 0};
  return true;
}

// Returns whether there is something to report.
bool TaggedMatcher::take(const fi_cq_tagged_entry& entry, Arrival& arrival) {
  if (entry.op_context != &peek_context_) {
    TaggedReceive* receive = receive_of(entry.op_context);
    if (!is_ours(entry.len, receive->cookie)) {
      refuse(*receive);
      return false;
    }
    --posted_;
    arrival = {Arrival::matched, receive, receive->room, entry.len - sizeof cookie_};
    return true;
  }
  if (peek_ == Peek::asked) {
    claim(entry.tag);
    return false;
  }
  peek_ = Peek::none;
  if (!is_ours(entry.len, unmatched_cookie_)) {
    refuse();
    return false;
  }
  arrival = {Arrival::unmatched, nullptr, unmatched_.data(), entry.len - sizeof cookie_};
  return true;
}

// At most one of what it returns is unmatched.
std::size_t TaggedMatcher::reap(Arrival (&arrivals)[kAtOnce]) {
  std::size_t n = 0;
  for (; n < kAtOnce && !withdrawn_.empty(); ++n, withdrawn_.pop_back()) {
    --posted_;
    arrivals[n] = {Arrival::cancelled, withdrawn_.back(), nullptr, 0};
  }
  while (n < kAtOnce) {
    fi_cq_tagged_entry entry;
    const auto code = fi_cq_read(endpoint_->cq(), &entry, 1);
    if (code == -FI_EAGAIN) break;
    if (code == -FI_EAVAIL) {
      if (take_error(arrivals[n])) {
        ++n;
      } else if (peek_ == Peek::none) {
        break;  // nothing to peek at: that was the last entry
      }
    } else if (code < 0) {
      fatal("libfabric: fi_cq_read: %s", endpoint_->library().error(code));
    } else {
      n += take(entry, arrivals[n]) ? 1 : 0;
    }
  }
  return n;
}

bool TaggedMatcher::poll(const ArrivalSink& sink) {
  if (!poller_.try_lock()) return false;
  const LockGuard polling(poller_, std::adopt_lock);
  Arrival arrivals[kAtOnce];
  std::size_t n;
  bool worked;
  {
    const LockGuard guard(lock_);
    if (!unsent_.empty()) send_held_back();
    if (!refused_.empty()) post_refused();
    const std::uint64_t refused = refusals_;
    peek();
    n = reap(arrivals);
    // Behind one that was refused there may be others, of which no descriptor tells.
    worked = n != 0 || peek_ == Peek::claimed || waits_for_poll() || refusals_ != refused;
  }
  for (std::size_t i = 0; i < n; ++i) sink(arrivals[i]);
  return worked;
}

bool TaggedMatcher::may_block() {
  const LockGuard guard(lock_);
  return peek_ != Peek::claimed && !waits_for_poll() && endpoint_->may_sleep();
}

}  // namespace ofi

Result<std::unique_ptr<Matcher>> open_tagged(const MatcherOptions& options) {
  Result<std::unique_ptr<ofi::Endpoint>> endpoint =
      ofi::Endpoint::open({.provider = options.provider,
                           .loopback_only = options.one_host,
                           .interface = options.interface,
                           .tagged_receives = options.receives + 16,
                           .sends = options.sends});
  if (!endpoint.ok()) return endpoint.status();
  const ofi::Endpoint& opened = *endpoint.value();
  if (!opened.quirk().peeks || opened.needs_local_mr())
    return Status::error("libfabric " + opened.provider() +
                         " is not known to find tagged messages that no receive matched");
  return std::unique_ptr<Matcher>(
      std::make_unique<ofi::TaggedMatcher>(std::move(endpoint.value()), options.reports_unmatched));
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/lanes.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace shm::ofi {
namespace {

// A thread looks this often (ns) at lanes that it does not work on: those that nobody has polled meanwhile
// belong to threads that have posted and gone back to computing.
constexpr std::int64_t kLookPeriod = 100'000;

// A thread that works on another lane polls the first one, where its peers' requests arrive, so often.
constexpr unsigned kFirstPeriod = 4;

// A sleeper that watches one lane only looks this often (us) at those of others.
constexpr long kLookBlockUs = 10'000;

// Whatever the user asks for: a look at the others visits them all.
constexpr std::size_t kMostLanes = 64;

// How many lanes the descriptors allow: a peer may connect to us from each of its lanes and we from each of
// ours, and most descriptors shall be left to the program.
std::size_t affordable_lanes(int npes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostLanes;
  return std::min<std::size_t>(kMostLanes, limit.rlim_cur / 4 / static_cast<std::size_t>(std::max(npes, 1)));
}

int watch(int set, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

}  // namespace

Lanes::Lanes(std::unique_ptr<Endpoint> endpoint, const FabricOptions& options)
    : first_(std::move(endpoint), options.max_transfer), options_(options), lanes_(1) {
  lanes_[0].engine.store(&first_);
}

Lanes::~Lanes() {
  if (all_fd_ >= 0) ::close(all_fd_);
  for (const Lane& lane : lanes_) {
    if (lane.wait_fd >= 0) ::close(lane.wait_fd);
  }
}

Status Lanes::connect(int me, int npes, Network::AddressLookup lookup, MessageSink sink) {
  lookup_ = lookup;
  const std::size_t further = std::min<std::size_t>(options_.context_endpoints, affordable_lanes(npes));
  lanes_ = std::vector<Lane>(1 + further);
  lanes_[0].engine.store(&first_);
  const int descriptor = first_.endpoint().wait_fd();
  if (further != 0 && descriptor >= 0) {
    all_fd_ = epoll_create1(EPOLL_CLOEXEC);
    if (all_fd_ < 0 || watch(all_fd_, descriptor) != 0)
      return Status::error("no descriptors are left: check ulimit -n");
  }
  return first_.connect(me, npes, lookup, sink);
}

OfiChannel* Lanes::open_channel(ChannelUse use, const NetOps* table) {
  std::size_t chosen = 0;
  if (use == ChannelUse::parallel && lanes_.size() > 1) {
    const LockGuard guard(mutex_);
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
      if (lanes_[i].engine.load() == &first_) continue;  // refused
      if (chosen == 0 || lanes_[i].channels < lanes_[chosen].channels) chosen = i;
    }
    ++lanes_[chosen].channels;
  }
  return new OfiChannel(this, static_cast<int>(chosen), use == ChannelUse::service, table, first_.npes());
}

void Lanes::close_channel(OfiChannel* channel) {
  if (channel->lane != 0) {
    const LockGuard guard(mutex_);
    --lanes_[static_cast<std::size_t>(channel->lane)].channels;
  }
  delete channel;
}

Engine& Lanes::open_lane(int number) {
  const LockGuard guard(mutex_);
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  if (Engine* engine = lane.engine.load()) return *engine;
  // Where another endpoint is refused, contexts share: only speed is lost.
  Engine* engine = open_engine(lane).ok() ? lane.own.get() : &first_;
  if (engine == &first_) lane.own.reset();
  lane.engine.store(engine, std::memory_order_release);
  if (engine != &first_) open_lanes_.fetch_add(1);
  return *engine;
}

Status Lanes::open_engine(Lane& lane) {
  Result<std::unique_ptr<Endpoint>> endpoint = first_.endpoint().open_another();
  if (!endpoint.ok()) return endpoint.status();
  lane.own = std::make_unique<Engine>(std::move(endpoint.value()), options_.max_transfer, &first_);
  if (Status status = lane.own->memory().share(first_.memory()); !status.ok()) return status;
  if (Status status = lane.own->connect(first_.me(), first_.npes(), lookup_, nullptr); !status.ok())
    return status;
  if (all_fd_ < 0) return {};
  const int descriptor = lane.own->endpoint().wait_fd();
  lane.wait_fd = epoll_create1(EPOLL_CLOEXEC);
  if (lane.wait_fd < 0 || watch(lane.wait_fd, first_.endpoint().wait_fd()) != 0 ||
      watch(lane.wait_fd, descriptor) != 0 || watch(all_fd_, descriptor) != 0) {
    return Status::error("no descriptors are left");
  }
  return {};
}

// Null for lane 0, and for one that has no engine of its own.
Engine* Lanes::own_engine(std::size_t lane) const {
  Engine* engine = lanes_[lane].engine.load(std::memory_order_acquire);
  return engine != &first_ ? engine : nullptr;
}

bool Lanes::poll() {
  if (engines() == 1) return first_.poll();
  const int mine = current();
  Engine* own = mine > 0 ? own_engine(static_cast<std::size_t>(mine)) : nullptr;
  bool worked = own != nullptr && own->poll();
  if (own == nullptr || ++here.polls % kFirstPeriod == 0) worked |= first_.poll();
  return look_at_others(mine) || worked;
}

bool Lanes::look_at_others(int mine) {
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::int64_t due = next_look_.load(std::memory_order_relaxed);
  if (now < due || !next_look_.compare_exchange_strong(due, now + kLookPeriod, std::memory_order_relaxed))
    return false;
  bool worked = false;
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    Engine* engine = own_engine(i);
    if (engine == nullptr || static_cast<int>(i) == mine) continue;
    const bool left_alone = lanes_[i].seen.load(std::memory_order_relaxed) == engine->polls();
    if (left_alone && engine->in_flight()) worked |= engine->poll();
    lanes_[i].seen.store(engine->polls(), std::memory_order_relaxed);
  }
  return worked;
}

int Lanes::wait_fd() const {
  const int mine = current();
  if (mine == kNone && all_fd_ >= 0) return all_fd_;
  if (mine > 0 && own_engine(static_cast<std::size_t>(mine)) != nullptr && all_fd_ >= 0)
    return lanes_[static_cast<std::size_t>(mine)].wait_fd;
  return first_.endpoint().wait_fd();
}

// Of each lane whose descriptor wait_fd() includes: one that was not asked may stay readable for ever.
bool Lanes::may_block() {
  bool may = first_.may_block();
  if (engines() == 1) return may;
  const int mine = current();
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    if (mine != kNone && static_cast<int>(i) != mine) continue;
    if (Engine* engine = own_engine(i)) may &= engine->may_block();
  }
  return may;
}

long Lanes::max_block_us() const {
  long limit = first_.max_block_us();
  if (engines() == 1) return limit;
  const auto shorten = [&limit](long us) { limit = limit < 0 ? us : std::min(limit, us); };
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    const Engine* engine = own_engine(i);
    if (engine != nullptr && engine->max_block_us() >= 0) shorten(engine->max_block_us());
  }
  if (current() != kNone) shorten(kLookBlockUs);
  return limit;
}

}  // namespace shm::ofi

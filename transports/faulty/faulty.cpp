// SPDX-License-Identifier: BSD-3-Clause
#include "faulty/faulty.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "base/mutex.hpp"

namespace shm {
namespace {

class FaultyNetwork;

// An operation not yet started.  `start` calls the inner table; it owns the bytes that it must own.
struct HeldOperation {
  int polls;
  bool message;
  std::function<void()> start;
};

// An operation may overtake so many others.
constexpr std::size_t kReach = 8;

// Operations of a channel to one PE.  Messages are started in their order, the others in any: while there are
// any, no fence is granted, so none of them is behind one.  An operation that is being started counts as
// held, so that idle() is never true in between.
struct Queue {
  std::deque<HeldOperation> held;
  int starting = 0;
  bool empty() const { return held.empty() && starting == 0; }

  // Calls `visit(index)` for all that may be started next.
  template <class Visit>
  void for_each_next(Visit visit) {
    bool first_message = true;
    for (std::size_t i = 0; i < std::min(held.size(), kReach); ++i) {
      if (!held[i].message || std::exchange(first_message, false)) visit(i);
    }
  }
};

struct FaultyChannel : Channel {
  FaultyChannel(FaultyNetwork& owner, const NetOps* table, Channel* wrapped)
      : Channel{table}, network(owner), inner(wrapped) {}
  FaultyNetwork& network;
  Channel* inner;
  std::map<int, Queue> to;  // guarded by network.mutex
};

class FaultyNetwork final : public Network {
 public:
  FaultyNetwork(std::unique_ptr<Network> inner, FaultOptions options)
      : inner_(std::move(inner)), options_(options), random_(options.seed) {}

  std::string describe() const override { return "faulty " + inner_->describe(); }
  Status add_segment(SegmentId id, void* base, std::size_t size) override {
    return inner_->add_segment(id, base, size);
  }
  Result<std::vector<std::byte>> address() override { return inner_->address(); }
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override {
    return inner_->connect(me, npes, lookup, sink);
  }
  Channel* open_channel(ChannelUse use) override;
  void close_channel(Channel* channel) override {
    auto* own = static_cast<FaultyChannel*>(channel);
    {
      LockGuard guard(mutex);
      std::erase(channels_, own);
    }
    inner_->close_channel(own->inner);
    delete own;
  }
  bool poll() override;
  int wait_fd() const override { return inner_->wait_fd(); }
  bool may_block() override {
    {
      LockGuard guard(mutex);
      for (const FaultyChannel* channel : channels_) {
        for (const auto& [pe, queue] : channel->to) {
          if (!queue.empty()) return false;
        }
      }
    }
    return inner_->may_block();
  }
  void join_node(const NodeMap& map) override { inner_->join_node(map); }
  void watch_room(RoomWatch watch) override { inner_->watch_room(std::move(watch)); }
  bool needs_poll() const override { return true; }  // something may be held back
  long max_block_us() const override { return inner_->max_block_us(); }
  Silence silence_of(int pe, double period) override { return inner_->silence_of(pe, period); }
  bool reads_alone() const override { return inner_->reads_alone(); }
  bool pins_segments() const override { return inner_->pins_segments(); }
  std::size_t copy_limit() const override { return std::min(inner_->copy_limit(), options_.copy_limit); }
  bool supports(AtomicOp op, AtomicType type, bool fetching) const override {
    // The same answer each time.
    std::mt19937_64 random(options_.seed * 1000 + static_cast<unsigned>(op) * 8 +
                           static_cast<unsigned>(type));
    const bool refused = static_cast<int>(random() % 100) < options_.refuse_atomic_percent;
    return !refused && inner_->supports(op, type, fetching);
  }

  void hold(FaultyChannel* channel, int pe, std::function<void()> start, bool message = false) {
    LockGuard guard(mutex);
    channel->to[pe].held.push_back({roll(options_.max_hold), message, std::move(start)});
  }
  bool grants_fence() REQUIRES(mutex) { return roll(99) >= options_.refuse_fence_percent; }

  Mutex mutex;  // not held while an operation is started: that may poll, and a handler may send

 private:
  // 0 to `highest`.
  int roll(int highest) REQUIRES(mutex) {
    return static_cast<int>(random_() % static_cast<unsigned>(highest + 1));
  }
  bool start_one() REQUIRES(starter_) EXCLUDES(mutex);

  std::unique_ptr<Network> inner_;
  const FaultOptions options_;
  std::mt19937_64 random_ GUARDED_BY(mutex);
  Mutex starter_ ACQUIRED_BEFORE(mutex);  // held by the one thread that starts operations
  std::vector<FaultyChannel*> channels_ GUARDED_BY(mutex);
};

// Starts a random one of the operations that have waited long enough.
bool FaultyNetwork::start_one() {
  std::function<void()> start;
  Queue* chosen = nullptr;
  {
    LockGuard guard(mutex);
    std::vector<std::pair<Queue*, std::size_t>> ready;
    for (FaultyChannel* channel : channels_) {
      for (auto& entry : channel->to) {
        Queue& queue = entry.second;
        queue.for_each_next([&](std::size_t i) {
          if (queue.held[i].polls <= 0) ready.emplace_back(&queue, i);
        });
      }
    }
    if (ready.empty()) return false;
    const auto& [queue, index] = ready[static_cast<std::size_t>(roll(static_cast<int>(ready.size()) - 1))];
    chosen = queue;
    start = std::move(queue->held[index].start);
    queue->held.erase(queue->held.begin() + static_cast<std::ptrdiff_t>(index));
    ++chosen->starting;
  }
  start();
  LockGuard guard(mutex);
  --chosen->starting;
  return true;
}

bool FaultyNetwork::poll() {
  {
    LockGuard guard(mutex);
    if (roll(99) < options_.lazy_poll_percent) return false;
    for (FaultyChannel* channel : channels_) {
      for (auto& entry : channel->to) {
        Queue& queue = entry.second;
        queue.for_each_next([&queue](std::size_t i) { --queue.held[i].polls; });
      }
    }
  }
  bool worked = false;
  if (starter_.try_lock()) {
    const LockGuard starting(starter_, std::adopt_lock);
    while (start_one()) worked = true;
  }
  return inner_->poll() || worked;
}

FaultyChannel* own(Channel* channel) { return static_cast<FaultyChannel*>(channel); }

void put(Channel* channel, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
         Completion* completion) {
  Channel* inner = own(channel)->inner;
  const auto* bytes = static_cast<const std::byte*>(source);
  std::vector<std::byte> copied(bytes, bytes + (copy ? n : 0));
  own(channel)->network.hold(own(channel), pe, [=, kept = std::move(copied)] {
    inner->ops->put(inner, pe, to, copy ? kept.data() : bytes, n, copy, completion);
  });
}

void get(Channel* channel, int pe, void* dest, RemoteAddress from, std::size_t n, Completion* completion) {
  Channel* inner = own(channel)->inner;
  own(channel)->network.hold(own(channel), pe,
                             [=] { inner->ops->get(inner, pe, dest, from, n, completion); });
}

void amo(Channel* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
         const void* compare, void* fetch, Completion* completion) {
  Channel* inner = own(channel)->inner;
  std::array<std::byte, 8> v{}, c{};
  if (value != nullptr) std::memcpy(v.data(), value, atomic_size(type));
  if (compare != nullptr) std::memcpy(c.data(), compare, atomic_size(type));
  own(channel)->network.hold(own(channel), pe, [=] {
    inner->ops->amo(inner, pe, at, op, type, v.data(), c.data(), fetch, completion);
  });
}

void send(Channel* channel, int pe, std::uint16_t id, const void* message, std::size_t n) {
  Channel* inner = own(channel)->inner;
  const auto* bytes = static_cast<const std::byte*>(message);
  const auto start = [=, kept = std::vector<std::byte>(bytes, bytes + n)] {
    inner->ops->send(inner, pe, id, kept.data(), kept.size());
  };
  own(channel)->network.hold(own(channel), pe, start, true);
}

// Only marks: starting may poll, which is not what the caller of flush expects.  The next poll starts them.
void flush(Channel* channel) {
  {
    LockGuard guard(own(channel)->network.mutex);
    for (auto& [pe, queue] : own(channel)->to) {
      for (HeldOperation& operation : queue.held) operation.polls = 0;
    }
  }
  own(channel)->inner->ops->flush(own(channel)->inner);
}

bool nothing_held(const FaultyChannel* channel) REQUIRES(channel->network.mutex) {
  return std::ranges::all_of(channel->to, [](const auto& entry) { return entry.second.empty(); });
}

bool idle(const Channel* channel) {
  const auto* faulty = static_cast<const FaultyChannel*>(channel);
  LockGuard guard(faulty->network.mutex);
  return nothing_held(faulty) && faulty->inner->ops->idle(faulty->inner);
}

bool idle_to(const Channel* channel, int pe) {
  const auto* faulty = static_cast<const FaultyChannel*>(channel);
  LockGuard guard(faulty->network.mutex);
  const auto queue = faulty->to.find(pe);
  return (queue == faulty->to.end() || queue->second.empty()) &&
         faulty->inner->ops->idle_to(faulty->inner, pe);
}

// What is held has not reached the inner channel, whose fence would miss it, and may be overtaken by what
// follows.
bool fence(Channel* channel) {
  LockGuard guard(own(channel)->network.mutex);
  if (!nothing_held(own(channel)) || !own(channel)->network.grants_fence()) return false;
  return own(channel)->inner->ops->fence(own(channel)->inner);
}

constexpr NetOps kOps = {put, get, amo, send, flush, idle, idle_to, fence};

Channel* FaultyNetwork::open_channel(ChannelUse use) {
  auto* channel = new FaultyChannel(*this, &kOps, inner_->open_channel(use));
  LockGuard guard(mutex);
  channels_.push_back(channel);
  return channel;
}

}  // namespace

std::unique_ptr<Network> make_faulty(std::unique_ptr<Network> inner, FaultOptions options) {
  return std::make_unique<FaultyNetwork>(std::move(inner), options);
}

}  // namespace shm

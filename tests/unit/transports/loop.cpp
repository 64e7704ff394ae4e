// SPDX-License-Identifier: BSD-3-Clause
#include "loop.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <functional>

#include "base/fatal.hpp"
#include "base/mutex.hpp"

namespace shm {
namespace {

class LoopNetwork;

struct LoopChannel : Channel {
  LoopChannel(LoopNetwork& owner, const NetOps* table, std::size_t npes)
      : Channel{table}, network(owner), to(std::make_unique<std::atomic<int>[]>(npes)) {}
  LoopNetwork& network;
  Epochs outstanding;
  std::unique_ptr<std::atomic<int>[]> to;
};

struct Pending {
  LoopChannel* channel;
  int pe;
  unsigned epoch;
  std::function<void()> apply;
  Completion* completion;
};

struct Message {
  int from_pe;
  std::uint16_t id;
  std::vector<std::byte> bytes;
};

}  // namespace

class LoopFabric {
 public:
  Mutex mutex;
  std::vector<LoopNetwork*> networks GUARDED_BY(mutex);  // which have locks of their own
};

namespace {

class LoopNetwork final : public Network {
 public:
  explicit LoopNetwork(std::shared_ptr<LoopFabric> fabric) : fabric_(std::move(fabric)) {
    LockGuard guard(fabric_->mutex);
    index_ = fabric_->networks.size();
    fabric_->networks.push_back(this);
  }

  std::string describe() const override { return "loop"; }
  Status add_segment(SegmentId id, void* base, std::size_t size) override {
    segments_[static_cast<std::size_t>(id)] = {static_cast<std::byte*>(base), size};
    return {};
  }
  Result<std::vector<std::byte>> address() override {
    std::vector<std::byte> bytes(sizeof index_);
    std::memcpy(bytes.data(), &index_, sizeof index_);
    return bytes;
  }
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override {
    me_ = me;
    sink_ = sink;
    LockGuard guard(fabric_->mutex);
    for (int pe = 0; pe < npes; ++pe) {
      std::size_t index = 0;
      const std::span<const std::byte> bytes = lookup(pe);
      if (bytes.size() != sizeof index) return Status::error("loop: a strange address");
      std::memcpy(&index, bytes.data(), sizeof index);
      peers_.push_back(fabric_->networks.at(index));
    }
    return {};
  }
  Channel* open_channel(ChannelUse) override;
  void close_channel(Channel* channel) override {
    auto* own = static_cast<LoopChannel*>(channel);
    if (!own->outstanding.idle()) fatal("loop: a channel was closed with operations outstanding");
    delete own;
  }
  bool poll() override;
  int wait_fd() const override { return -1; }
  bool may_block() override { return false; }
  std::size_t copy_limit() const override { return 1024; }
  bool supports(AtomicOp op, AtomicType type, bool) const override { return is_defined(op, type); }

  // Bytes of `pe` at `at`; ends the job if they are not all in the segment.
  std::byte* reach(int pe, RemoteAddress at, std::size_t n) const {
    const auto& [base, size] =
        peers_[static_cast<std::size_t>(pe)]->segments_[static_cast<std::size_t>(at.segment)];
    if (n > size || at.offset > size - n) fatal("loop: %zu bytes outside the segment of PE %d", n, pe);
    return base + at.offset;
  }

  void post(LoopChannel* channel, int pe, std::function<void()> apply, Completion* completion) {
    const unsigned epoch = channel->outstanding.begin();
    channel->to[static_cast<std::size_t>(pe)].fetch_add(1);
    LockGuard guard(mutex_);
    pending_.push_back({channel, pe, epoch, std::move(apply), completion});
  }
  void post_message(LoopChannel* channel, int pe, std::uint16_t id, const std::byte* bytes, std::size_t n) {
    LoopNetwork* target = peers_[static_cast<std::size_t>(pe)];
    auto deliver = [target, message = Message{me_, id, {bytes, bytes + n}}] {
      LockGuard guard(target->mutex_);
      target->inbox_.push_back(message);
    };
    post(channel, pe, std::move(deliver), nullptr);
  }

 private:
  std::shared_ptr<LoopFabric> fabric_;
  std::size_t index_ = 0;
  int me_ = -1;
  MessageSink sink_ = nullptr;
  std::vector<LoopNetwork*> peers_;
  std::array<std::pair<std::byte*, std::size_t>, kSegments> segments_{};
  Mutex poller_ ACQUIRED_BEFORE(mutex_);  // held by the thread in poll()
  Mutex mutex_;
  std::deque<Pending> pending_ GUARDED_BY(mutex_);
  std::deque<Message> inbox_ GUARDED_BY(mutex_);
};

bool LoopNetwork::poll() {
  if (!poller_.try_lock()) return false;
  const LockGuard polling(poller_, std::adopt_lock);
  std::deque<Pending> pending;
  std::deque<Message> inbox;
  {
    LockGuard guard(mutex_);
    pending.swap(pending_);
    inbox.swap(inbox_);
  }
  for (Pending& operation : pending) {
    operation.apply();
    if (operation.completion != nullptr) operation.completion->set_done();
    operation.channel->to[static_cast<std::size_t>(operation.pe)].fetch_sub(1);
    operation.channel->outstanding.end(operation.epoch);  // last: the channel may be closed now
  }
  for (const Message& message : inbox) {
    sink_(message.from_pe, message.id, message.bytes.data(), message.bytes.size());
  }
  return !pending.empty() || !inbox.empty();
}

LoopChannel* own(Channel* channel) { return static_cast<LoopChannel*>(channel); }

void put(Channel* channel, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
         Completion* completion) {
  std::byte* there = own(channel)->network.reach(pe, to, n);
  const auto* bytes = static_cast<const std::byte*>(source);
  std::function<void()> store = [there, bytes, n] { std::memmove(there, bytes, n); };
  if (copy) {
    store = [there, kept = std::vector<std::byte>(bytes, bytes + n)] {
      std::memcpy(there, kept.data(), kept.size());
    };
  }
  own(channel)->network.post(own(channel), pe, std::move(store), completion);
}

void get(Channel* channel, int pe, void* dest, RemoteAddress from, std::size_t n, Completion* completion) {
  const std::byte* there = own(channel)->network.reach(pe, from, n);
  own(channel)->network.post(
      own(channel), pe, [=] { std::memmove(dest, there, n); }, completion);
}

void amo(Channel* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
         const void* compare, void* fetch, Completion* completion) {
  std::byte* there = own(channel)->network.reach(pe, at, atomic_size(type));
  std::array<std::byte, 8> v{}, c{};
  if (value != nullptr) std::memcpy(v.data(), value, atomic_size(type));
  if (compare != nullptr) std::memcpy(c.data(), compare, atomic_size(type));
  auto apply = [=] { atomic_apply(op, type, there, v.data(), c.data(), fetch); };
  own(channel)->network.post(own(channel), pe, std::move(apply), completion);
}

void send(Channel* channel, int pe, std::uint16_t id, const void* message, std::size_t n) {
  own(channel)->network.post_message(own(channel), pe, id, static_cast<const std::byte*>(message), n);
}

void flush(Channel*) {}
bool idle(const Channel* channel) { return static_cast<const LoopChannel*>(channel)->outstanding.idle(); }
bool idle_to(const Channel* channel, int pe) {
  return static_cast<const LoopChannel*>(channel)->to[static_cast<std::size_t>(pe)].load() == 0;
}
bool fence(Channel*) { return true; }  // one queue

bool is_drained(Channel* channel, Drain& wait) { return own(channel)->outstanding.drained(wait.operations); }

constexpr NetOps kOps = {.put = put,
                         .get = get,
                         .amo = amo,
                         .send = send,
                         .flush = flush,
                         .idle = idle,
                         .idle_to = idle_to,
                         .fence = fence,
                         .drained = is_drained};

Channel* LoopNetwork::open_channel(ChannelUse) { return new LoopChannel(*this, &kOps, peers_.size()); }

}  // namespace

std::shared_ptr<LoopFabric> make_loop_fabric() { return std::make_shared<LoopFabric>(); }

std::unique_ptr<Network> open_loop(std::shared_ptr<LoopFabric> fabric) {
  return std::make_unique<LoopNetwork>(std::move(fabric));
}

}  // namespace shm

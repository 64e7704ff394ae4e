// SPDX-License-Identifier: BSD-3-Clause
#include "batch/batch.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/stats.hpp"
#include "batch/channel.hpp"
#include "batch/target.hpp"

namespace shm {
namespace batch {
namespace {

class BatchNetwork final : public Network, public Carrier {
 public:
  explicit BatchNetwork(std::unique_ptr<Network> inner) : inner_(std::move(inner)) {}
  ~BatchNetwork() override;

  std::string describe() const override { return inner_->describe(); }
  Status add_segment(SegmentId id, void* base, std::size_t size) override {
    target_.add_segment(id, base, size);
    return inner_->add_segment(id, base, size);
  }
  Result<std::vector<std::byte>> address() override { return inner_->address(); }
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override;
  Channel* open_channel(ChannelUse use) override;
  void close_channel(Channel* channel) override;

  bool poll() override {
    const bool worked = inner_->poll();
    return (held_.load(std::memory_order_relaxed) != 0 && send_held()) || worked;
  }
  int wait_fd() const override { return inner_->wait_fd(); }
  bool may_block() override {
    if (held_.load(std::memory_order_relaxed) != 0 && earliest() <= clock_now()) return false;
    return inner_->may_block();
  }
  bool needs_poll() const override { return wake_.load(std::memory_order_relaxed) || inner_->needs_poll(); }
  long max_block_us() const override;
  void flush_all() override {
    if (held_.load(std::memory_order_relaxed) == 0) return;
    hurry_.store(true, std::memory_order_relaxed);
    send_held();
  }
  std::size_t copy_limit() const override { return inner_->copy_limit(); }
  bool supports(AtomicOp op, AtomicType type, bool fetching) const override {
    return inner_->supports(op, type, fetching);
  }

  void carry(int pe, const std::byte* packet, std::size_t n) override {
    wire_->ops->send(wire_, pe, kPacketId, packet, n);
  }
  bool progress() override { return poll(); }
  void opened(std::int64_t deadline) override;
  void forgotten() override { held_.fetch_sub(1, std::memory_order_relaxed); }
  int me() const override { return me_; }

 private:
  void receive(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n);
  bool send_held();
  std::int64_t earliest() const;

  std::unique_ptr<Network> inner_;
  Target target_;
  MessageSink sink_;
  Channel* wire_ = nullptr;  // packets and replies of all channels
  int me_ = -1;
  int npes_ = 0;
  mutable std::mutex channels_mutex_;  // held while held packets are sent, so that their channels stay
  std::vector<Batcher*> channels_;
  std::atomic<bool> hurry_{false};  // a thread waits: send_held() sends all

  // When the agent must look again: see opened() and max_block_us().
  std::atomic<std::int64_t> held_{0};           // packets that some channel watches
  mutable std::atomic<std::int64_t> alarm_{0};  // the agent will be awake by then; 0: who knows
  mutable std::atomic<bool> wake_{false};       // it would come too late for a packet
};

BatchNetwork::~BatchNetwork() {
  if (wire_ == nullptr) return;
  while (!wire_->ops->idle(wire_)) inner_->poll();
  inner_->close_channel(wire_);
}

Status BatchNetwork::connect(int me, int npes, AddressLookup lookup, MessageSink sink) {
  me_ = me;
  npes_ = npes;
  sink_ = std::move(sink);
  Status status = inner_->connect(
      me, npes, lookup, [this](int from_pe, std::uint16_t id, const std::byte* message, std::size_t n) {
        receive(from_pe, id, message, n);
      });
  if (status.ok()) wire_ = inner_->open_channel(ChannelUse::common);
  return status;
}

void BatchNetwork::receive(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n) {
  if (id == kPacketId) {
    const std::vector<std::byte> reply = target_.apply(from_pe, message, n);
    wire_->ops->send(wire_, from_pe, kReplyId, reply.data(), reply.size());
  } else if (id == kReplyId) {
    ReplyHead head;
    std::memcpy(&head, message, sizeof head);
    reinterpret_cast<Batcher*>(head.channel)->acknowledge(from_pe, message + sizeof head, n - sizeof head);
  } else {
    sink_(from_pe, id, message, n);
  }
}

// Sends what has become too old, or all that is held if a thread waits.
bool BatchNetwork::send_held() {
  const std::int64_t now = clock_now();
  if (!hurry_.load(std::memory_order_relaxed) && alarm_.load(std::memory_order_relaxed) > now) return false;
  const std::unique_lock guard(channels_mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return false;  // another thread is at it; who waits comes again
  const bool all = hurry_.exchange(false, std::memory_order_relaxed);
  bool worked = false;
  for (Batcher* channel : channels_) {
    if (channel->next_deadline() > (all ? kNever - 1 : now)) continue;
    channel->flush(all ? now : now - kLongestHold);
    worked = true;
  }
  return worked;
}

std::int64_t BatchNetwork::earliest() const {
  const std::unique_lock guard(channels_mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return 0;  // somebody is sending: look again
  std::int64_t time = kNever;
  for (const Batcher* channel : channels_) time = std::min(time, channel->next_deadline());
  return time;
}

// A program may compute from now on, and the agent be asleep: does it wake in time?  Sequentially consistent:
// either this sees that the agent sets its alarm anew, or the agent sees the packet.
void BatchNetwork::opened(std::int64_t deadline) {
  held_.fetch_add(1, std::memory_order_seq_cst);
  if (alarm_.load(std::memory_order_seq_cst) < deadline - kLongestHold)
    wake_.store(true, std::memory_order_release);
}

long BatchNetwork::max_block_us() const {
  const long limit = inner_->max_block_us();
  alarm_.store(0, std::memory_order_seq_cst);
  wake_.exchange(false, std::memory_order_acq_rel);
  if (held_.load(std::memory_order_seq_cst) == 0) return limit;
  const std::int64_t deadline = earliest();
  if (deadline == kNever) return limit;
  alarm_.store(deadline, std::memory_order_seq_cst);
  const long left = static_cast<long>(std::max<std::int64_t>(deadline - clock_now(), 0) / 1000) + 1;
  return limit < 0 ? left : std::min(limit, left);
}

// The table.

Batcher* own(Channel* channel) { return static_cast<Batcher*>(channel); }
const Batcher* own(const Channel* channel) { return static_cast<const Batcher*>(channel); }

void put(Channel* base, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
         Completion* completion) {
  Batcher* channel = own(base);
  if (n <= kLargestPut && n > 0 && completion == nullptr && channel->batches(pe)) {
    const RecordHead head{to.offset, static_cast<std::uint32_t>(n), to.segment, kPutCode, {}, 0};
    return channel->append(pe, head, source, nullptr);
  }
  count(Stat::puts);
  count(Stat::put_bytes, n);
  channel->before_direct(pe);
  channel->inner()->ops->put(channel->inner(), pe, to, source, n, copy, completion);
}

// A fence does not order gets; but a program that waits for its data may mean to read what it has put.
void get(Channel* base, int pe, void* dest, RemoteAddress from, std::size_t n, Completion* completion) {
  Batcher* channel = own(base);
  count(Stat::gets);
  count(Stat::get_bytes, n);
  if (completion != nullptr) channel->flush_to(pe);
  channel->inner()->ops->get(channel->inner(), pe, dest, from, n, completion);
}

void amo(Channel* base, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
         const void* compare, void* fetch, Completion* completion) {
  Batcher* channel = own(base);
  if (!channel->batches(pe)) {
    count(Stat::atomics);
    channel->before_direct(pe);
    return channel->inner()->ops->amo(channel->inner(), pe, at, op, type, value, compare, fetch, completion);
  }
  std::array<std::byte, 16> operands{};
  if (value != nullptr) std::memcpy(operands.data(), value, atomic_size(type));
  if (compare != nullptr) std::memcpy(operands.data() + 8, compare, atomic_size(type));
  const std::uint32_t length = op == AtomicOp::fetch ? 0 : op == AtomicOp::compare_swap ? 16 : 8;
  const bool waits = fetch != nullptr || completion != nullptr;
  const RecordHead head{at.offset, length, at.segment, code_of(op), type, waits};
  const Awaited result{fetch, completion, atomic_size(type)};
  channel->append(pe, head, operands.data(), waits ? &result : nullptr);
  if (completion != nullptr) channel->flush_to(pe);
}

void send(Channel* base, int pe, std::uint16_t id, const void* message, std::size_t n) {
  Channel* inner = own(base)->inner();
  inner->ops->send(inner, pe, id, message, n);
}

void flush(Channel* base) {
  own(base)->flush(kNever);
  Channel* inner = own(base)->inner();
  inner->ops->flush(inner);
}

bool idle(const Channel* channel) { return own(channel)->idle(); }
bool idle_to(const Channel* channel, int pe) { return own(channel)->idle_to(pe); }
bool fence(Channel* channel) { return own(channel)->fence(); }

void hint(Channel* base, const BatchHint& hint) {
  Channel* inner = own(base)->inner();
  own(base)->set_batching(hint.batch && hint.total_ops > 1, hint.total_ops);
  if (inner->ops->hint != nullptr) inner->ops->hint(inner, hint);
}

constexpr NetOps kOps = {put, get, amo, send, flush, idle, idle_to, fence, hint};

Channel* BatchNetwork::open_channel(ChannelUse use) {
  auto* channel = new Batcher(*this, &kOps, inner_->open_channel(use), npes_);
  const std::scoped_lock guard(channels_mutex_);
  channels_.push_back(channel);
  return channel;
}

void BatchNetwork::close_channel(Channel* base) {
  Batcher* channel = own(base);
  {
    const std::scoped_lock guard(channels_mutex_);
    std::erase(channels_, channel);
  }
  inner_->close_channel(channel->inner());
  delete channel;
}

}  // namespace
}  // namespace batch

std::unique_ptr<Network> make_batching(std::unique_ptr<Network> inner) {
  return std::make_unique<batch::BatchNetwork>(std::move(inner));
}

}  // namespace shm

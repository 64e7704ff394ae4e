// SPDX-License-Identifier: BSD-3-Clause
#include "nic/combine.hpp"

#include <algorithm>
#include <chrono>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "nic/nic_network.hpp"

namespace shm::nic {

std::int64_t clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Combiner::Combiner(NicNetwork& nic, const NetOps* table, Channel* inner, Packing packing)
    : Channel{table},
      nic_(nic),
      name_(nic.issuers().add(*this)),
      inner_(inner),
      me_(nic.me()),
      routes_(nic.routes()),
      flows_(std::make_unique<Flow[]>(nic.flows())),
      packing_(packing) {
  const LockGuard guard(lock_);
  find_steady();
}

Combiner::~Combiner() {
  nic_.issuers().remove(name_);
  for (std::size_t i = 0; i < held_.size(); ++i) nic_.forgotten();
}

void Combiner::set_packing(Packing packing, std::size_t total_ops) {
  {
    const LockGuard guard(lock_);
    expected_ = packing == Packing::batches && total_ops != 0 ? total_ops : SIZE_MAX;
    packing_.store(packing, std::memory_order_release);
    find_steady();
  }
  if (packing != Packing::batches) flush(kNever);
}

void Combiner::put(int pe, RemoteAddress at, const void* source, std::size_t n) {
  const Route& way = route(pe);
  Flow& to = flows_[way.flow];
  const std::uint64_t word = record_word(way, at, kPutCode);
  lock_.lock();
  const std::uint64_t ordered = begin(way.executor, to, put_record(n));
  to.open->add_put(word | ordered, at.offset, source, n);
  end(way.executor, to);
}

bool Combiner::get(int pe, void* dest, RemoteAddress at, std::size_t n, Completion* completion) {
  const Route& way = route(pe);
  Flow& to = flows_[way.flow];
  const std::uint64_t word = record_word(way, at, kGetCode, {}, true);
  lock_.lock();
  const std::uint64_t ordered = begin(way.executor, to, get_room(n));
  to.open->add_get(word | ordered, at.offset, n);
  to.open->results.push_back({dest, completion, n});
  return end(way.executor, to);
}

// The executor stores a put before it executes atomics that follow it, so no fence is needed in between.
bool Combiner::put_signal(int pe, RemoteAddress to, const void* source, std::size_t n, RemoteAddress at,
                          AtomicOp op, std::uint64_t value) {
  const Route& way = route(pe);
  Flow& flow = flows_[way.flow];
  const bool word = is_put_word(to.offset, n);
  const std::uint64_t data =
      word ? record_word(way, to, kPutWordCode, put_word_type(n)) : record_word(way, to, kPutCode);
  const std::uint64_t signal = record_word(way, at, code_of(op), AtomicType::u64);
  lock_.lock();
  const std::uint64_t ordered =
      begin(way.executor, flow, (word ? kSmallestRecord : put_record(n)) + kSmallestRecord);
  if (flow.open->records == 0) flow.open->first = 2;
  if (word) {
    flow.open->add_put_word(data | ordered, bits(source, put_word_type(n)), n);
  } else {
    flow.open->add_put(data | ordered, to.offset, source, n);
  }
  flow.open->add_update(signal, value);
  return end(way.executor, flow);
}

template <class Add>
void Combiner::add_strided(int pe, RemoteAddress at, const Strides& s, std::ptrdiff_t step, std::uint8_t code,
                           std::size_t (*room)(std::size_t bytes), Add add) {
  const Route& way = route(pe);
  Flow& to = flows_[way.flow];
  for (std::size_t done = 0; done < s.blocks;) {
    const Shape shape{static_cast<std::uint64_t>(step), std::min(s.blocks - done, blocks_of_record(s.block)),
                      s.block, static_cast<unsigned>(at.offset & 3)};
    const std::uint64_t word = record_word(way, at, code, {}, code == kGetStridedCode);
    lock_.lock();
    const std::uint64_t ordered = begin(way.executor, to, room(shape.bytes()));
    add(*to.open, word | ordered, shape, static_cast<std::ptrdiff_t>(done));
    end(way.executor, to);
    at.offset += shape.blocks * shape.step;
    done += shape.blocks;
  }
}

void Combiner::put_strided(int pe, RemoteAddress to, const std::byte* source, const Strides& s) {
  const auto add = [&](Packet& packet, std::uint64_t word, const Shape& shape, std::ptrdiff_t done) {
    packet.add_put_strided(word, shape, source + done * s.from_step, s.from_step);
  };
  add_strided(pe, to, s, s.to_step, kPutStridedCode, put_record, add);
}

void Combiner::get_strided(int pe, std::byte* dest, RemoteAddress from, const Strides& s) {
  const auto add = [&](Packet& packet, std::uint64_t word, const Shape& shape, std::ptrdiff_t done) {
    packet.add_get_strided(word, shape);
    packet.results.push_back({dest + done * s.to_step, shape.bytes(), s.block, s.to_step});
  };
  add_strided(pe, from, s, s.from_step, kGetStridedCode, get_room, add);
}

void Combiner::fetch_for_another(int pe, RemoteAddress at, AtomicOp op, AtomicType type, std::uint64_t value,
                                 std::uint64_t compare, const Awaited& result) {
  const unsigned epoch = pending_.begin();
  fetch(pe, at, op, type, value, compare, result);
  flush_to(pe);
  pending_.end(epoch);
}

// Ends an operation: what must leave leaves, what stays is watched.
void Combiner::end_slowly(int executor, Flow& to) {
  std::unique_ptr<Packet> packet = take_ready(executor, to);
  if (to.open != nullptr && !to.watched) hold(executor, to);
  const bool last = expected_ != SIZE_MAX && --expected_ == 0;
  if (last) {
    expected_ = SIZE_MAX;
    find_steady();
  }
  lock_.unlock();
  if (packet != nullptr) transmit(executor, std::move(packet));
  if (last) flush(kNever);
}

void Combiner::open(Flow& to) {
  if (spare_.empty()) {
    to.open = std::make_unique<Packet>();
  } else {
    to.open = std::move(spare_.back());
    spare_.pop_back();
  }
  to.pending.fetch_add(1, std::memory_order_relaxed);
  to.open->opened = pending_.begin();
}

void Combiner::hold(int executor, Flow& to) {
  to.watched = true;
  const std::int64_t now = clock_now();
  held_.push_back({executor, to.closed, now});
  if (held_.size() == 1) set_deadline();
  nic_.holds(now + kLongestHold);
}

// Takes the open packet out of the flow, if it may leave now; pass it to transmit().
std::unique_ptr<Packet> Combiner::close(int executor, Flow& of) {
  if (of.open == nullptr || of.sending || of.detour >= 0 || of.closed - of.acked == kWindow) return nullptr;
  of.sending = true;
  // One that is alone goes to its target, which nobody else need wait for, and which it may be meant to wake.
  // What follows it waits for the answer: two PEs that execute keep no order.
  const bool alone = of.open->records == of.open->first && of.closed == of.acked;
  of.open->destination = alone ? nic_.at_node_rank(executor, of.open->first_node_rank()) : executor;
  if (of.open->destination != executor) of.detour = of.open->destination;
  of.wanted = of.watched = false;
  of.open->finish(name_, of.open->result_words());
  of.results[of.closed % kWindow].swap(of.open->results);
  of.epochs[of.closed % kWindow] = static_cast<std::uint8_t>(of.open->opened);
  ++of.closed;
  of.open->sent = pending_.begin();
  return std::move(of.open);
}

// The same, if it should: somebody waits, it is full, or the node has answered all that came before it.
std::unique_ptr<Packet> Combiner::take_ready(int executor, Flow& of) {
  if (of.open == nullptr) return nullptr;
  const bool full = !of.open->has_room(kSmallestRecord);
  if (full) of.open->leaves(Leaves::full);
  return of.wanted || leaves_alone(of) || full ? close(executor, of) : nullptr;
}

// Sends the open packet, or waits for others to be answered, until there is none or it has room.
void Combiner::make_room(int executor, Flow& to, std::size_t size) {
  for (Pause between; to.open != nullptr && !to.open->has_room(size);) {
    to.open->leaves(Leaves::full);
    std::unique_ptr<Packet> packet = close(executor, to);
    if (packet == nullptr) to.wanted = true;
    lock_.unlock();
    if (packet != nullptr) {
      transmit(executor, std::move(packet));
    } else {
      pause(executor, between);
    }
    lock_.lock();
  }
}

void Combiner::pause(const WaitReason& reason, Pause& between) {
  if (nic_.poll()) return between.backoff.restart();
  between.watch.look_and_listen(reason);
  between.backoff.pause();
}

// Waits a little for the executor to apply packets.
void Combiner::pause(int executor, Pause& between) {
  pause(WaitReason([this, executor](WaitRecord& record) {
          const int pe = waits_for(executor);
          describe_wait(record, "an operation on another node", pe, "for PE %d to apply what was sent before",
                        pe);
        }),
        between);
}

void count_packet(Leaves why, std::size_t bytes) {
  count(Stat::packets);
  count(Stat::packet_bytes, bytes);
  switch (why) {
    case Leaves::free: break;  // the others: each packet has one reason
    case Leaves::full: count(Stat::full_packets); break;
    case Leaves::wanted: count(Stat::wanted_packets); break;
    case Leaves::answered: count(Stat::answered_packets); break;
    case Leaves::old: count(Stat::old_packets); break;
  }
}

void Combiner::count_contents(const Packet& packet) {
  const std::uint32_t operations = packet.records + packet.combined + packet.blocks;
  count(Stat::packed, operations);
  if (packet.puts != 0) {
    count(Stat::packed_puts, packet.puts);
    count(Stat::puts, packet.puts);
    count(Stat::put_bytes, packet.put_bytes);
  }
  if (packet.gets != 0) {
    count(Stat::packed_gets, packet.gets);
    count(Stat::gets, packet.gets);
    count(Stat::get_bytes, packet.get_bytes);
  }
  const std::uint32_t others = packet.puts + packet.gets;
  if (operations != others) count(Stat::atomics, operations - others);
  if (packet.combined != 0) count(Stat::combined, packet.combined);
}

void Combiner::transmit(int executor, std::unique_ptr<Packet> packet) {
  Flow& to = flow(executor);
  while (packet != nullptr) {
    const unsigned epoch = packet->sent;
    nic_.carry(packet->destination, packet->bytes.data(), packet->size);
    count_packet(packet->why, packet->size);
    count_contents(*packet);
    packet->clear();
    std::unique_ptr<Packet> next;
    {
      const LockGuard guard(lock_);
      spare_.push_back(std::move(packet));
      to.sending = false;
      next = take_ready(executor, to);
    }
    packet = std::move(next);
    pending_.end(epoch);  // last: unless there is a next, the channel may be gone
  }
}

// Hands the results to those who wait for them.
void Combiner::settle(int pe, const std::vector<Awaited>& waiting, const std::byte* results, std::size_t n) {
  std::size_t due = 0;
  for (const Awaited& awaited : waiting) due += padded(awaited.bytes);
  if (due != n) fatal("internal error: PE %d answered %zu bytes to a packet that asks for %zu", pe, n, due);
  for (const Awaited& awaited : waiting) results += awaited.settle(results);
}

void Combiner::acknowledge(int pe, const std::byte* results, std::size_t n) {
  const int executor = route(pe).executor;
  Flow& from = flow(executor);
  std::vector<Awaited> waiting;
  {
    const LockGuard guard(lock_);
    if (from.acked == from.closed) [[unlikely]]
      fatal("internal error: PE %d answered a packet that it was not sent", pe);
    waiting.swap(from.results[from.acked % kWindow]);
  }
  settle(pe, waiting, results, n);
  std::unique_ptr<Packet> next;
  unsigned epoch;
  {
    const LockGuard guard(lock_);
    epoch = from.epochs[from.acked % kWindow];
    waiting.clear();
    waiting.swap(from.results[from.acked % kWindow]);  // its memory is used again
    ++from.acked;
    from.detour = -1;
    next = take_ready(executor, from);
    if (next != nullptr) next->leaves(Leaves::answered);
  }
  if (next != nullptr) transmit(executor, std::move(next));
  // Release: who sees 0 sees the results.  The last one is the last use of the channel.
  from.pending.fetch_sub(1, std::memory_order_release);
  pending_.end(epoch);
}

void Combiner::flush_to(int pe) {
  const int executor = route(pe).executor;
  if (flow(executor).pending.load(std::memory_order_relaxed) != 0) want(executor);
}

// Sends the open packet now, or has it sent by whoever ends what is in its way.
void Combiner::want(int executor) {
  lock_.lock();
  Flow& to = flow(executor);
  to.wanted = to.open != nullptr;
  // One that would leave anyway does not leave because of this.
  if (to.wanted && !leaves_alone(to)) to.open->leaves(Leaves::wanted);
  std::unique_ptr<Packet> packet = take_ready(executor, to);
  lock_.unlock();
  if (packet != nullptr) transmit(executor, std::move(packet));
}

void Combiner::flush(std::int64_t limit, Leaves why) {
  if (next_deadline() == kNever) return;
  if (limit == kNever) limit = clock_now();  // other threads may go on opening packets
  for (;;) {
    lock_.lock();
    if (held_.empty() || held_.front().since > limit) break;
    const Held oldest = held_.front();
    held_.pop_front();
    nic_.forgotten();
    set_deadline();
    Flow& to = flow(oldest.executor);
    const bool valid = to.open != nullptr && to.closed == oldest.number;
    to.wanted |= valid;
    if (valid) to.open->leaves(why);
    std::unique_ptr<Packet> packet = valid ? close(oldest.executor, to) : nullptr;
    lock_.unlock();
    if (packet != nullptr) transmit(oldest.executor, std::move(packet));
  }
  lock_.unlock();
}

void Combiner::set_deadline() {
  deadline_.store(held_.empty() ? kNever : held_.front().since + kLongestHold, std::memory_order_relaxed);
}

void Combiner::wait_for_fenced(int pe) {
  const int executor = route(pe).executor;
  Flow& to = flow(executor);
  std::uint64_t fenced;  // of the fences so far: other threads may go on with theirs
  {
    const LockGuard guard(lock_);
    fenced = barrier(to);
  }
  for (Pause between;;) {
    {
      const LockGuard guard(lock_);
      if (to.acked >= fenced) return;
    }
    want(executor);
    pause(executor, between);
  }
}

void Combiner::wait_for_direct() {
  const auto describe = [this](WaitRecord& record) {
    int pe = 0;
    while (pe < nic_.npes() - 1 && inner_->ops->idle_to(inner_, pe)) ++pe;
    describe_wait(record, "an operation on another node", pe,
                  "for PE %d to complete what precedes the last fence", pe);
  };
  for (Pause between; follows_direct();) pause(WaitReason(describe), between);
}

// Among packets order is free.  Packets and direct operations are not ordered on the wire: what follows
// direct operations across a fence goes the direct way until they are complete, and each direct operation
// waits for the packets that a fence has put ahead of it (before_direct).  A program that goes on like that
// with what could be packed is better off if it waits once.
bool Combiner::fence() {
  const LockGuard guard(lock_);
  ++fences_;
  if (inner_->ops->idle(inner_)) return true;
  if (packing_.load(std::memory_order_relaxed) == Packing::batches) return false;
  fenced_ = {};
  if (shm::drained(inner_, fenced_)) return true;
  direct_fenced_.store(true, std::memory_order_relaxed);
  find_steady();
  if (diverted_.load(std::memory_order_relaxed) >= kMostDiverted) {
    diverted_.store(0, std::memory_order_relaxed);
    return false;
  }
  return inner_->ops->fence(inner_);
}

bool Combiner::still_follows_direct() {
  const LockGuard guard(lock_);  // no fence in between
  if (shm::drained(inner_, fenced_)) {
    direct_fenced_.store(false, std::memory_order_relaxed);
    find_steady();
  }
  return direct_fenced_.load(std::memory_order_relaxed);
}

}  // namespace shm::nic

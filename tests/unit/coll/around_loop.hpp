// SPDX-License-Identifier: BSD-3-Clause
// A network around the loop, for tests that say what happens to puts, and when.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../transports/loop.hpp"

namespace shm::test {

class AroundLoop : public Network {
 public:
  /// Around a loop of its own, or that one.
  explicit AroundLoop(std::unique_ptr<Network> inner = open_loop(make_loop_fabric()))
      : inner_(std::move(inner)) {}
  std::string describe() const override { return "around " + inner_->describe(); }
  Status add_segment(SegmentId id, void* base, std::size_t size) override {
    return inner_->add_segment(id, base, size);
  }
  Result<std::vector<std::byte>> address() override { return inner_->address(); }
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override {
    return inner_->connect(me, npes, lookup, sink);
  }
  Channel* open_channel(ChannelUse use) override { return new OwnChannel(*this, inner_->open_channel(use)); }
  void close_channel(Channel* channel) override {
    inner_->close_channel(own(channel).inner);
    delete &own(channel);
  }
  bool poll() override { return inner_->poll(); }
  int wait_fd() const override { return -1; }
  bool may_block() override { return false; }
  std::size_t copy_limit() const override { return inner_->copy_limit(); }
  bool supports(AtomicOp op, AtomicType type, bool fetching) const override {
    return inner_->supports(op, type, fetching);
  }

 protected:
  /// The arguments of NetOps::put.
  struct Put {
    int pe;
    RemoteAddress to;
    const std::byte* source;
    std::size_t n;
    bool copy;
    Completion* completion;
  };

  /// What becomes of a put; here it goes to the loop.
  virtual void put(Channel* inner, const Put& put) {
    inner->ops->put(inner, put.pe, put.to, put.source, put.n, put.copy, put.completion);
  }
  /// Is told of each get and each message, before it goes to the loop.
  virtual void sees_get(RemoteAddress /*from*/) {}
  virtual void sees_message(std::uint16_t /*id*/) {}
  /// Whether anything has not gone to the loop yet.
  virtual bool holds() const = 0;
  /// What fence() says.
  virtual bool orders() const = 0;

 private:
  struct OwnChannel : Channel {
    OwnChannel(AroundLoop& owner, Channel* wrapped) : Channel{&kOps}, network(owner), inner(wrapped) {}
    AroundLoop& network;
    Channel* inner;
  };
  static OwnChannel& own(Channel* channel) { return *static_cast<OwnChannel*>(channel); }
  static const OwnChannel& own(const Channel* channel) { return *static_cast<const OwnChannel*>(channel); }

  static void put(Channel* channel, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
                  Completion* completion) {
    const auto* bytes = static_cast<const std::byte*>(source);
    own(channel).network.put(own(channel).inner, Put{pe, to, bytes, n, copy, completion});
  }
  static void get(Channel* channel, int pe, void* dest, RemoteAddress from, std::size_t n,
                  Completion* completion) {
    own(channel).network.sees_get(from);
    own(channel).inner->ops->get(own(channel).inner, pe, dest, from, n, completion);
  }
  static void amo(Channel* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
                  const void* compare, void* fetch, Completion* completion) {
    own(channel).inner->ops->amo(own(channel).inner, pe, at, op, type, value, compare, fetch, completion);
  }
  static void send(Channel* channel, int pe, std::uint16_t id, const void* message, std::size_t n) {
    own(channel).network.sees_message(id);
    own(channel).inner->ops->send(own(channel).inner, pe, id, message, n);
  }
  static void flush(Channel* channel) { own(channel).inner->ops->flush(own(channel).inner); }
  static bool idle(const Channel* channel) {
    return !own(channel).network.holds() && own(channel).inner->ops->idle(own(channel).inner);
  }
  static bool idle_to(const Channel* channel, int) { return idle(channel); }
  static bool fence(Channel* channel) { return own(channel).network.orders(); }
  static constexpr NetOps kOps = {put, get, amo, send, flush, idle, idle_to, fence};

  const std::unique_ptr<Network> inner_;
};

}  // namespace shm::test

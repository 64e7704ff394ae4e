// SPDX-License-Identifier: BSD-3-Clause
// A page cache step by step: a pager with a clock that stands, and a test that plays the other node.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pager_fixture.hpp"

namespace shm::nvm {

// What a pager does to the world outside, in order.
struct HostStep {
  enum What { map, protect, unmap, put, get, send } what;
  PageMessage message{};  // of a send
  bool latched = false;   // the page, at that moment
  bool writable = false;  // of a mapping
};

// The host of PE 0, alone on node 0.  PE 1, on node 1, is the test.
class OneOfTwo final : public Host {
 public:
  explicit OneOfTwo(const Pool& pool) : pool_(pool) {}

  bool map(std::byte*, std::size_t, std::size_t, bool writable) override {
    record({.what = HostStep::map, .writable = writable});
    return true;
  }
  bool protect(std::byte*, std::size_t, bool writable) override {
    record({.what = HostStep::protect, .writable = writable});
    return true;
  }
  bool unmap(std::byte*, std::size_t) override {
    record({HostStep::unmap});
    return true;
  }
  bool give_up_spares() override { return false; }
  void make_spares() override {}
  void answer(int, const std::byte*, std::size_t) override { ADD_FAILURE() << "an answer"; }
  void send(int pe, const std::byte* packet, std::size_t n) override {
    EXPECT_EQ(pe, 1);
    EXPECT_LE(n, kMaxMessage);
    ++packets;
    for (const std::byte* const end = packet + n; packet != end;) {
      HostStep step{HostStep::send};
      std::memcpy(&step.message, packet, sizeof step.message);
      packet += sizeof step.message + step.message.n;
      step.latched = pool_.word(step.message.page).latched();
      record(step);
    }
  }
  void put(int pe, std::uint64_t, const std::byte*, std::size_t, Completion& done) override {
    EXPECT_EQ(pe, 1);
    record({HostStep::put});
    if (puts_end && !keeps_order) return done.set_done();
    held_ = &done;
  }
  bool messages_follow_puts() const override { return keeps_order; }
  void get(int pe, std::uint64_t offset, std::byte* bytes, std::size_t n, Completion& done) override {
    EXPECT_EQ(pe, 1);
    std::memset(bytes, static_cast<int>(offset), n);
    record({HostStep::get});
    if (gets_end) return done.set_done();
    held_ = &done;
  }
  /// The one that did not end when it was begun.
  void end_put() { held_.load()->set_done(); }
  void end_get() { held_.load()->set_done(); }
  void drive() override {
    ++drives;
    if (on_drive) on_drive();
  }
  std::chrono::steady_clock::time_point now() const override { return clock.now(); }

  std::vector<HostStep> steps() const {
    const std::scoped_lock guard(mutex_);
    return steps_;
  }
  /// The n-th of them, from 0, once it has happened.
  HostStep step(std::size_t n) const {
    await("step " + std::to_string(n), [&] { return steps().size() > n; });
    return steps().at(n);
  }

  TestClock clock;
  std::atomic<bool> puts_end{true}, gets_end{true};
  /// Whether messages follow puts; these then end when end_put() is called.
  std::atomic<bool> keeps_order{false};
  std::atomic<int> packets{0};  // that were sent
  std::atomic<int> drives{0};
  std::function<void()> on_drive;

 private:
  void record(const HostStep& step) {
    const std::scoped_lock guard(mutex_);
    steps_.push_back(step);
  }

  const Pool& pool_;
  std::atomic<Completion*> held_{nullptr};
  mutable std::mutex mutex_;
  std::vector<HostStep> steps_;
};

class PageCacheTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kAhead = 4;
  static constexpr PageNumber kOwn = 3, kFar = kSegmentPages + 3;  // pages of PE 0 and of PE 1

  explicit PageCacheTest(bool shares_rounds = false) {
    nodes.members.resize(2);
    nodes.add(0);
    nodes.add(1);
    auto made = std::make_unique<TestDevice>(
        TestDeviceOptions{.size = kSegmentPages * kPageBytes, .never_blocks = shares_rounds});
    device = made.get();
    pager = std::make_unique<Pager>(host, pool, nodes, std::move(made),
                                    Pager::Settings{0, reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40),
                                                    false, true, kAhead, ReplacementKind::vgasnet});
    pager->start();
  }
  Asked ask(PageRequest::Kind kind, PageNumber page, Access access = Access::read) const {
    return Asked(pool, 0, 0, kind, access, page);
  }
  /// What was sent before has been taken, and what waits has been tried again, some times.
  void ping() const {
    for (int i = 0; i < 10; ++i) Asked(pool, 0, 0, RangeCommand::room, 0, 0).wait();
  }
  /// From node 1; several in one packet.
  void send(PageNumber page, Message message) const { send(std::vector{std::pair{page, message}}); }
  void send(const std::vector<std::pair<PageNumber, Message>>& messages) const {
    std::vector<PageMessage> packet;
    for (const auto& [page, message] : messages) {
      packet.push_back({page, message, 0, 0, 0});
      packet.back().message.from = 1;
    }
    pager->receive(reinterpret_cast<const std::byte*>(packet.data()), packet.size() * sizeof(PageMessage));
  }
  /// Node 1 puts the page where it is wanted, and says so.
  void grant(PageNumber page, Event kind, const Message& request, std::uint64_t version) const {
    std::byte* frame = pool.bytes(0) - pool.offset(0) + request.tag;
    std::memset(frame, 7, kPageBytes);
    send(page, {.kind = kind, .data = true, .to = 0, .requester = 0, .version = version, .tag = request.tag});
  }
  /// Node 1 takes the page, and gives it back: from `there` in its pool this one begins to get it, step 3.
  void fetch_from(PageNumber page, std::uint64_t there) {
    send(page, {.kind = Event::ask_write, .to = 0, .requester = 1});
    const Message granted = host.step(1).message.message;
    send(page, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
    send(page, {.kind = Event::ask_evict, .to = 0, .requester = 1});
    const Message leave = host.step(2).message.message;
    EXPECT_EQ(leave.kind, Event::leave);
    host.gets_end = false;
    PageMessage sent{page, leave, there, 1, 0};
    sent.message.kind = Event::done;
    sent.message.data = true;
    std::swap(sent.message.from, sent.message.to);
    pager->receive(reinterpret_cast<const std::byte*>(&sent), sizeof sent);
    EXPECT_EQ(host.step(3).what, HostStep::get);
  }
  /// A page that a thread has faulted in, to write to it, long ago.
  void map_long_ago(PageNumber page) {
    host.clock.stop();
    ask(PageRequest::Kind::map, page, Access::write).wait();
    host.clock.advance(std::chrono::milliseconds(1));
  }
  void use(PageNumber page) const { static_cast<void>(Latch(pool, 0, page, Access::read).frame()); }

  PoolMemory memory{PoolShape{kPageBytes, kPoolFrames, kSegmentPages, 2, 1}};
  const Pool& pool = memory.pool;
  Nodes nodes;
  OneOfTwo host{pool};
  TestDevice* device;
  std::unique_ptr<Pager> pager;
};

}  // namespace shm::nvm

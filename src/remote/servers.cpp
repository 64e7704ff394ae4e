// SPDX-License-Identifier: BSD-3-Clause
#include "remote/servers.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "base/human.hpp"
#include "base/service_thread.hpp"
#include "remote/message_check.hpp"
#include "remote/wire.hpp"

namespace shm::remote {

using Clock = std::chrono::steady_clock;

namespace {

// Shorter waits are what pages cost.
constexpr std::chrono::milliseconds kWorthTelling{10};

void tell(WaitWatch& watch, int server, const char* to_do) {
  watch.look(WaitReason([server, to_do](WaitRecord& record) {
    describe_wait(record, "remote memory", WaitRecord::kNobody, "for memory server %d to %s", server, to_do);
  }));
}

}  // namespace

MessageSink Servers::sink(Servers& servers) {
  return [&servers](int from, std::uint16_t id, const std::byte* message, std::size_t n) {
    servers.on_message(from, id, message, n);
  };
}

void Servers::open(std::unique_ptr<Network> link) {
  link_ = std::move(link);
  // Nothing here allocates: who waits for room may be a handler that has interrupted malloc.
  link_->watch_room([this](int peer, Clock::time_point since, WaitWatch& watch) {
    look_for_answer(peer - settings_.pes, since, watch);
  });
  channel_ = link_->open_channel();
}

Servers::~Servers() {
  if (channel_ == nullptr) return;
  const SignalsBlocked blocked;
  drive_until([this] { return idle(); });
  link_->close_channel(channel_);
}

std::string Servers::describe() const {
  return std::to_string(count()) + " memory server" + (count() == 1 ? "" : "s") + " (" + link_->describe() +
         ")";
}

std::vector<ServerUse> Servers::uses() const {
  std::vector<ServerUse> all;
  for (const ServerUseCounter& each : uses_) all.push_back(each.use());
  return all;
}

void Servers::begin_uses_anew() {
  for (ServerUseCounter& each : uses_) each.begin_anew();
}

// Runs on whoever polls, in a signal handler perhaps.
void Servers::on_message(int from, std::uint16_t id, const std::byte* message, std::size_t n) {
  check_message(from, kLendAnswer, wrong_with_answer(from, id, message, n, settings_.pes, awaited_.load()));
  if (id == static_cast<std::uint16_t>(LendMessage::ready)) {
    ReadyPages* asker = asker_.load(std::memory_order_acquire);
    if (asker != nullptr &&
        !asker->page_is_ready(from - settings_.pes, message_at<PageReady>(message).number))
      refuse_message(from, kLendAnswer, kNotAskedFor);
    return;
  }
  check_who_answers(from, kLendAnswer, peer(asked_));
  const auto answer = message_at<LendAnswer>(message);
  granted_ = answer.granted;
  offset_ = answer.offset;
  free_ = answer.free;
  awaited_.store(0, std::memory_order_release);
}

template <class Message>
void Servers::send(int server, LendMessage id, const Message& message) {
  channel_->ops->send(channel_, peer(server), static_cast<std::uint16_t>(id), &message, sizeof message);
}

template <class Request>
void Servers::ask(int server, LendMessage id, Request request) {
  request.number = ++number_;
  asked_ = server;
  awaited_.store(request.number, std::memory_order_release);
  {
    const SignalsBlocked blocked;
    send(server, id, request);
  }
  const Clock::time_point since = Clock::now();
  WaitWatch watch;
  for (Backoff backoff; awaited_.load(std::memory_order_acquire) != 0;) {
    bool worked;
    {
      const SignalsBlocked blocked;
      worked = poll();
    }
    if (worked) continue;
    backoff.pause();
    look_for_answer(server, since, watch);
  }
}

std::optional<std::uint64_t> Servers::lease(int server, std::uint64_t bytes) {
  const LockGuard guard(asking_);
  ask(server, LendMessage::lease, LeaseRequest{0, bytes});
  if (granted_ != 0) {
    use(server).lease(bytes);
    return offset_;
  }
  last_free_ = free_;
  return std::nullopt;
}

void Servers::give_back(int server, std::uint64_t offset, std::uint64_t bytes) {
  const SignalsBlocked blocked;
  send(server, LendMessage::give_back, GiveBack{offset, bytes});
  use(server).give_back(bytes);
  // Who frees memory may not drive the link for long, and others may wait for it.
  constexpr int kPolls = 100;
  for (int polls = 0; polls < kPolls && !channel_->ops->idle_to(channel_, peer(server)); ++polls) poll();
}

void Servers::finish() {
  const LockGuard guard(asking_);
  for (int server = 0; server < count(); ++server) ask(server, LendMessage::finish, FinishRequest{0});
}

void Servers::read(const Place& from, void* into, std::size_t n, Completion& done) {
  use(from.server).read(n);
  channel_->ops->get(channel_, peer(from.server), into, {SegmentId::lent, from.offset}, n, &done);
}

void Servers::write(const Place& to, const void* from, std::size_t n, Completion& done) {
  use(to.server).write(n);
  channel_->ops->put(channel_, peer(to.server), {SegmentId::lent, to.offset}, from, n, false, &done);
}

void Servers::request_page(const Place& from, std::size_t n, std::uint64_t number) {
  send(from.server, LendMessage::page, PageRequest{number, from.offset, n});
}

// A process that has not looked for long was stopped itself, or the whole machine was, and servers with it:
// they have their time again from then on.  Between waits nobody looks either, which changes nothing.
Clock::duration Servers::waited_since(Clock::time_point since) const {
  const Clock::time_point now = Clock::now();
  const auto longest_pause = std::chrono::duration<double>(settings_.patience / 2);
  // In this order: who finds that somebody has just looked finds what that one has seen.
  if (now - last_look_.load(std::memory_order_acquire) > longest_pause)
    back_since_.store(now, std::memory_order_relaxed);
  last_look_.store(now, std::memory_order_release);
  return now - std::max(since, back_since_.load(std::memory_order_relaxed));
}

void Servers::look_for_answer(int server, Clock::time_point since, WaitWatch& watch) const {
  const Clock::duration waited = waited_since(since);
  if (waited < kWorthTelling) return;
  tell(watch, server, "answer");
  if (waited > std::chrono::duration<double>(settings_.patience))
    lost_peer("memory server %d has not answered for %s s (SHMEM_REMOTE_TIMEOUT): it has probably died",
              server, plain_number(settings_.patience).c_str());
}

void Servers::look_for_silence(Clock::time_point since, WaitWatch& watch) const {
  const Clock::duration waited = waited_since(since);
  if (waited < kWorthTelling) return;
  for (int server = 0; server < count(); ++server) {
    if (channel_->ops->idle_to(channel_, peer(server))) continue;
    tell(watch, server, "move a page");
    if (waited < std::chrono::duration<double>(settings_.patience)) return;
    lost_peer("memory server %d has not moved a page for %s s (SHMEM_REMOTE_TIMEOUT): it has probably died",
              server, plain_number(settings_.patience).c_str());
  }
}

}  // namespace shm::remote

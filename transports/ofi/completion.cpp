// SPDX-License-Identifier: BSD-3-Clause
// The end of an operation: completions, waiting for room, errors.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/fatal.hpp"
#include "base/limits.hpp"
#include "ofi/engine.hpp"

namespace shm::ofi {
namespace {

using Clock = std::chrono::steady_clock;

// A PE that polls accepts a connection within milliseconds, even if it only polls now and then.
constexpr std::chrono::seconds kConnectLimit{120};
constexpr std::chrono::seconds kWorthListening{1};

const char* name(OpKind kind) {
  switch (kind) {
    case OpKind::put: return "put to";
    case OpKind::get: return "get from";
    case OpKind::atomic: return "atomic on";
    case OpKind::message: return "message to";
    case OpKind::receive: return "receive from";
  }
  return "operation on";
}

}  // namespace

bool Engine::reap() {
  fi_cq_tagged_entry entries[32];
  const ssize_t n = fi_cq_read(endpoint_->cq(), entries, std::size(entries));
  if (n == -FI_EAGAIN) return false;
  if (n < 0) [[unlikely]] {
    report_error();
    return true;
  }
  for (ssize_t i = 0; i < n; ++i) {
    Op* op = static_cast<Op*>(entries[i].op_context);
    if (op == nullptr) [[unlikely]]
      continue;
    if (op->kind == OpKind::receive) {
      Receive* receive = reinterpret_cast<Receive*>(op);
      receive->length = entries[i].len;
      arrived_.push_back(receive);
    } else {
      complete(op);
    }
  }
  return true;
}

void Engine::complete(Op* op) {
  Peer& peer = peers_[static_cast<std::size_t>(op->pe)];
  peer.reached = true;
  ++peer.completed;
  if (op->kind != OpKind::message) ++peer.life;  // that one was taken by the system, at least
  if (op->channel == own_.get() && op->kind == OpKind::get) [[unlikely]] {
    peer.probing = false;
    if (peer.overtaken < kMostOvertaken) ++peer.overtaken;
  } else if (op->kind != OpKind::message) {
    peer.overtaken = peer.answers = 0;
  }
  if (op->kind == OpKind::atomic && op->fetch != nullptr) std::memcpy(op->fetch, op->result(), op->width);
  release(op);
}

// Gives everything back and tells whoever waits.  After set_done() the completion may be gone, and after the
// last counter the channel may be.
void Engine::release(Op* op) {
  Completion* completion = op->completion;
  if (op->split != nullptr) {
    completion = nullptr;
    if (--op->split->parts == 0) {
      completion = op->split->completion;
      delete op->split;
    }
  }
  if (op->buffer != nullptr) op->pool->give(op->buffer);
  if (op->temporary != nullptr) fi_close(&op->temporary->fid);
  Peer& peer = peers_[static_cast<std::size_t>(op->pe)];
  --peer.outstanding;
  if (!deferred_.empty()) [[unlikely]] {  // there is room, and the descriptor has told already
    deferred_may_go_ = true;
    backlog_.store(true, std::memory_order_relaxed);
  }
  if (op->kind == OpKind::message) --peer.messages;
  if (op->kind == OpKind::atomic) --peer.atomics;

  OfiChannel* channel = op->channel;
  const auto pe = static_cast<std::size_t>(op->pe);
  const bool atomic = op->kind == OpKind::atomic;
  const unsigned epoch = op->epoch;
  ops_.give(op);
  if (completion != nullptr) completion->set_done();
  if (atomic) channel->atomics.fetch_sub(1, std::memory_order_release);
  channel->to[pe].fetch_sub(1, std::memory_order_release);
  channel->outstanding.end(epoch);
}

// Makes what progress it can, then lets other threads have the lock, and the core.  Handlers run too, unless
// they run already: a thread that only posts must still answer its peers, or both would wait for each other's
// buffers.
void Engine::wait_room(Stall& stall) {
  const int pe = stall.pe;
  const std::uint64_t life = peers_[static_cast<std::size_t>(pe)].life;
  if (stall.tries++ == 0 || life != stall.life) stall.since = Clock::now();
  stall.life = life;
  bool worked = reap();
  const bool messages = inbox_.survey() || !arrived_.empty();
  lock_.unlock();
  if (messages && poller_.try_lock()) {
    worked |= deliver();
    poller_.unlock();
  } else if (messages) {
    backlog_.store(true, std::memory_order_relaxed);  // who holds it may have looked already
  }
  // A peer may have no room for us before we serve it.
  if (!worked && first_ != nullptr) worked = first_->poll();
  if (worked) stall.backoff.restart();
  if (stall.tries > 20) {
    look_after(stall);
    if (!worked) stall.backoff.pause();
  }
  lock_.lock();
  if ((stall.tries & 1023) == 0) check_connection(pe, stall.kind, stall.since);
}

// Ends the job if the provider has had no room since long ago, and not because of what is under way.
void Engine::check_connection(int pe, OpKind kind, Clock::time_point since) const {
  const Peer& peer = peers_[static_cast<std::size_t>(pe)];
  if (Clock::now() - since <= kConnectLimit || !has_credit(peer, kind) || busy()) return;
  lost_peer("%s %s: libfabric %s has had no connection for %d s: it has died or does not make progress",
            name(kind), process_name(pe).c_str(), endpoint_->provider().c_str(),
            static_cast<int>(kConnectLimit.count()));
}

// Tells who asks what is waited for, and ends the job if there will never be room.
void Engine::look_after(Stall& stall) {
  const int pe = stall.pe;
  const auto describe = [pe](WaitRecord& record) {
    describe_wait(record, "an operation", pe, "for room to send to %s", process_name(pe).c_str());
  };
  if (watch_room_ != nullptr) {
    watch_room_(pe, stall.since, stall.watch);
  } else {
    stall.watch.look(WaitReason(describe));
  }
  if (stall.tries % 64 != 0 || Clock::now() - stall.since < kWorthListening) return;
  look_for_descriptors(stall);
  if (joined_) judge_silence(silence_of(pe, period_of_questions()), WaitReason(describe));
}

// Without a connection, and without a descriptor for one, there will never be room.
void Engine::look_for_descriptors(const Stall& stall) const {
  if (peers_[static_cast<std::size_t>(stall.pe)].reached || !open_files_are_used_up()) return;
  lost_peer("%s %s: there is no connection, and all open files of this process are in use%s",
            name(stall.kind), process_name(stall.pe).c_str(), limit_behind(EMFILE).c_str());
}

// Providers lose what they had in flight when a connection breaks, so the first error is the last.
void Engine::report_error() {
  fi_cq_err_entry entry{};
  const ssize_t n = fi_cq_readerr(endpoint_->cq(), &entry, 0);
  if (n == -FI_EAGAIN) return;
  if (n < 0) fatal("libfabric: fi_cq_readerr: %s", endpoint_->library().error(n));
  char detail[128] = "";
  const char* text = fi_cq_strerror(endpoint_->cq(), entry.prov_errno, entry.err_data, detail, sizeof detail);
  const char* reason = endpoint_->library().error(entry.err);
  const std::string provider = endpoint_->provider();

  const auto* record = static_cast<const std::byte*>(entry.op_context);
  if (record >= ops_.base() && record < ops_.base() + ops_.bytes()) {
    const Op* op = static_cast<const Op*>(entry.op_context);
    lost_peer("%s %s failed: %s (libfabric %s: %s): %s", name(op->kind), process_name(op->pe).c_str(), reason,
              provider.c_str(), text != nullptr ? text : "", kLost);
  }
  // A stranger's: no PE sends what a receive does not take, or waits to be fetched.  That a PE has died is
  // found out otherwise.
  const auto* receive = static_cast<Receive*>(entry.op_context);
  const bool received = receive >= receives_.data() && receive < receives_.data() + receives_.size();
  // Nor a packet that rxm does not know, for which it names no operation; a connection that breaks is another
  // error.
  if (received || entry.err == FI_EINVAL) {
    count(Stat::refused_messages);
    if (received) post_again(&receives_[static_cast<std::size_t>(receive - receives_.data())]);
    return;
  }
  // rxm reports the atomics that a broken connection took along only once, and does not say which.
  std::string victims;
  for (std::size_t pe = 0; pe < peers_.size() && victims.size() < 200; ++pe) {
    if (peers_[pe].outstanding != 0)
      victims += (victims.empty() ? "" : ", ") + process_name(static_cast<int>(pe));
  }
  if (victims.empty()) return;  // a peer that had nothing of ours has left
  lost_peer("an operation on %s failed: %s (libfabric %s: %s): %s", victims.c_str(), reason, provider.c_str(),
            text != nullptr ? text : "", kLost);
}

void Engine::name_injected(std::string& names) const NO_THREAD_SAFETY_ANALYSIS {
  constexpr std::size_t kEnough = 100;
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    if (!peers_[pe].injected) continue;
    if (names.size() >= kEnough) {
      names += " or another";
      return;
    }
    names += (names.empty() ? "" : " or ") + process_name(static_cast<int>(pe));
  }
}

void Engine::fail_post(const Op& op, long code) const {
  lost_peer("%s %s failed: libfabric %s: %s%s", name(op.kind), process_name(op.pe).c_str(),
            endpoint_->provider().c_str(), endpoint_->library().error(code),
            limit_behind(static_cast<int>(-code)).c_str());
}

void Engine::fail_range(int pe, RemoteAddress at, std::size_t n, const char* what) const {
  static constexpr const char* kSegmentNames[kSegments] = {"symmetric heap", "static data", "pool of pages",
                                                           "lent memory"};
  const auto segment = static_cast<std::size_t>(at.segment);
  fatal("%s %s: %zu bytes at offset %#llx are outside its %s of %#llx bytes", what, process_name(pe).c_str(),
        n, static_cast<unsigned long long>(at.offset), kSegmentNames[segment],
        static_cast<unsigned long long>(peer(pe).segments[segment].size));
}

}  // namespace shm::ofi

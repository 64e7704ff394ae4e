// SPDX-License-Identifier: BSD-3-Clause
// Progress: the agent (a thread that drives the network while the program computes), pollers and message
// handlers.
//
// The seam through which services that must act at the target plug in: a handler runs when a message for it
// arrives, a poller whenever somebody makes progress.  Both run on the agent or on an application thread that
// waits inside the library.
//
// The agent blocks when idle and is gated off while application threads poll: two threads that poll one
// network only take turns in its lock.  README.md has the states and who wakes whom.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "base/spin.hpp"
#include "transports/net.hpp"

namespace shm {

/// Runs when a message for it arrives.  May send messages; must not wait, nor poll.  `argument` as
/// registered.
using MessageHandler = void (*)(void* argument, int from_pe, const std::byte* message, std::size_t n);

/// Called again and again while progress is made; returns whether it did anything.  Must not wait.
using Poller = bool (*)(void* argument);

/// Where work for a poller comes from, beside the network: threads that block wake up for it.
struct WorkSource {
  int fd;                    // readable: there is work; -1: only looking again tells
  bool (*may_block)(void*);  // as in Network; of `argument`
  void* argument;
  long longest_us;  // to block without a poll
};

/// Message numbers; a peer must know the same.
enum class MessageId : std::uint16_t {
  collective,
  nvm_operation,
  nvm_page,
  nvm_answer,
  kv_request,
  kv_reply,
  user_first
};
inline constexpr std::size_t kMaxHandlers = 32;

/// What becomes of the operations that this PE holds back when a thread begins to wait.
enum class HeldBack : bool {
  leaves,  // the peer may have to act on one of them before it does what is waited for
  stays,   // what is waited for has left, and is answered whatever they do
};

/// Thread safety: poll(), send() and the gate from any thread; registration before start() or while no
/// message for the handler can arrive.
class Progress {
 public:
  Progress(Network& network, Channel* channel, std::uint64_t spin_us);
  ~Progress();

  /// Starts and stops the agent.
  void start();
  void stop();

  static void set_handler(std::uint16_t id, MessageHandler handler, void* argument);
  static void add_poller(Poller poller, void* argument);
  static void remove_poller(Poller poller, void* argument);

  /// Has `flush` called when a thread begins to wait, or tests for what it waits for; null: nothing.  It
  /// sends what a service holds, and neither waits nor polls.  Registered as pollers are.
  static void set_flusher(void (*flush)(void*), void* argument);
  /// Network::flush_all(), and what the flusher has.
  void flush_all();

  /// The descriptor may be closed when remove_source() has returned.
  void add_source(const WorkSource& source);
  void remove_source(void* argument);

  /// Dispatches one message; given to Network::connect().
  static void deliver(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n);

  /// Makes progress once; returns whether anything happened.
  bool poll();
  /// Whether this thread is inside the network's poll, and will run the pollers after it.
  static bool polling();

  /// Has handler `id` run at `pe`.  REQUIRES: n <= kMaxMessage.
  void send(int pe, std::uint16_t id, const void* message, std::size_t n);

  /// Has the agent look soon: something is left that only a poll can finish, and whoever polls now may not
  /// come again.
  void wake();

  /// While at least one thread insists, the agent drives the network whoever else does: for a thread that
  /// waits where it cannot poll, such as a signal handler, which may have interrupted the one that polls.
  /// Async-signal-safe.
  void insist();
  void relent() { insisting_.fetch_sub(1, std::memory_order_relaxed); }

  /// To be called after an operation was posted.  A program that posts one after the other drives the network
  /// itself: it polls when it has not for about kPostPeriod, and the agent, which would only be in its way,
  /// keeps off.
  void posted() {
    // Reading the clock costs as much as packing an operation.  Lost counts of other threads do no harm.
    const unsigned posts = posts_.load(std::memory_order_relaxed) + 1;
    posts_.store(posts, std::memory_order_relaxed);
    if (posts % kPostsPerLook == 0) [[unlikely]]
      return poll_now_and_then();
    rouse();
  }

  /// To be called after something was posted by a channel of the caller's own: wakes the agent for what only
  /// a poll can finish.
  void rouse() {
    if (network_.needs_poll()) [[unlikely]]
      rouse_agent();
  }

  /// An application thread that polls keeps the agent off while this lives.  Cheap: the agent looks now and
  /// then.
  class Gate {
   public:
    explicit Gate(Progress& progress, HeldBack held = HeldBack::leaves);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// Prepares to block; returns whether it is safe to.  May make progress itself: look once more at what is
    /// waited for between arm() and block().
    bool arm();

    /// Blocks until the network has work, or `microseconds` have passed; returns whether it has.  What peers
    /// do to this PE's memory completes nothing here, so a poll that found nothing to report may still have
    /// worked: this is how a waiting thread learns of such traffic.  The agent stays off for as long as this
    /// gate lives.
    bool block(long microseconds);

   private:
    void sleep_begins() {
      if (!sleeps_) progress_.network_.begin_sleep();
      sleeps_ = true;
    }
    void sleep_ends() {
      if (sleeps_) progress_.network_.end_sleep();
      sleeps_ = false;
    }

    Progress& progress_;
    bool deep_ = false;
    bool sleeps_ = false;  // has said so
  };

 private:
  friend class Gate;
  static constexpr unsigned kPostsPerLook = 16;  // at the clock
  void poll_now_and_then();
  void run();
  bool gated();
  void stay_off();
  void block_agent();
  void wait_for_descriptor(int fd, long microseconds);
  bool may_block();
  long add_sources(std::vector<pollfd>& events, long microseconds);
  void rouse_agent();
  void touch() { entered_.store(entered_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  Network& network_;
  Channel* channel_;
  const std::uint64_t spin_us_;
  std::thread agent_;
  int wake_event_;
  Mutex sources_mutex_;
  std::vector<WorkSource> sources_ GUARDED_BY(sources_mutex_);
  std::atomic<bool> have_sources_{false};
  std::uint64_t seen_ = 0;  // of entered_, by the agent
  long nap_ = 50;           // microseconds, of the agent
  std::atomic<bool> stop_{false};
  std::atomic<int> inside_{0};              // application threads that poll
  std::atomic<int> deep_{0};                // of these, threads that will say when they leave
  std::atomic<int> insisting_{0};           // threads that want the agent to poll
  std::atomic<bool> asleep_{false};         // the agent blocks, or is about to
  std::atomic<unsigned> posts_{0};          // by threads that post
  std::atomic<std::int64_t> last_poll_{0};  // of a thread that posts, in nanoseconds
  std::atomic<std::uint64_t> entered_{0};   // grows while application threads see to the network
};

}  // namespace shm

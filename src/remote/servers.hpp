// SPDX-License-Identifier: BSD-3-Clause
// A PE's view of the job's memory servers: leases, and bytes that are read and written there.
//
// The link to them is a network of its own, apart from that of the PEs: a thread that faults may hold the
// locks of that one.  Of this one nobody holds a lock while a signal handler runs: who uses it takes no
// signals meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/wait_report.hpp"
#include "remote/placement.hpp"
#include "remote/server_use.hpp"
#include "remote/wire.hpp"
#include "transports/net.hpp"

namespace shm::remote {

/// Who asks servers for pages, and is told when they are ready to be read.
class ReadyPages {
 public:
  /// On whoever polls: does not wait, polls nothing.  Async-signal-safe.  False: that server has not been
  /// asked for it.
  [[nodiscard]] virtual bool page_is_ready(int server, std::uint64_t number) = 0;

 protected:
  ~ReadyPages() = default;
};

class Servers {
 public:
  struct Settings {
    int pes;          // of the job; server k is peer pes + k of the link
    int count;        // servers
    double patience;  // seconds without an answer after which a server is given up
  };
  /// `link` has been connected with sink().
  explicit Servers(const Settings& settings)
      : settings_(settings), uses_(static_cast<std::size_t>(settings.count)) {}
  static MessageSink sink(Servers& servers);
  void open(std::unique_ptr<Network> link);
  /// Waits until what was sent has been taken.
  ~Servers();

  int count() const { return settings_.count; }
  std::string describe() const;
  /// What this PE has had of each, since the last begin_uses_anew().  Any thread.
  std::vector<ServerUse> uses() const;
  void begin_uses_anew();

  // These wait for an answer: not in a signal handler.  Any thread, one after the other.

  /// Room for `bytes`, a multiple of kLeaseGrain, that reads as zeros: an offset in the server's memory; or
  /// nothing if it has no such piece.
  std::optional<std::uint64_t> lease(int server, std::uint64_t bytes);
  /// What was leased, or a part of it.  Does not wait for the server.
  void give_back(int server, std::uint64_t offset, std::uint64_t bytes);
  /// This PE needs nothing of what it has leased any more.  The servers wait for all PEs to say so.
  void finish();
  /// Of the last lease that was refused: bytes that the server had left.
  std::uint64_t last_free() const { return last_free_; }

  // Any thread that takes no signals, in a signal handler too.

  /// As NetOps: posted, and complete later.
  void read(const Place& from, void* into, std::size_t n, Completion& done);
  void write(const Place& to, const void* from, std::size_t n, Completion& done);
  /// Tells the server that n bytes there are about to be read, by message.  It answers with `number`, which
  /// whoever has last called tell_ready() is told.
  void request_page(const Place& from, std::size_t n, std::uint64_t number);
  void tell_ready(ReadyPages* asker) { asker_.store(asker, std::memory_order_release); }
  /// Makes progress once; returns whether anything happened.
  bool poll() { return link_->poll(); }
  /// To be called now and then by who waits for a transfer since `since`: says so to who asks, and ends the
  /// job if that is too long, naming a server that has not answered.  `watch` is that wait's.
  void look_for_silence(std::chrono::steady_clock::time_point since, WaitWatch& watch) const;
  /// Drives the link until done() holds, and ends the job as look_for_silence() does.
  template <class Done>
  void drive_until(Done done) {
    const auto since = std::chrono::steady_clock::now();
    WaitWatch watch;
    for (Backoff backoff; !done();) {
      if (poll()) {
        backoff.restart();
      } else {
        backoff.pause();
        look_for_silence(since, watch);
      }
    }
  }
  /// As look_for_silence(), for who waits for an answer of `server`.
  void look_for_answer(int server, std::chrono::steady_clock::time_point since, WaitWatch& watch) const;
  /// Whether nothing of this PE's is under way.
  bool idle() const { return channel_->ops->idle(channel_); }

 private:
  int peer(int server) const { return settings_.pes + server; }
  ServerUseCounter& use(int server) { return uses_[static_cast<std::size_t>(server)]; }
  void on_message(int from, std::uint16_t id, const std::byte* message, std::size_t n);
  /// How long the calling wait has lasted since `since`, as far as this process was running.
  std::chrono::steady_clock::duration waited_since(std::chrono::steady_clock::time_point since) const;
  template <class Message>
  void send(int server, LendMessage id, const Message& message);
  template <class Request>
  void ask(int server, LendMessage id, Request request) REQUIRES(asking_);

  const Settings settings_;
  std::vector<ServerUseCounter> uses_;  // by server
  std::unique_ptr<Network> link_;
  Channel* channel_ = nullptr;

  std::atomic<ReadyPages*> asker_{nullptr};
  Mutex asking_;
  std::uint64_t number_ GUARDED_BY(asking_) = 0;       // of the last request
  std::atomic<std::uint64_t> awaited_{0};              // the request whose answer is awaited; 0: none
  int asked_ = 0;                                      // the server that it was sent to
  std::uint64_t granted_ = 0, offset_ = 0, free_ = 0;  // its answer, once awaited_ is 0 again
  std::uint64_t last_free_ = 0;

  // By whoever waits.
  mutable std::atomic<std::chrono::steady_clock::time_point> last_look_{}, back_since_{};
};

}  // namespace shm::remote

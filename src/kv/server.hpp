// SPDX-License-Identifier: BSD-3-Clause
// Requests of other nodes to this PE: executed on its shard, by whoever polls the network, or, if the shard
// is on NVM, by the executor's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <vector>

#include "base/mutex.hpp"
#include "kv/hot_keys.hpp"
#include "kv/lean.hpp"
#include "kv/shard.hpp"
#include "kv/wire.hpp"

namespace shm::kv {

class MatchedEngine;

/// Packets of one PE are executed in order.  Where a lock of the shard is not free soon, the rest of the
/// packet and what comes after it from that PE wait for the next poll.  A get that waits for its element is
/// put aside, behind nobody, and looked at after each packet and in each poll.
class Server {
 public:
  /// `hash`: of the table's keys.
  Server(std::uint32_t table, KeyHash hash) : table_(table), hash_(hash) {}

  /// The table, whose shortest ways are for gets of runs.  Before anything comes.
  void set_lean(const LeanTable& table) { lean_ = &table; }
  /// To be told what requests have changed; null: nobody.  Any thread may be executing requests.
  void set_matched(const MatchedEngine* engine) { matched_.store(engine, std::memory_order_release); }

  /// A packet has come, whose head has been looked at.  Ends the job, naming the PE, if it cannot be meant
  /// (kv/message_check).  With a shard in memory it runs in a handler: neither waits nor polls.  With one on
  /// NVM it waits for locks and pages, and executes all of it.
  template <class Memory>
  void take(const Shard<Memory>& shard, int from, const std::byte* packet, std::size_t n);
  /// Goes on with what waits; returns whether anything does, or has got its element.
  bool resume(const Shard<Mapped>& shard);

  /// What is asked of this PE is counted in it from now on; null: no more.  It lives as long as this.
  void watch(HotKeys* keys) { watched_.store(keys, std::memory_order_release); }
  /// Gets that were put aside for their element, and packets, or rests of them, for a lock; so far.
  std::uint64_t parked() const { return parked_total_.load(std::memory_order_relaxed); }
  std::uint64_t put_off() const { return put_off_total_.load(std::memory_order_relaxed); }

 private:
  class Replies;
  class RunReplies;
  struct Record;
  using Bytes = std::vector<std::byte>;
  struct Waiting {
    bool is_run;
    Bytes bytes;  // RequestHead ..., or runs
  };

  struct Parked {
    int from;
    Bytes request;  // RequestHead ...
  };

  template <class Memory>
  const char* wrong_with(const Shard<Memory>& shard, int from, const RequestHead& head, std::size_t body,
                         std::size_t left) const REQUIRES(mutex_);
  template <class Memory>
  const char* wrong_with_block(const Shard<Memory>& shard, int from, const RequestHead& head) const
      REQUIRES(mutex_);
  template <class Memory>
  static Code get_long(const Shard<Memory>& shard, const Record& record, unsigned patience, Replies& replies);
  template <class Memory>
  static Code change_long(const Shard<Memory>& shard, const Record& record, unsigned patience,
                          Replies& replies);
  // `again`: it has been put off before.
  template <class Memory>
  Code execute(const Shard<Memory>& shard, const Record& record, bool again, Replies& replies)
      REQUIRES(mutex_);
  template <class Memory>
  std::size_t execute_all(const Shard<Memory>& shard, const std::byte* requests, std::size_t n, bool again,
                          Replies& replies) REQUIRES(mutex_);
  template <class Memory>
  std::uint32_t execute_run(const Shard<Memory>& shard, const RunHead& run, const std::byte* bodies,
                            bool again, RunReplies& replies) const REQUIRES(mutex_);
  template <class Memory>
  bool get_lean(const Shard<Memory>& shard, const RunHead& run, const std::byte* bodies, unsigned patience,
                RunReplies& replies, std::uint32_t& done) const REQUIRES(mutex_);
  template <class Memory>
  Bytes go_on_with_runs(const Shard<Memory>& shard, const std::byte* runs, std::size_t n, bool again,
                        RunReplies& replies) const REQUIRES(mutex_);
  template <class Memory>
  Code is_awaited(const Shard<Memory>& shard, const Record& record, bool again) const;
  void park(int from, const std::byte* request, std::size_t n) REQUIRES(mutex_);
  template <class Memory>
  void look_at_parked(const Shard<Memory>& shard, std::deque<Replies>& all) REQUIRES(mutex_);
  void limit_sleeps(long microseconds) REQUIRES(mutex_);
  void note(const KvRequest& request, Code status) const;
  void sample(const KvRequest& request) const;
  template <class Memory>
  void take_run(const Shard<Memory>& shard, int from, const std::byte* packet, std::size_t n);
  void put_off(int from, Waiting requests) REQUIRES(mutex_);
  void take_piece(int from, const std::byte* piece, std::size_t n, const ShardLayout& layout, Bytes& whole)
      REQUIRES(mutex_);

  const std::uint32_t table_;
  const KeyHash hash_;
  const LeanTable* lean_ = nullptr;
  std::atomic<const MatchedEngine*> matched_{nullptr};
  Mutex mutex_;  // of what follows, and while requests are executed; never while replies are sent
  std::map<int, std::deque<Waiting>> waiting_ GUARDED_BY(mutex_);  // by PE
  std::vector<Parked> parked_ GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point parked_at_ GUARDED_BY(mutex_);  // the last of them
  // Microseconds for which who polls may sleep, at most; 0: nothing is parked, and there is no limit.
  long sleep_limit_us_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> any_waiting_{false}, any_parked_{false};
  std::atomic<std::uint64_t> parked_total_{0}, put_off_total_{0};
  std::atomic<HotKeys*> watched_{nullptr};
  std::map<int, Bytes> arriving_ GUARDED_BY(mutex_);  // a request that comes in pieces, by PE
  struct Reservation {
    int pe;
    std::uint64_t bytes;
  };
  std::map<std::uint64_t, Reservation> reserved_ GUARDED_BY(mutex_);  // blocks, until they are linked
};

}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
// The pending list of the engine SHMEM_KV_MATCH=entry, and what all its tables send.
//
// One for all tables of this process: an endpoint that sends has 35 MB of buffers, and a table has no use for
// one of its own.  Some entries take whatever is new, of any table; the others are of replies that threads
// await.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "kv/match_requests.hpp"
#include "transports/matcher.hpp"

namespace shm::kv {

class MatchedEngine;

/// A reply that a thread waits for.
struct AwaitedReply : TaggedReceive {
  AwaitedMatch reply;
  std::atomic<std::uint64_t> left{1};
  alignas(8) std::byte bytes[kMostMatched];
};

/// Thread safety: send(), await() and end_await() from any thread, under the lock of a table too; the rest in
/// collective calls.
class PendingList {
 public:
  static constexpr std::size_t kMostRoom = 1024;  // for a message about a new element

  /// The list of this process, opened for the first who uses it.  Ends with the last one's close().
  static shm::Result<PendingList*> open();
  void close();

  shm::Result<std::vector<std::byte>> address() { return matcher_->address(); }
  /// To those of all PEs; only the first time does anything.
  shm::Status connect(const Matcher::AddressLookup& lookup);
  /// To a list of a table on each PE.  Returns the number of PE 0's for send(); the others follow.
  shm::Result<int> connect_to(const Matcher::AddressLookup& lookup);

  /// What comes for the table goes to the engine, until remove() has returned.  Before any PE sends that.
  void add(std::uint32_t table, MatchedEngine& engine);
  void remove(std::uint32_t table);

  /// `list`: a PE, for its pending list, or what connect_to() gave.
  void send(int list, std::uint64_t tag, const void* bytes, std::size_t n) {
    matcher_->send(list, tag, bytes, n);
  }

  /// A number for the tag of a reply.
  std::uint64_t next_reply() { return replies_.fetch_add(1, std::memory_order_relaxed) & ~kClassBits; }
  /// Has a place for the reply.  False: the places that are not those of new elements are taken.
  bool await(AwaitedReply& awaited);
  /// It has come.
  void end_await() { awaited_.fetch_sub(1, std::memory_order_release); }

 private:
  struct NewElement;  // a receive
  struct Served {
    std::uint32_t table;
    MatchedEngine* engine;
  };

  explicit PendingList(std::unique_ptr<Matcher> matcher);
  ~PendingList();
  void start();
  static bool poll_one(void* list) { return static_cast<PendingList*>(list)->poll(); }
  bool poll();
  void take(const Arrival& arrival) REQUIRES(mutex_);
  void take_new(const std::byte* message, std::size_t n) REQUIRES(mutex_);
  void post(NewElement& receive) REQUIRES(mutex_);
  bool post_again() REQUIRES(mutex_);

  static constexpr std::size_t kAwaited = 32;  // replies at a time, at least

  unsigned users_ = 1;
  bool is_connected_ = false;
  std::atomic<std::uint64_t> replies_{0};  // that were asked for
  // Replies take no place that new elements need: one of these that found none would be lost, and nobody
  // else can take what is new.
  std::size_t most_awaited_ = 0;
  std::atomic<std::size_t> awaited_{0};

  Mutex mutex_;  // of what follows, and while it is polled; the lock of a table is taken under it
  std::vector<Served> served_ GUARDED_BY(mutex_);
  std::vector<NewElement> room_;  // SHMEM_KV_PENDING
  // Of these, until the next poll: the network had no record.
  std::vector<NewElement*> not_posted_ GUARDED_BY(mutex_);
  const std::unique_ptr<Matcher> matcher_;  // ends before what it has posted
};

}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
// The engine SHMEM_KV_MATCH=entry: what is asked of a PE on another node finds its element by the network's
// own matching, as in PDHT.
//
// Two lists, each at an endpoint of its own, as the paper has two portal table entries:
//
//   active    an entry for each element (MatchList): get, contains, update, remove, accumulate, compare_swap
//   pending   some that take whatever is new: insert, put, upsert; and those of replies
//
// All operations are executed by Shard: what the lists have decides how a request comes to it, not what it
// finds.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "core/address.hpp"
#include "kv/changes.hpp"
#include "kv/match_list.hpp"
#include "kv/wire.hpp"

namespace shm::kv {

/// Of one table.  Thread safety: execute(), changed() and messages() from any thread.
class MatchedEngine {
 public:
  /// What it needs to know of the table, all as in Table.
  struct Of {
    const ShardLayout& layout;
    std::byte* memory;
    KeyHash hash;
  };

  /// Collective.  Null on all PEs: cannot be, and a line has said so.
  static std::unique_ptr<MatchedEngine> open(Call call, const Of& table);
  /// Collective; no request of any PE is under way.
  static void close(Call call, std::unique_ptr<MatchedEngine> engine);
  /// Nothing is under way; the symmetric memory is left.
  ~MatchedEngine();

  /// Has `pe` of another node carry out the request.  `value` and `n` may be null.  False: that is not for
  /// this engine, as it is too long, or so many threads await replies that the list has no place for another.
  bool execute(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n, Code& status);

  /// An operation on a PE of this node has succeeded, on whatever way.
  void changed(int pe, KvOp op, std::uint64_t hash) const;

  /// Requests that this PE has sent, each a message of its own.
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

 private:
  struct ListAddresses;   // what PEs show each other
  struct Awaited;         // a reply
  struct PendingReceive;  // an entry of the pending list

  MatchedEngine(const Of& table, ListAddresses* addresses);
  static std::size_t shared_bytes(const ShardLayout& layout);
  static Changes changes_at(ListAddresses* addresses, const ShardLayout& layout);
  shm::Status open_lists();
  shm::Status connect(Call call);
  void start();
  void fill_lists();
  static bool poll_one(void* engine);
  bool poll();
  bool post_awaited(Awaited& awaited);
  void post_pending(PendingReceive& pending) REQUIRES(mutex_);
  bool post_again() REQUIRES(mutex_);
  bool retry() REQUIRES(mutex_);
  void take_active(const Arrival& arrival) REQUIRES(mutex_);
  void take_pending(const Arrival& arrival) REQUIRES(mutex_);
  // `again`: a lock was taken before.
  Code serve(const std::byte* message, std::size_t n, bool again = false) REQUIRES(mutex_);
  bool takes(const RequestHead& head) const;

  static constexpr std::size_t kMostRoom = 1024;  // of an entry
  static constexpr std::size_t kAwaited = 32;     // replies at a time, at least

  const Of table_;
  const Shard<Mapped> shard_;
  const std::size_t room_;
  ListAddresses* const addresses_;
  std::atomic<std::uint64_t> replies_{0};  // that were asked for
  std::atomic<std::uint64_t> messages_{0};
  // Replies take no place of the pending list that its own entries need: one of these that found none would
  // be lost, and nobody else can take what is new.
  std::size_t most_awaited_ = 0;
  std::atomic<std::size_t> awaited_{0};

  Mutex mutex_;  // of what follows, by the thread that polls; no other lock of the table is taken under it
  Changes changes_ GUARDED_BY(mutex_);
  std::deque<std::vector<std::byte>> waiting_ GUARDED_BY(mutex_);  // requests that found a lock taken
  std::vector<PendingReceive> free_room_;                          // SHMEM_KV_PENDING
  std::vector<PendingReceive*> not_posted_
      GUARDED_BY(mutex_);  // of these, until the next poll: the network had no record
  std::unique_ptr<MatchList> list_ GUARDED_BY(mutex_);
  std::unique_ptr<Matcher> active_, pending_;  // end before what they have posted
};

}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
// The engine SHMEM_KV_MATCH=entry: what is asked of a PE on another node finds its element by the network's
// own matching, as in PDHT.
//
// Two lists, each at an endpoint of its own, as the paper has two portal table entries:
//
//   active    of each table, an entry for each element (MatchList): get, contains, update, remove,
//   accumulate,
//             compare_swap.  Nothing is sent from there
//   pending   (PendingList) some that take whatever is new: insert, put, upsert; and those of replies
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
#include "kv/pending_list.hpp"
#include "kv/wire.hpp"

namespace shm::kv {

/// What comes between a look at a list and a thread's sleep may not wake it (Matcher): microseconds.
inline constexpr long kLongestMatchSleep = 5000;

/// Of one table.  Thread safety: execute(), changed(), messages() and take_new() from any thread.
class MatchedEngine {
 public:
  /// What it needs to know of the table, all as in Table.
  struct Of {
    std::uint32_t number;
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

  /// A request of n bytes has come to the pending list.
  void take_new(const std::byte* message, std::size_t n);

  /// Requests that this PE has sent, each a message of its own.
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

 private:
  struct ListAddresses;  // what PEs show each other

  MatchedEngine(const Of& table, ListAddresses* addresses);
  static std::size_t shared_bytes(const ShardLayout& layout);
  static Changes changes_at(ListAddresses* addresses, const ShardLayout& layout);
  shm::Status open_lists();
  shm::Status connect(Call call);
  void start();
  static bool poll_one(void* engine);
  bool poll();
  bool retry() REQUIRES(mutex_);
  void take_active(const Arrival& arrival) REQUIRES(mutex_);
  // `again`: a lock was taken before.
  Code serve(const std::byte* message, std::size_t n, bool again = false) REQUIRES(mutex_);
  bool takes(const RequestHead& head) const;

  const Of table_;
  const Shard<Mapped> shard_;
  const std::size_t room_;
  ListAddresses* const addresses_;
  std::atomic<std::uint64_t> messages_{0};
  PendingList* pending_ = nullptr;  // once it is open
  int first_list_ = 0;              // PE 0's active list, for send()

  Mutex mutex_;  // of what follows, by the thread that polls; no other lock of the table is taken under it
  Changes changes_ GUARDED_BY(mutex_);
  std::deque<std::vector<std::byte>> waiting_ GUARDED_BY(mutex_);  // requests that found a lock taken
  std::unique_ptr<MatchList> list_ GUARDED_BY(mutex_);
  std::unique_ptr<Matcher> active_;  // ends before what it has posted
};

}  // namespace shm::kv

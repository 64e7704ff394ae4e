// SPDX-License-Identifier: BSD-3-Clause
// A table: where its keys are, and who carries out what is asked of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/stats.hpp"
#include "base/thread_counter.hpp"
#include "base/wait_record.hpp"
#include "core/address.hpp"
#include "core/region.hpp"
#include "kv/client.hpp"
#include "kv/handle.hpp"
#include "kv/hash.hpp"
#include "kv/hot_keys.hpp"
#include "kv/lean.hpp"
#include "kv/members.hpp"
#include "kv/one_sided.hpp"
#include "kv/server.hpp"
#include "kv/shard.hpp"

namespace shm::kv {

class MatchedEngine;

/// Where results of a nonblocking operation go; each may be null.
struct ResultsTo {
  int* status = nullptr;
  std::size_t* n = nullptr;
  Handle** handle = nullptr;  // gets, or has, one that the operation belongs to if it is under way
};

/// Of who waits until the key is there, which PE `pe` of the world has.
void describe_wait_for_key(WaitRecord& record, Call call, int pe, const Key& key);

/// What tells numbers of tables of teams, by which each PE counts for itself, from those of the world.
inline constexpr std::uint32_t kOfTeam = std::uint32_t{1} << 31;

/// PEs have their numbers among the table's members, which for a table of the world are those of the world.
/// Thread safety: all but use(), which needs that nobody uses the table on any PE.
class Table : public LeanTable {
 public:
  /// Of the world.  `number` is the same on all PEs.
  Table(std::uint32_t number, KeyHash hash, bool named);
  /// Of a team: `told` by its members; `number` is this PE's.
  Table(std::uint32_t number, KeyHash hash, const Members& members, const std::vector<MemberShard>& told);
  ~Table();

  /// It is no table any more.
  void end();
  /// The program uses it no more on this PE, which serves the others until it ends.
  void leave() {
    self = nullptr;
    is_left_.store(true, std::memory_order_release);
  }
  bool is_left() const { return is_left_.load(std::memory_order_acquire); }

  const Members& members() const { return members_; }
  bool is_of_team() const { return !members_.is_world(); }
  /// The same on all members; 0 for one of a team, whose members can only meet on the same table.
  std::uint32_t number() const { return number_; }

  /// From now on PEs have their shards in the symmetric block `memory` of layout.bytes.
  void use(const ShardLayout& layout, std::byte* memory);
  /// The same of a table of a team: where each member has said.
  void use(const ShardLayout& layout, std::byte* memory, const std::vector<MemberShard>& told);

  const ShardLayout& layout() const { return layout_; }
  /// What the program wants a PE's memory to be; 0: that was left to the library.
  void set_budget(std::uint64_t bytes) { budget_ = bytes; }
  std::uint64_t budget() const { return budget_; }
  std::byte* memory() const { return memory_; }
  bool is_table() const { return !has_ended_.load(std::memory_order_acquire); }
  bool is_named() const { return named_; }
  const KeyHash& hash() const { return hash_; }

  Key key(const void* bytes, std::size_t n) const {
    return {hash_of(hash_, bytes, n), bytes, static_cast<std::uint32_t>(n)};
  }
  int pe_of_key(const Key& key) const { return pe_of(key.hash, static_cast<unsigned>(members_.size())); }

  /// The part of a PE of this node, in memory; null: of another, or on NVM.
  std::byte* shard(int pe) const { return shards_[static_cast<std::size_t>(pe)]; }
  bool is_paged() const { return region_ != nullptr; }

  /// f(shard) of this PE.
  template <class F>
  auto with_mine(F f) const {
    return with_shard(layout_, memory_, f);
  }
  /// The same for a shard that is not in use yet.
  template <class F>
  static auto with_shard(const ShardLayout& layout, std::byte* memory, F f) {
    if (in_region(memory)) return f(Shard<Paged>(Paged(memory, rt.me), layout));
    return f(Shard<Mapped>(Mapped(memory), layout));
  }

  [[gnu::always_inline]] Code get(Call call, const Key& key, void* value, std::size_t room,
                                  std::uint64_t& n) {
    std::byte* there = shard(pe_of_key(key));
    if (there == nullptr || rt.regions.holds(key.bytes) || rt.regions.holds(value)) [[unlikely]]
      return get_slow(call, key, value, room, n);
    count_local();
    sample(KvOp::get, key);
    return Shard<Mapped>(Mapped(there), layout_).get(key, value, room, n, kUnlimited);
  }

  /// The same, of another node's key, when there is an element: its PE has the request wait.  NOT_FOUND: it
  /// was removed again.  REQUIRES: not is_here() of that PE.
  Code get_when_there(Call call, const Key& key, void* value, std::size_t room, std::uint64_t& n);

  /// Whether this node can reach the part of the PE by itself, though it may be better to ask the PE.
  /// Whether some PE's shard is not mapped here.
  bool has_others() const { return has_others_; }
  bool is_here(int pe) const { return is_paged() || shard(pe) != nullptr; }
  /// Has what keys need come from memory, if that is this node's: first for all such keys, then for each of
  /// them.
  void prefetch_home(const Key& key, int pe) const {
    if (std::byte* there = shard(pe); there != nullptr)
      Shard<Mapped>(Mapped(there), layout_).prefetch_home(key);
  }
  void prefetch_slot(const Key& key, int pe) const {
    if (std::byte* there = shard(pe); there != nullptr)
      Shard<Mapped>(Mapped(there), layout_).prefetch_slot(key);
  }

  /// Whether gets of the elements of other nodes are read (kv/one_sided); of them `request`.
  OneSidedGets* reads(const KvRequest& request) const {
    return one_sided_ != nullptr && matched_ == nullptr && one_sided_->fits(request) ? one_sided_.get()
                                                                                     : nullptr;
  }
  /// Counts one that was read.
  void count_read(KvOp op, const Key& key) {
    count_local();
    sample(op, key);
  }

  /// Carries it out unless another node had better do it, or must.
  bool try_local(int pe, const KvRequest& request, ValueRoom& result, Code& status);
  Code execute(Call call, const KvRequest& request, ValueRoom& result);
  void issue(Call call, const KvRequest& request, void* value, ResultsTo later);
  /// Whether the value is too long for packets, so that only execute() can store it on another node.  Not
  /// where shards are on NVM: there it goes in pieces.
  bool travels_by_rma(const KvRequest& request) const;
  /// Bytes of the value that the reply has at most.
  std::uint64_t reply_bytes(const KvRequest& request) const {
    if (!gives_value(request.op)) return 0;
    const std::uint64_t room = room_of(request);
    if (request.op == KvOp::scan) return room;
    return std::min({room, layout_.value_bytes, request.by_rma ? kLongestInPackets : room});
  }

  /// Waits for what issue() was called for before.
  void quiet(Call call) { client_.quiet(call); }
  /// Makes progress; returns whether quiet() would not wait.
  bool test() { return client_.test(); }
  std::uint64_t count(Call call);
  /// Tells all members that this PE has left the table.  REQUIRES: it is of a team, and quiet.
  void tell_left(Call call) { ask_all(call, KvOp::leave); }
  /// How many have told this PE so.
  std::uint64_t have_left() const { return Mapped(memory_).load<std::uint64_t>(offsetof(ShardHeader, left)); }

  /// Some elements of a PE from *cursor on, as f(head, key, value) returns whether it takes them; *cursor is
  /// then behind the last that it has.  NOT_FOUND: there are none.  `bytes` is kept for the next call.
  template <class F>
  Code scan(Call call, int pe, std::uint64_t* cursor, std::vector<std::byte>& bytes, F f);
  /// Elements of this PE for which it holds; returns how many were removed.
  std::uint64_t remove_mine_if(const Predicate& predicate);

  /// Counts which keys are used by calls that are carried out here, one of `one_of`; 0: no more.  What has
  /// been counted stays until it begins anew.
  void watch(std::uint32_t one_of) EXCLUDES(watch_mutex_);
  std::vector<HotKeys::Counted> hot_keys(std::size_t most) EXCLUDES(watch_mutex_);
  const ShardEvents& events() const { return *events_; }

  std::uint64_t local_calls() const { return local_calls_->total(); }
  std::uint64_t remote_calls() const { return remote_calls_.load(std::memory_order_relaxed); }
  /// The engine of the second kind (entry), if there is one.  While nobody uses the table.
  void set_matched(std::unique_ptr<MatchedEngine> engine);
  std::unique_ptr<MatchedEngine> take_matched();

  /// Messages in which remote calls travelled.
  std::uint64_t packets() const;

  Client& client() { return client_; }
  Server& server() { return server_; }
  const Server& server() const { return server_; }

  void count_local(std::uint64_t n = 1) { local_calls_->add(n); }
  void count_remote(std::uint64_t n = 1) {
    bump(remote_calls_, n);
    shm::count(Stat::kv_requests, n);
  }

  /// One message of that: what scan gives (kv/wire), at least the cursor.
  Code scan_some(Call call, int pe, std::uint64_t cursor, std::vector<std::byte>& bytes, std::uint64_t& n);
  /// Whether there is a whole element at `at`.
  static bool is_whole(const std::vector<std::byte>& bytes, std::uint64_t at, std::uint64_t n,
                       ScanHead& head);
  [[noreturn]] void refuse_scan(int pe) const;

 private:
  void choose_lean();
  void sample(KvOp op, const Key& key) {
    if (watched_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      see(op, key);
  }
  [[gnu::cold, gnu::noinline]] void see(KvOp op, const Key& key) {
    if (HotKeys* keys = watched_.load(std::memory_order_acquire); keys != nullptr) keys->see(op, key);
  }
  std::uint64_t ask_all(Call call, KvOp op);
  bool better_there(int pe, const KvRequest& request) const;
  std::uint64_t segments_about(int pe) const;
  template <class Execute>
  Code with_copies(const KvRequest& request, ValueRoom& result, Execute execute) const;
  Code get_slow(Call call, const Key& key, void* value, std::size_t room, std::uint64_t& n);
  Code call_remote(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n);
  bool try_read(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n, Code& status);
  Code round_trip(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n);
  Code store_by_rma(Call call, int pe, const KvRequest& request);
  Code get_by_rma(Call call, int pe, KvRequest request, void* value, std::uint64_t* n);
  RemoteAddress remote_at(int pe, std::uint64_t offset) const;
  int world_pe(int pe) const { return members_.world_pe(pe); }
  // Counts of threads that meet here may be lost.
  static void bump(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  const KeyHash hash_;
  const bool named_;
  const Members members_;
  const std::uint32_t number_;
  std::atomic<bool> has_ended_{false}, is_left_{false};
  ShardLayout layout_{};
  std::uint64_t budget_ = 0;
  std::vector<std::uint64_t> places_;    // of all shards, from the start of their heap segments
  std::vector<std::byte*> shards_;       // of all PEs
  std::vector<std::byte*> directories_;  // for LeanTable
  bool has_others_ = false;
  std::byte* memory_ = nullptr;
  Region* region_ = nullptr;          // in which all shards lie; null: they are in memory
  std::unique_ptr<FarShards> grown_;  // of a table in a region
  std::unique_ptr<std::atomic<unsigned>[]> looks_at_segments_;  // of each PE
  Client client_;
  Server server_;
  std::unique_ptr<MatchedEngine> matched_;
  std::unique_ptr<OneSidedGets> one_sided_;  // null: gets are messages
  std::unique_ptr<ShardEvents> events_ = std::make_unique<ShardEvents>();
  Mutex watch_mutex_;
  std::unique_ptr<HotKeys> hot_keys_ GUARDED_BY(watch_mutex_);  // since it was watched first, to the end
  std::atomic<HotKeys*> watched_{nullptr};
  std::unique_ptr<ThreadCounter> local_calls_ = std::make_unique<ThreadCounter>();
  std::atomic<std::uint64_t> remote_calls_{0};
};

template <class F>
Code Table::scan(Call call, int pe, std::uint64_t* cursor, std::vector<std::byte>& bytes, F f) {
  for (;;) {
    std::uint64_t n = 0;
    if (const Code status = scan_some(call, pe, *cursor, bytes, n); status != SHMEMX_KV_OK) return status;
    std::uint64_t end;
    std::memcpy(&end, bytes.data(), sizeof end);
    bool taken = false;
    for (std::uint64_t at = sizeof end; at < n;) {
      ScanHead head;
      if (!is_whole(bytes, at, n, head)) [[unlikely]]
        refuse_scan(pe);
      const std::byte* key_at = bytes.data() + at + sizeof head;
      if (!f(head, key_at, key_at + padded(head.key_bytes))) return SHMEMX_KV_OK;
      taken = true;
      *cursor = head.cursor;
      at += scan_bytes(head.key_bytes, head.value_bytes);
    }
    *cursor = end;
    if (taken) return SHMEMX_KV_OK;
  }
}

}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
// Many requests of one kind in one call: those to one PE of another node travel together, as runs
// (kv/wire.hpp).
#pragma once

#include <memory>
#include <vector>

#include "base/names.hpp"
#include "kv/table.hpp"

namespace shm::kv {

/// Requests that are alike but for key i, value i and what result i is: each is one of an array, without
/// gaps.
struct Many {
  KvRequest like;
  const std::byte* keys;
  std::size_t key_bytes;                // as the table allows
  const std::byte* values = nullptr;    // to be stored, or operands; null: none
  const std::byte* expected = nullptr;  // of compare_swap, likewise
  std::byte* results = nullptr;         // null: none are wanted
  std::size_t value_bytes = 0;          // of each value, and of the room of each result
  std::size_t* lengths = nullptr;       // of get, as it has them; null: they are not wanted
  int* status = nullptr;                // null: only the first that is not OK is wanted
};

/// Executes requests 0 to count - 1; returns the first status that is not OK.
Code execute_many(Call call, Table& table, Many many, std::size_t count);

/// The same, nonblocking: keys and values are copied, and what is under way belongs to *handle, unless null.
void issue_many(Call call, Table& table, Many many, std::size_t count, Handle** handle);

/// A message with replies has come, to single requests or to those of batches.  Runs in a handler.  Ends the
/// job, naming PE `from`, if it cannot be meant (kv/message_check).
void take_replies(int from, const std::byte* message, std::size_t n);

/// Some of them.  Of one thread, but for take_replies().
class Batch {
 public:
  Batch(Call call, Table& table, const Many& many) : call_(call), table_(table), many_(many) {}

  /// Returns whether each status is known to be OK.  REQUIRES: n of 32 bits; many.status.
  bool execute(std::size_t n);

  /// Of n of the requests of one that lives until they are answered.
  struct Later;
  static void issue(std::unique_ptr<Later> later, std::size_t n, Handle** handle);

  /// Replies to runs have come.  Runs in a handler.
  static void take_replies(int from, const std::byte* packet, std::size_t n);

 private:
  using Far = LeanFar;
  struct Sent;
  static Names<Sent*>& names();
  static std::size_t take_run_replies(int from, const std::byte* replies, std::size_t n);

  KvRequest request(const Key& key, std::size_t i) const;
  std::byte* result(std::size_t i) const {
    return many_.results == nullptr ? nullptr : many_.results + i * many_.value_bytes;
  }
  void note_length(std::size_t i, Code status, std::uint64_t n) const {
    if (many_.lengths != nullptr && has_length(status)) many_.lengths[i] = n;
  }
  void try_local(std::size_t n);
  bool get_lean(std::size_t n);
  void try_local_one(std::size_t i, const Key& key, int pe);
  void send_later(std::size_t i, int pe);
  // Whether earlier ones will be sent to `pe`, though this node could reach its part.
  bool goes_after_others(int pe) const { return !far_pes_.empty() && far_pes_[static_cast<std::size_t>(pe)]; }
  bool read_far(OneSidedGets& gets);
  void send_all_runs(Sent& sent) const;
  void send_runs(int pe, std::uint32_t first, std::uint32_t end, const Sent& sent) const;
  void issue_each() const;
  void issue_each_later(Handle** handle, bool wants_status) const;
  bool are_long() const;

  const Call call_;
  Table& table_;
  const Many many_;
  bool all_found_ = false;     // gets, all of them here
  std::vector<Far> far_;       // requests to other nodes
  std::vector<bool> far_pes_;  // of a table on NVM: which of them; empty: none
};

}  // namespace shm::kv

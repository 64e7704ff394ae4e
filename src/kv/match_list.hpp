// SPDX-License-Identifier: BSD-3-Clause
// The active list: a receive for each element of a shard, whose tag is the key's hash.
//
// Which home an element has is computed from its key: so follow() and catch_up() call the user's hash
// function, on whatever thread polls, the agent's too, and while threads of the program may be in it.
//
// The shard is what counts.  The list follows it, told by Changes, and may be behind: an entry without
// element leads to a request that finds nothing in the shard, an element without entry to one that no receive
// fits.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "kv/hash.hpp"
#include "kv/shard.hpp"
#include "transports/matcher.hpp"

namespace shm::kv {

/// Thread safety: one thread at a time.  Outlives the matcher.
class MatchList {
 public:
  /// Of the shard at `memory`.  Each entry has `room` bytes for a message.
  MatchList(Matcher& matcher, std::byte* memory, const ShardLayout& layout, KeyHash hash, std::size_t room);

  /// Has entries for exactly those elements whose home the group is.  Where the matcher's list is full, some
  /// have none, until catch_up().
  void follow(std::uint64_t home);

  /// follow(), for some homes with elements that found no room, if there is room now.  Returns whether one
  /// has all its entries: false, and at no cost, as long as the list is full.
  bool catch_up();

  /// The receive is an entry of this; its message has been dealt with.  `removed`: the element is gone.
  void matched(TaggedReceive& receive, bool removed);
  void cancelled(TaggedReceive& receive);

  std::size_t length() const { return length_; }

 private:
  struct Entry : TaggedReceive {
    std::uint64_t hash;
    bool leaving;  // cancelled, but not reported yet
    std::unique_ptr<std::byte[]> bytes;
  };

  static constexpr int kAtOnce = 64;  // homes that catch up; then others have their turn

  void collect(std::uint64_t home, std::vector<std::uint64_t>& hashes);
  void add(std::uint64_t hash);
  bool post(Entry& entry);
  std::uint64_t home_of(const Entry& entry) const { return group_of(entry.hash, layout_.groups); }

  Matcher& matcher_;
  const Mapped memory_;
  const ShardLayout& layout_;
  const Shard<Mapped> shard_;
  const KeyHash hash_;
  const std::size_t room_;
  std::vector<std::byte> key_;           // the one that is looked at
  std::vector<std::uint64_t> elements_;  // hashes of those that are looked at
  std::deque<Entry> all_;
  std::vector<Entry*> free_;
  std::vector<std::vector<Entry*>> homes_;  // by group, but for those that are leaving
  std::deque<std::uint64_t> lacking_;       // homes with elements that found no room
  std::vector<bool> lacks_;                 // by group: in lacking_
  std::size_t length_ = 0;
};

}  // namespace shm::kv

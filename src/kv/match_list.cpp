// SPDX-License-Identifier: BSD-3-Clause
#include "kv/match_list.hpp"

#include <algorithm>

#include "kv/match_message.hpp"

namespace shm::kv {

MatchList::MatchList(Matcher& matcher, std::byte* memory, const ShardLayout& layout, KeyHash hash,
                     std::size_t room)
    : matcher_(matcher),
      memory_(memory),
      layout_(layout),
      shard_(memory_, layout),
      hash_(hash),
      room_(room),
      key_(padded(layout.key_bytes)),
      homes_(layout.groups),
      lacks_(layout.groups) {}

// The hashes of elements with this home.
void MatchList::collect(std::uint64_t home, std::vector<std::uint64_t>& hashes) {
  hashes.clear();
  Element element{key_.data(), key_.size(), 0, nullptr, 0, 0};
  for (std::uint64_t cursor = shard_.cursor_at(home); shard_.next_of_home(cursor, element) == SHMEMX_KV_OK;)
    hashes.push_back(hash_of(hash_, key_.data(), element.key_bytes));
}

// No room: its home is told again, as only then is the element looked for.
bool MatchList::post(Entry& entry) {
  if (matcher_.post(entry)) return true;
  const std::uint64_t home = home_of(entry);
  if (!lacks_[home]) lacking_.push_back(home);
  lacks_[home] = true;
  return false;
}

void MatchList::add(std::uint64_t hash) {
  if (free_.empty()) {
    Entry& made = all_.emplace_back();
    made.bytes = std::make_unique_for_overwrite<std::byte[]>(room_);
    free_.push_back(&made);
  }
  Entry& entry = *free_.back();
  entry.tag = kElement | (hash & ~kClassBits);
  entry.room = entry.bytes.get();
  entry.room_bytes = room_;
  entry.hash = hash;
  entry.leaving = false;
  if (!post(entry)) return;
  free_.pop_back();
  homes_[home_of(entry)].push_back(&entry);
  ++length_;
}

void MatchList::follow(std::uint64_t home) {
  collect(home, elements_);
  std::erase_if(homes_[home], [&](Entry* entry) {
    const auto element = std::ranges::find(elements_, entry->hash);
    if (element != elements_.end()) {
      *element = elements_.back();
      elements_.pop_back();
      return false;
    }
    entry->leaving = true;
    matcher_.cancel(*entry);
    --length_;
    return true;
  });
  for (const std::uint64_t hash : elements_) add(hash);
}

bool MatchList::catch_up() {
  bool worked = false;
  for (int some = kAtOnce; some != 0 && !lacking_.empty() && matcher_.has_room(); --some) {
    const std::uint64_t home = lacking_.front();
    lacking_.pop_front();
    lacks_[home] = false;
    follow(home);
    if (lacks_[home]) break;  // that was all the room, or the network has no record in spite of it
    worked = true;
  }
  return worked;
}

void MatchList::matched(TaggedReceive& receive, bool removed) {
  auto& entry = static_cast<Entry&>(receive);
  if (entry.leaving) return free_.push_back(&entry);
  if (!removed && post(entry)) return;
  std::erase(homes_[home_of(entry)], &entry);
  --length_;
  free_.push_back(&entry);
}

void MatchList::cancelled(TaggedReceive& receive) { free_.push_back(&static_cast<Entry&>(receive)); }

}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
#include "kv/far_get.hpp"

#include <algorithm>
#include <cstring>

#include "kv/hash.hpp"
#include "kv/shard.hpp"

namespace shm::kv {

static_assert(sizeof(SlotGroup) + kSlots * kLargestSlot <= 2048);

template <class T>
T FarGet::word(std::size_t member) const {
  T word;
  std::memcpy(&word, bytes_of_group_ + member, sizeof word);
  return word;
}

void FarGet::post(std::uint64_t at, void* to, std::size_t n) {
  Completion& done = done_[posted_++];
  done.reset();
  reads_.read(pe_, at, to, n, &done);
}

void FarGet::begin(int pe, const Key& key, void* value, std::uint64_t room) {
  pe_ = pe;
  key_ = key;
  value_ = value;
  room_ = room;
  looks_ = 0;
  looks_again_ = 0;
  home_ = shards_.home_of(key, shards_.segments(pe));
  posted_ = 0;
  look_at(home_);
}

// Its version, and then the group.
void FarGet::look_at(std::uint64_t group) {
  group_ = group;
  stage_ = Stage::version;
  post(layout().group_at(group), &before_, sizeof before_);
}

bool FarGet::step() {
  posted_ = 0;
  switch (stage_) {
    case Stage::version: return after_version();
    case Stage::group: return after_group();
    case Stage::block: return after_block();
    case Stage::check: return after_check();
  }
  return true;
}

bool FarGet::end_with(End end) {
  end_ = end;
  return true;
}

bool FarGet::answer(Code status) {
  status_ = status;
  return end_with(End::answer);
}

// Somebody changes it, or has.  `version`: a later one, which a read that is complete has brought.
bool FarGet::start_again(std::uint32_t version) {
  ++looks_again_;
  if (++looks_ == kMostLooks) return end_with(End::changed);
  if (group_ != home_ || version % 2 != 0) {  // what was seen at the home may be so no more
    look_at(home_);
    return false;
  }
  version_ = version;
  read_group();
  return false;
}

bool FarGet::after_version() {
  if (before_.version % 2 != 0) return start_again(before_.version);
  version_ = before_.version;
  read_group();
  return false;
}

void FarGet::read_group() {
  stage_ = Stage::group;
  post(layout().group_at(group_), bytes_of_group_, layout().group_bytes);
}

// Whether it is the key's, which is so if nothing has changed meanwhile.
bool FarGet::find_inlined(unsigned slot) {
  const auto lengths = word<std::uint16_t>(lengths_at(slot));
  const std::byte* at = bytes_of_group_ + sizeof(SlotGroup) + slot * layout().slot_bytes;
  const std::uint64_t key_bytes = lengths % 256U, value_bytes = lengths / 256U;
  if (key_bytes != key_.n || value_bytes > layout().value_bytes) return false;
  if (std::memcmp(at, key_.bytes, key_.n) != 0) return false;
  found_at_ = at + padded(layout().key_bytes);
  bytes_ = value_bytes;
  return true;
}

bool FarGet::after_group() {
  found_ = is_another_ = false;
  const Bytes16 tags{word<std::uint64_t>(offsetof(SlotGroup, tags)),
                     word<std::uint64_t>(offsetof(SlotGroup, tags) + 8)};
  unsigned slots = tags.matches(tag_of(key_.hash)) & ((1U << kSlots) - 1);
  for (; slots != 0 && !found_; slots &= slots - 1) {
    const auto slot = static_cast<unsigned>(__builtin_ctz(slots));
    if (layout().inlined) {
      found_ = find_inlined(slot);
      continue;
    }
    const std::size_t at = sizeof(SlotGroup) + slot * layout().slot_bytes;
    if (word<std::uint64_t>(at) != key_.hash) continue;
    block_ = word<std::uint64_t>(at + 8);
    if (block_ < layout().blocks_at || block_ >= layout().bytes || block_ % 8 != 0) continue;
    const std::uint64_t key_end = sizeof(Block) + padded(key_.n);
    const std::uint64_t most = key_end + padded(std::min(room_, layout().value_bytes));
    bytes_of_block_.resize(std::min({most, std::max(kFirstRead, key_end), layout().bytes - block_}));
    stage_ = Stage::block;
    post(block_, bytes_of_block_.data(), bytes_of_block_.size());
    return false;
  }
  if (group_ == home_)
    is_away_ =
        (word<std::uint64_t>(offsetof(SlotGroup, away)) >> (4 * alternate_of(tag_of(key_.hash)))) % 16 != 0;
  read_check();
  return false;
}

// What the slot refers to, or the rest of it.
bool FarGet::after_block() {
  const std::uint64_t key_at = sizeof(Block), value_at = key_at + padded(key_.n);
  Block front{};
  if (bytes_of_block_.size() >= value_at) std::memcpy(&front, bytes_of_block_.data(), sizeof front);
  found_ = front.key_bytes == key_.n && front.value_bytes <= layout().value_bytes &&
           value_at + front.value_bytes <= layout().bytes - block_ &&
           std::memcmp(bytes_of_block_.data() + key_at, key_.bytes, key_.n) == 0;
  is_another_ = !found_;  // a key of the same hash, which is rare, unless something changes
  bytes_ = front.value_bytes;
  const std::uint64_t all = value_at + (bytes_ <= room_ ? bytes_ : 0);
  if (found_ && all > bytes_of_block_.size()) {
    const std::uint64_t done = bytes_of_block_.size();
    bytes_of_block_.resize(all);
    post(block_ + done, bytes_of_block_.data() + done, all - done);
    return false;
  }
  found_at_ = bytes_of_block_.data() + value_at;
  read_check();
  return false;
}

// After all that was read before has come: the version once more, and where nothing was found, whether that
// still is where the key would be.
void FarGet::read_check() {
  stage_ = Stage::check;
  post(layout().group_at(group_), &after_, sizeof after_);
  if (found_) return;
  post(offsetof(ShardHeader, segments), &segments_, sizeof segments_);
  if (group_ != home_) post(layout().group_at(home_), &home_after_, sizeof home_after_);
}

bool FarGet::after_check() {
  if (after_.version != version_) return start_again(after_.version);
  if (found_) {
    if (bytes_ > room_) return answer(SHMEMX_KV_TOO_LARGE);
    if (bytes_ != 0) std::memcpy(value_, found_at_, bytes_);
    return answer(SHMEMX_KV_OK);
  }
  if (is_another_ || segments_ == 0 || segments_ > layout().most_segments) return end_with(End::elsewhere);
  shards_.note_segments(pe_, segments_);
  if (const std::uint64_t home = shards_.home_of(key_, segments_); home != home_) {
    home_ = home;  // a key never has an earlier home again
    look_at(home_);
    return false;
  }
  if (group_ != home_)
    return home_after_.version == home_version_ ? answer(SHMEMX_KV_NOT_FOUND) : start_again(1);
  if (!is_away_) return answer(SHMEMX_KV_NOT_FOUND);
  home_version_ = version_;
  look_at(layout().alternate(home_, alternate_of(tag_of(key_.hash))));
  return false;
}

}  // namespace shm::kv

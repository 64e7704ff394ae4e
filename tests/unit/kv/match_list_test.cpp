// SPDX-License-Identifier: BSD-3-Clause
// The list that follows a shard, on a matcher that is a list in this process.
#include "kv/match_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <thread>

#include "kv/changes.hpp"
#include "kv/match_message.hpp"
#include "kv/message_check.hpp"
#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

class ListMatcher final : public Matcher {
 public:
  explicit ListMatcher(std::size_t most) : most_(most) {}

  bool post(TaggedReceive& receive) override {
    ++posts;
    if (refuses || list.size() == most_) return false;
    list.push_back(&receive);
    return true;
  }
  void cancel(TaggedReceive& receive) override {
    if (std::erase(list, &receive) != 0) cancelled.push_back(&receive);
  }
  /// Takes the first that fits; null: there is none.
  TaggedReceive* match(std::uint64_t tag) {
    const auto at = std::ranges::find_if(
        list, [&](const TaggedReceive* r) { return (r->tag & ~r->ignore) == (tag & ~r->ignore); });
    if (at == list.end()) return nullptr;
    TaggedReceive* found = *at;
    list.erase(at);
    return found;
  }

  std::size_t most_receives() const override { return most_; }
  bool has_room() override { return list.size() < most_; }

  std::string describe() const override { return "list"; }
  shm::Result<std::vector<std::byte>> address() override { return std::vector<std::byte>(); }
  shm::Result<int> connect(int, const AddressLookup&) override { return 0; }
  void send(int, std::uint64_t, const void*, std::size_t) override {}
  bool poll(const ArrivalSink&) override { return false; }
  int wait_fd() const override { return -1; }
  bool may_block() override { return true; }

  std::list<TaggedReceive*> list;
  std::vector<TaggedReceive*> cancelled;
  int posts = 0;
  bool refuses = false;  // though it has room

 private:
  const std::size_t most_;
};

std::uint64_t few_hashes(const void* key, std::size_t n) {
  return hash_of(nullptr, key, n) % 50 * 0x123456789abcdefU;
}

// A shard, what was done to it, and the list that follows.
struct Followed {
  explicit Followed(std::uint64_t value_bytes = 8, std::size_t most = 100000, KeyHash hash = nullptr)
      : one(make_layout(16, value_bytes, 2000, 1, false)),
        matcher(most),
        memory(zeros(Changes::bytes(one.layout))),
        changes(memory.get(), one.layout),
        user(hash),
        list(matcher, one.memory.get(), one.layout, hash, 64) {}

  std::uint64_t hash(const std::string& key) const { return hash_of(user, key.data(), key.size()); }
  Code store(KvOp op, const std::string& key) {
    ValueRoom result;
    const Key k{hash(key), key.data(), static_cast<std::uint32_t>(key.size())};
    const Code status = one.shard.execute({.op = op, .key = k, .value = "x", .n = 1}, result, ~0U);
    if (status == SHMEMX_KV_OK) changes.tell(group_of(k.hash, one.layout.groups));
    return status;
  }
  void follow() {
    while (changes.take([this](std::uint64_t home) { list.follow(home); })) {
    }
    for (TaggedReceive* receive : matcher.cancelled) list.cancelled(*receive);
    matcher.cancelled.clear();
  }
  void remove_matched(const std::string& key) {
    TaggedReceive* entry = matcher.match(tag_of(KvOp::remove, hash(key)));
    ASSERT_EQ(store(KvOp::remove, key), SHMEMX_KV_OK);
    if (entry != nullptr) list.matched(*entry, true);
  }
  std::multiset<std::uint64_t> tags() const {
    std::multiset<std::uint64_t> all;
    for (const TaggedReceive* receive : matcher.list) all.insert(receive->tag);
    return all;
  }

  OneShard one;
  ListMatcher matcher;
  Lines memory;
  Changes changes;
  KeyHash user;
  MatchList list;
};

TEST(MatchListTest, HasAnEntryForEachElement) {
  Followed table;
  table.store(KvOp::insert, "one");
  table.store(KvOp::insert, "two");
  EXPECT_TRUE(table.matcher.list.empty());
  table.follow();
  EXPECT_EQ(table.list.length(), 2U);
  EXPECT_NE(table.matcher.match(tag_of(KvOp::get, table.hash("two"))), nullptr);
  EXPECT_EQ(table.matcher.match(tag_of(KvOp::get, table.hash("two"))), nullptr) << "until it is posted again";
  EXPECT_EQ(table.matcher.match(tag_of(KvOp::insert, table.hash("one"))), nullptr) << "of another class";
}

TEST(MatchListTest, PostsAgainWhatWasMatched) {
  Followed table;
  table.store(KvOp::insert, "one");
  table.follow();
  for (int i = 0; i < 3; ++i) {
    TaggedReceive* entry = table.matcher.match(tag_of(KvOp::get, table.hash("one")));
    ASSERT_NE(entry, nullptr);
    table.list.matched(*entry, false);
  }
  TaggedReceive* entry = table.matcher.match(tag_of(KvOp::remove, table.hash("one")));
  table.store(KvOp::remove, "one");
  table.list.matched(*entry, true);
  table.follow();
  EXPECT_EQ(table.list.length(), 0U);
  EXPECT_TRUE(table.matcher.list.empty());
}

TEST(MatchListTest, ALateMatchOfALeavingEntryEndsIt) {
  Followed table;
  table.store(KvOp::insert, "one");
  table.follow();
  TaggedReceive* entry = table.matcher.match(tag_of(KvOp::get, table.hash("one")));
  table.store(KvOp::remove, "one");
  table.follow();  // it is cancelled, too late
  table.list.matched(*entry, false);
  EXPECT_TRUE(table.matcher.list.empty());
  table.store(KvOp::insert, "one");
  table.follow();
  EXPECT_EQ(table.list.length(), 1U);
}

TEST(MatchListTest, WhatHasNoRoomHasNoEntry) {
  Followed table(8, 10);
  for (int i = 0; i < 30; ++i) table.store(KvOp::insert, std::to_string(i));
  table.follow();
  EXPECT_EQ(table.list.length(), 10U);
  EXPECT_EQ(table.one.shard.elements(), 30U);
}

// Nothing happens to the home of what had no room: that there is some now is enough.
TEST(MatchListTest, WhatFoundNoRoomHasAnEntryWhenThereIsSome) {
  Followed table(8, 10);
  for (int i = 0; i < 30; ++i) table.store(KvOp::insert, std::to_string(i));
  table.follow();
  const int posts = table.matcher.posts;
  EXPECT_FALSE(table.list.catch_up());
  EXPECT_EQ(table.matcher.posts, posts) << "a list that is full is left alone";
  for (int i = 0; i < 25; ++i) {
    table.remove_matched(std::to_string(i));
    table.follow();
    while (table.list.catch_up()) continue;
    EXPECT_EQ(table.list.length(), std::min(10, 29 - i));
  }
  std::multiset<std::uint64_t> expected;
  for (int i = 25; i < 30; ++i) expected.insert(tag_of(KvOp::get, table.hash(std::to_string(i))));
  EXPECT_EQ(table.tags(), expected);
}

TEST(MatchListTest, WhatWasRefusedIsPostedLater) {
  Followed table;
  table.store(KvOp::insert, "one");
  table.store(KvOp::insert, "two");
  table.matcher.refuses = true;
  table.follow();
  const int posts = table.matcher.posts;
  EXPECT_FALSE(table.list.catch_up());
  EXPECT_EQ(table.matcher.posts, posts + 1) << "each poll tries once";
  table.matcher.refuses = false;
  while (table.list.catch_up()) continue;
  EXPECT_EQ(table.list.length(), 2U);
  TaggedReceive* entry = table.matcher.match(tag_of(KvOp::get, table.hash("two")));
  ASSERT_NE(entry, nullptr);
  table.matcher.refuses = true;
  table.list.matched(*entry, false);
  EXPECT_EQ(table.list.length(), 1U);
  table.matcher.refuses = false;
  EXPECT_TRUE(table.list.catch_up());
  EXPECT_EQ(table.list.length(), 2U);
  EXPECT_EQ(table.matcher.list.size(), 2U);
}

TEST(MatchListTest, ToldOfAllHomesItTakesWhatWasThere) {
  Followed table;
  for (int i = 0; i < 500; ++i) table.store(KvOp::insert, std::to_string(i));
  std::memset(table.memory.get(), 0, Changes::bytes(table.one.layout));
  table.follow();
  table.changes.tell_all();
  table.follow();
  EXPECT_EQ(table.list.length(), 500U);
}

// With keys of one hash, and more elements than their home groups have room for; inlined and not.
TEST(MatchListTest, IsWhatThePartIsWheneverItHasFollowed) {
  const std::uint64_t seed = test_seed();
  for (const auto& [value_bytes, hash] : {std::pair<std::uint64_t, KeyHash>{8, nullptr},
                                          {8, {few_hashes, true}},
                                          {500, nullptr},
                                          {500, {few_hashes, true}}}) {
    std::mt19937_64 random(seed);
    Followed table(value_bytes, 100000, hash);
    std::set<std::string> keys;
    for (int i = 0; i < 20000; ++i) {
      const std::string key = std::to_string(random() % 1500);
      TaggedReceive* entry =
          random() % 2 == 0 ? table.matcher.match(tag_of(KvOp::remove, table.hash(key))) : nullptr;
      bool removed = false;
      if (random() % 2 == 0) {
        if (table.store(KvOp::put, key) == SHMEMX_KV_OK) keys.insert(key);
      } else {
        removed = table.store(KvOp::remove, key) == SHMEMX_KV_OK;
        if (removed) keys.erase(key);
      }
      if (entry != nullptr) table.list.matched(*entry, removed);
      if (random() % 200 != 0) continue;
      table.follow();
      std::multiset<std::uint64_t> expected;
      for (const std::string& each : keys) expected.insert(tag_of(KvOp::get, table.hash(each)));
      ASSERT_EQ(table.tags(), expected);
      ASSERT_EQ(table.list.length(), expected.size());
    }
  }
}

std::uint64_t last_group(const void* key, std::size_t n) {
  std::uint64_t guess = hash_of(nullptr, key, n);
  while (group_of(hash_of({[](const void* at, std::size_t) { return *static_cast<const std::uint64_t*>(at); },
                           true},
                          &guess, sizeof guess),
                  make_layout(16, 8, 2000, 1, false).groups) != make_layout(16, 8, 2000, 1, false).groups - 1)
    ++guess;
  return guess;
}

// What finds no room in the last group lies in alternates.
TEST(MatchListTest, FollowsElementsThatAreAway) {
  Followed table(8, 100000, {last_group, true});
  for (unsigned i = 0; i < 2 * kSlots; ++i)
    ASSERT_EQ(table.store(KvOp::insert, std::to_string(i)), SHMEMX_KV_OK);
  table.follow();
  EXPECT_EQ(table.list.length(), 2 * kSlots);
  for (unsigned i = 0; i < 2 * kSlots; ++i) table.store(KvOp::remove, std::to_string(i));
  table.follow();
  EXPECT_EQ(table.list.length(), 0U);
}

TEST(MatchListTest, FollowsThreads) {
  Followed table;
  std::atomic<bool> over{false};
  std::thread follower([&] {
    while (!over.load()) table.follow();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&table, t] {
      for (int i = 0; i < 3000; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i % 300);
        table.store(i / 300 % 2 == 0 ? KvOp::insert : KvOp::remove, key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  over.store(true);
  follower.join();
  table.follow();
  EXPECT_EQ(table.one.shard.elements(), 0U);
  EXPECT_EQ(table.list.length(), 0U);
  EXPECT_TRUE(table.matcher.list.empty());
}

TEST(EntryMessageTest, RequestsArriveAsTheyWere) {
  const std::string key = "a key", value = "twelve bytes", expected = "other twelve";
  KvRequest request{.op = KvOp::compare_swap,
                    .key = {77, key.data(), static_cast<std::uint32_t>(key.size())},
                    .value = value.data(),
                    .n = value.size()};
  request.expected = expected.data();
  request.offset = 5;
  alignas(8) std::byte message[256];
  const RequestHead sent = head_of(request, 99, true);
  ASSERT_LE(message_bytes(sent), sizeof message);
  write_message(message, sent, request, {3, 5});
  MatchHead head;
  const KvRequest got = read_message(message, head);
  EXPECT_EQ(head.from, 3);
  EXPECT_EQ(head.table, 5U);
  EXPECT_EQ(table_of_match(message, sizeof message), 5U);
  EXPECT_EQ(table_of_match(message, sizeof head - 1), kNoTable);
  EXPECT_EQ(head.request.token, 99U);
  EXPECT_EQ(head.request.wants, kWantsOld);
  EXPECT_EQ(got.op, KvOp::compare_swap);
  EXPECT_EQ(got.key.hash, 77U);
  EXPECT_EQ(got.offset, 5U);
  EXPECT_EQ(std::string(static_cast<const char*>(got.key.bytes), got.key.n), key);
  EXPECT_EQ(std::string(static_cast<const char*>(got.value), got.n), value);
  EXPECT_EQ(std::string(static_cast<const char*>(got.expected), got.n), expected);
}

}  // namespace
}  // namespace shm::kv

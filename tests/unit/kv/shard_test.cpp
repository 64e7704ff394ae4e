// SPDX-License-Identifier: BSD-3-Clause
#include "kv/shard.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

std::uint64_t always_the_same(const void*, std::size_t) { return 0x123456789abcdefULL; }

// Inlined and in blocks.
class ShardTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  OneShard table{make_layout(16, GetParam(), 100, 1, false)};
  std::string value;
};
INSTANTIATE_TEST_SUITE_P(All, ShardTest, ::testing::Values(24, 3000));

TEST_P(ShardTest, StoresAndFinds) {
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.update("a", "1"), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.insert("a", "one"), SHMEMX_KV_OK);
  EXPECT_EQ(table.insert("a", "two"), SHMEMX_KV_EXISTS);
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "one");
  EXPECT_EQ(table.put("a", ""), SHMEMX_KV_OK);
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "");
  EXPECT_EQ(table.update("a", "twenty-two characters."), SHMEMX_KV_OK);
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "twenty-two characters.");
  EXPECT_EQ(table.put("a", std::string(GetParam() + 1, 'x')), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(table.shard.elements(), 1u);
  EXPECT_EQ(table.remove("a"), SHMEMX_KV_OK);
  EXPECT_EQ(table.remove("a"), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.shard.elements(), 0u);
  EXPECT_EQ(table.shard.block_bytes_used(), 0u);
}

TEST_P(ShardTest, KeysDifferInLengthToo) {
  table.hash = always_the_same;
  EXPECT_EQ(table.put(std::string("ab\0", 3), "2"), SHMEMX_KV_OK);
  EXPECT_EQ(table.get("ab", value), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.put("ab", "1"), SHMEMX_KV_OK);
  EXPECT_EQ(table.get("ab", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "1");
  EXPECT_EQ(table.shard.elements(), 2U);
}

TEST_P(ShardTest, TheOneThatFindsItsHomeFullIsFoundBehindIt) {
  table.hash = always_the_same;
  for (unsigned i = 0; i <= kSlots; ++i) table.insert(std::to_string(i), "x");
  EXPECT_EQ(table.get(std::to_string(kSlots), value), SHMEMX_KV_OK);
  EXPECT_EQ(table.shard.longest_probe(), 1U);
}

TEST_P(ShardTest, ChangesPartsOfValues) {
  table.put("k", "abcdefghijklmnop");
  EXPECT_EQ(table.compare_swap("k", 5, "fgh", "FGH"), SHMEMX_KV_OK);
  EXPECT_EQ(table.compare_swap("k", 5, "fgh", "xyz"), SHMEMX_KV_MISMATCH);
  EXPECT_EQ(table.compare_swap("k", 14, "opq", "xyz"), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(table.compare_swap("k", 17, "", ""), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(table.compare_swap("none", 0, "", ""), SHMEMX_KV_NOT_FOUND);
  table.get("k", value);
  EXPECT_EQ(value, "abcdeFGHijklmnop");
  std::uint64_t old = 1;
  EXPECT_EQ(table.add(KvOp::accumulate, "n", 5, old), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.add(KvOp::upsert, "n", 5, old), SHMEMX_KV_OK);
  EXPECT_EQ(old, 0u);
  EXPECT_EQ(table.add(KvOp::upsert, "n", 7, old), SHMEMX_KV_OK);
  EXPECT_EQ(old, 5u);
  EXPECT_EQ(table.add(KvOp::accumulate, "n", 1, old), SHMEMX_KV_OK);
  EXPECT_EQ(old, 12u);
  table.put("short", "abc");
  EXPECT_EQ(table.add(KvOp::accumulate, "short", 1, old), SHMEMX_KV_TOO_LARGE);
}

// Nothing is lost when it is full: at so many elements, or where keys of one hash have taken both their
// groups.
TEST_P(ShardTest, FillsUpAndSaysSo) {
  for (const bool collide : {false, true}) {
    OneShard full(make_layout(16, GetParam(), 50, 1, false));
    if (collide) full.hash = always_the_same;
    const std::uint64_t most = collide ? 2 * kSlots : full.layout.most_elements();
    std::uint64_t stored = 0;
    while (full.put(std::to_string(stored), std::to_string(stored)) == SHMEMX_KV_OK) ++stored;
    EXPECT_EQ(stored, most);
    EXPECT_EQ(full.insert("one more", "x"), SHMEMX_KV_FULL);
    for (std::uint64_t i = 0; i < stored; ++i) {
      ASSERT_EQ(full.get(std::to_string(i), value), SHMEMX_KV_OK);
      ASSERT_EQ(value, std::to_string(i));
    }
    EXPECT_EQ(full.remove("7"), SHMEMX_KV_OK);
    EXPECT_EQ(full.insert("one more", "x"), SHMEMX_KV_OK);
    EXPECT_EQ(full.get("one more", value), SHMEMX_KV_OK);
    EXPECT_EQ(full.shard.elements(), most);
  }
}

TEST_P(ShardTest, RandomOperationsAgreeWithAMap) {
  std::mt19937_64 dice(test_seed());
  std::map<std::string, std::string> model;
  for (int i = 0; i < 30000; ++i) {
    const std::string key = std::to_string(dice() % 120);
    const std::string text(dice() % 24, static_cast<char>('a' + dice() % 26));
    const auto found = model.find(key);
    const bool there = found != model.end();
    switch (dice() % 5) {
      case 0:
        if (!there && model.size() >= 100) break;
        ASSERT_EQ(table.put(key, text), SHMEMX_KV_OK);
        model[key] = text;
        break;
      case 1:
        ASSERT_EQ(table.remove(key), there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
        model.erase(key);
        break;
      case 2:
        ASSERT_EQ(table.update(key, text), there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
        if (there) found->second = text;
        break;
      default:
        ASSERT_EQ(table.get(key, value), there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
        if (there) {
          ASSERT_EQ(value, found->second);
        }
    }
    ASSERT_EQ(table.shard.elements(), model.size());
  }
  std::map<std::string, std::string> seen;
  char key[16];
  std::vector<char> room(GetParam());
  Element element{key, sizeof key, 0, room.data(), room.size(), 0};
  for (std::uint64_t cursor = 0; table.shard.next(cursor, element) == SHMEMX_KV_OK;)
    seen[std::string(key, element.key_bytes)] = std::string(room.data(), element.value_bytes);
  EXPECT_EQ(seen, model);
  for (const auto& [k, v] : model) EXPECT_EQ(table.remove(k), SHMEMX_KV_OK);
  EXPECT_EQ(table.shard.block_bytes_used(), 0u);
}

TEST_P(ShardTest, GivesElementsOnlyWhereTheyHaveRoom) {
  table.put("key", "value");
  char key[8], text[8];
  std::uint64_t cursor = 0;
  Element element{key, 2, 0, text, sizeof text, 0};
  EXPECT_EQ(table.shard.next(cursor, element), SHMEMX_KV_TOO_LARGE);
  element = {key, sizeof key, 0, text, 4, 0};
  EXPECT_EQ(table.shard.next(cursor, element), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(element.value_bytes, 5u);
  element = {key, sizeof key, 0, nullptr, 0, 0};
  EXPECT_EQ(table.shard.next(cursor, element), SHMEMX_KV_OK);
  EXPECT_EQ(table.shard.next(cursor, element), SHMEMX_KV_NOT_FOUND);
}

TEST(ShardCollisionTest, IsReportedWhereThatIsAskedFor) {
  OneShard table(make_layout(8, 8, 10, 1, true));
  table.hash = always_the_same;
  EXPECT_EQ(table.insert("a", "1"), SHMEMX_KV_OK);
  EXPECT_EQ(table.insert("b", "2"), SHMEMX_KV_COLLISION);
  EXPECT_EQ(table.put("a", "3"), SHMEMX_KV_OK);
  EXPECT_EQ(table.remove("a"), SHMEMX_KV_OK);
  EXPECT_EQ(table.put("b", "2"), SHMEMX_KV_OK);
}

// What a caller that does not wait finds while somebody else is at work.
// Elements of one group, whose tags are the same and whose hashes are not.
TEST(ShardCollisionsTest, AreFoundBehindOthersOfTheSameTag) {
  OneShard table(make_layout(8, 8, 100, 1, true));
  table.hash = [](const void* key, std::size_t) {
    return static_cast<std::uint64_t>(*static_cast<const unsigned char*>(key)) << 40;
  };
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(table.insert(key, "1"), SHMEMX_KV_OK);
  for (const char* key : {"aa", "bb", "cc"}) EXPECT_EQ(table.insert(key, "2"), SHMEMX_KV_COLLISION) << key;
  EXPECT_EQ(table.insert("dd", "2"), SHMEMX_KV_OK);
  EXPECT_EQ(table.shard.elements(), 4U);
}

// What a named object of the right size holds, which some program has made.
TEST(ShardOriginTest, TellsATableFromOthersAndFromOtherThings) {
  const auto made = [](std::uint64_t value_bytes, bool report) {
    return OneShard(make_layout(8, value_bytes, 100, 1, report));
  };
  using Origin = Shard<Mapped>::Origin;
  const OneShard table = made(3000, false);
  EXPECT_EQ(table.shard.origin(0), Origin::same);
  EXPECT_EQ(table.shard.origin(1), Origin::other) << "another hash function";
  const OneShard reporting = made(3000, true);
  EXPECT_EQ(Shard<Mapped>(Mapped(table.memory.get()), reporting.layout).origin(0), Origin::other);
  std::memset(table.memory.get(), 0, sizeof(ShardHeader));
  EXPECT_EQ(table.shard.origin(0), Origin::empty);
  std::memset(table.memory.get(), 'x', sizeof(ShardHeader));
  EXPECT_EQ(table.shard.origin(0), Origin::other) << "no table at all";
}

class ShardPatienceTest : public ::testing::Test {
 protected:
  template <class Word>
  Word* word(std::size_t member) const {
    const std::uint64_t group = group_of(key.hash, table.layout.groups);
    return reinterpret_cast<Word*>(table.memory.get() + table.layout.group_at(group) + member);
  }
  Code execute(KvRequest request) const {
    ValueRoom result{room, 0};
    request.key = key;
    return table.shard.execute(request, result, 50);
  }

  OneShard table{make_layout(8, 10000, 10, 1, false)};
  const std::string text = "a", long_value = std::string(10000, 'x');
  const Key key = table.key(text);
  mutable char room[16];
};

TEST_F(ShardPatienceTest, AServerThatFindsALockTakenDoesNothing) {
  table.put("a", "1");
  auto* home = word<std::uint32_t>(offsetof(SlotGroup, home));
  *home = 1;
  EXPECT_EQ(execute({.op = KvOp::remove, .key = {}}), kBusy);
  *home = 0;
  EXPECT_EQ(execute({.op = KvOp::remove, .key = {}}), SHMEMX_KV_OK);
}

TEST_F(ShardPatienceTest, AReaderGivesUpWhileTheGroupIsBeingChanged) {
  table.put("a", "1");
  *word<std::uint32_t>(0) += 1;
  EXPECT_EQ(execute({.op = KvOp::get, .key = {}, .n = sizeof room}), kBusy);
  EXPECT_EQ(execute({.op = KvOp::contains, .key = {}}), kBusy);
  *word<std::uint32_t>(0) += 1;
  EXPECT_EQ(execute({.op = KvOp::get, .key = {}, .n = sizeof room}), SHMEMX_KV_OK);
}

TEST_F(ShardPatienceTest, ALongValueThatFindsALockTakenLeavesNoBlockBehind) {
  auto* home = word<std::uint32_t>(offsetof(SlotGroup, home));
  *home = 1;
  const KvRequest put{.op = KvOp::put, .key = {}, .value = long_value.data(), .n = long_value.size()};
  EXPECT_EQ(execute(put), kBusy);
  EXPECT_EQ(table.shard.block_bytes_used(), 0U);
  *home = 0;
  EXPECT_EQ(execute(put), SHMEMX_KV_OK);
}

// Fifteen elements of one home, which has fourteen slots.
TEST(ShardSurveyTest, TellsWhichElementsAreAwayFromTheirHome) {
  const OneShard table{make_layout(8, 8, 200, 1, false)};
  for (std::uint64_t i = 0; i < kSlots + 1; ++i) {
    ValueRoom nothing;
    const KvRequest put{.op = KvOp::put, .key = {5, &i, sizeof i}, .value = &i, .n = sizeof i};
    ASSERT_EQ(table.shard.execute(put, nothing, kUnlimited), SHMEMX_KV_OK);
  }
  const ShardSurvey found = table.shard.survey();
  EXPECT_EQ(found.at_home, kSlots);
  EXPECT_EQ(found.away, 1U);
  EXPECT_EQ(found.with_away, 1U);
  EXPECT_EQ(found.without_away, table.layout.groups * kAlternates - 1);
  EXPECT_EQ(found.groups[kSlots], 1U);
  EXPECT_EQ(found.groups[1], 1U);
  EXPECT_EQ(found.groups[0], table.layout.groups - 2);
}

// What finds the home taken, or the group changing, is counted where somebody wants that.
TEST_F(ShardPatienceTest, LooksInVainAndWaitsAreCounted) {
  table.put("a", "1");
  ShardEvents events;
  ShardLayout layout = table.layout;
  layout.events = &events;
  const Shard<Mapped> shard(Mapped(table.memory.get()), layout);
  std::uint64_t n = 0;
  ValueRoom nothing;
  *word<std::uint32_t>(0) += 1;
  EXPECT_EQ(shard.get(key, room, sizeof room, n, 9), kBusy);
  EXPECT_EQ(events.looks.total(), 10U);
  *word<std::uint32_t>(0) += 1;
  EXPECT_EQ(shard.get(key, room, sizeof room, n, 9), SHMEMX_KV_OK);
  EXPECT_EQ(events.looks.total(), 10U);
  auto* home = word<std::uint32_t>(offsetof(SlotGroup, home));
  *home = 1;
  EXPECT_EQ(shard.execute({.op = KvOp::remove, .key = key}, nothing, 7), kBusy);
  EXPECT_EQ(events.waits.total(), 1U);
  *home = 0;
  EXPECT_EQ(shard.execute({.op = KvOp::remove, .key = key}, nothing, 7), SHMEMX_KV_OK);
  EXPECT_EQ(events.waits.total(), 1U);
}

// Blocks that the caller has reserved and filled, as requests of other nodes do with long values.
class ShardBlocksTest : public ::testing::Test {
 protected:
  std::uint64_t reserve() const {
    ValueRoom result;
    EXPECT_EQ(table.shard.execute({.op = KvOp::reserve, .key = {}, .n = 100}, result, ~0U), SHMEMX_KV_OK);
    return result.n;
  }
  /// Whether there was a smallest block.
  bool reserve_any() const {
    ValueRoom result;
    return table.shard.execute({.op = KvOp::reserve, .key = {}, .n = 1}, result, ~0U) == SHMEMX_KV_OK;
  }
  /// Of a value of three characters in a block of its own.
  Code link(KvOp op, const std::string& key_text, const std::string& value) const {
    const std::uint64_t block = reserve();
    const Key key = table.key(key_text);
    const Block head{key.n, 0, value.size()};
    std::memcpy(table.memory.get() + block, &head, sizeof head);
    std::memcpy(table.memory.get() + block + sizeof head, key.bytes, key.n);
    std::memcpy(table.memory.get() + block + sizeof head + padded(key.n), value.data(), value.size());
    ValueRoom result;
    return table.shard.execute({.op = op, .key = key, .n = value.size(), .block = block}, result, ~0U);
  }
  std::uint64_t used() const { return table.shard.block_bytes_used(); }

  OneShard table{make_layout(16, 3000, 20, 1, false)};
  std::string value;
};

TEST_F(ShardBlocksTest, TakeTheOldOnesPlace) {
  const std::uint64_t nothing = used();
  EXPECT_EQ(link(KvOp::insert, "a", "one"), SHMEMX_KV_OK);
  const std::uint64_t one = used();
  EXPECT_EQ(link(KvOp::put, "a", "two"), SHMEMX_KV_OK);
  EXPECT_EQ(link(KvOp::update, "a", "six"), SHMEMX_KV_OK);
  EXPECT_EQ(used(), one);
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "six");
  EXPECT_EQ(table.remove("a"), SHMEMX_KV_OK);
  EXPECT_EQ(used(), nothing);
}

TEST_F(ShardBlocksTest, AreFreeAgainWhereTheRequestIsRefused) {
  EXPECT_EQ(link(KvOp::update, "a", "one"), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(used(), 0U);
  table.put("a", "old");
  const std::uint64_t one = used();
  EXPECT_EQ(link(KvOp::insert, "a", "one"), SHMEMX_KV_EXISTS);
  EXPECT_EQ(used(), one);
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "old");
}

TEST_F(ShardBlocksTest, AreFreedOnceWhereThereIsNoSlot) {
  for (int i = 0; table.put(std::to_string(i), "x") == SHMEMX_KV_OK;) ++i;
  const std::uint64_t all = used();
  EXPECT_EQ(link(KvOp::put, "a", "one"), SHMEMX_KV_FULL);
  EXPECT_EQ(used(), all);
}

// All blocks are taken by elements of the longest kind: each can still get another value, and none a longer
// one.
TEST_F(ShardBlocksTest, AnElementNeedsNoOtherBlockWhereThereIsNone) {
  const OneShard full(make_layout(16, 9000, 10, 1, false));  // longer than what is copied under locks
  const std::string longest(9000, 'x'), other(9000, 'y');
  int n = 0;
  while (full.insert(std::to_string(n), longest) == SHMEMX_KV_OK) ++n;
  ASSERT_EQ(full.shard.block_bytes_used(), full.layout.chunks * full.layout.largest_block);
  EXPECT_EQ(full.put("0", other), SHMEMX_KV_OK);
  EXPECT_EQ(full.update("1", other), SHMEMX_KV_OK);
  EXPECT_EQ(full.put("2", "short"), SHMEMX_KV_OK);
  for (const auto& [k, v] :
       {std::pair{"0", other}, {"1", other}, {"2", std::string("short")}, {"3", longest}}) {
    EXPECT_EQ(full.get(k, value), SHMEMX_KV_OK);
    EXPECT_EQ(value, v) << k;
  }
  EXPECT_EQ(full.put("not there", other), SHMEMX_KV_FULL);
  for (int i = 0; i < n; ++i) EXPECT_EQ(full.remove(std::to_string(i)), SHMEMX_KV_OK);
  EXPECT_EQ(full.shard.block_bytes_used(), 0U);
}

TEST_F(ShardBlocksTest, AnElementThatNeedsALongerBlockIsAsItWasWhereThereIsNone) {
  EXPECT_EQ(table.put("small", "abc"), SHMEMX_KV_OK);
  while (reserve_any()) {
  }
  EXPECT_EQ(table.put("small", std::string(3000, 'x')), SHMEMX_KV_FULL);
  EXPECT_EQ(table.get("small", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "abc");
  EXPECT_EQ(table.put("small", "xyz"), SHMEMX_KV_OK);
  EXPECT_EQ(table.get("small", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "xyz");
}

// Where a value is, and whether it still is: how it is read without the server.
TEST_F(ShardBlocksTest, AreWhereTheyAreSaidToBeUntilTheyAreReplaced) {
  table.put("a", "a value");
  const std::string text = "a";
  Location location;
  std::uint64_t n = 0;
  ASSERT_EQ(table.shard.locate(table.key(text), location, n, ~0U), SHMEMX_KV_OK);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(table.memory.get() + location.at), n), "a value");
  const auto confirm = [&](std::uint64_t version) {
    ValueRoom result;
    return table.shard.execute({.op = KvOp::confirm, .key = {}, .n = version, .offset = location.group},
                               result, ~0U);
  };
  EXPECT_EQ(confirm(location.version), SHMEMX_KV_OK);
  auto* version =
      reinterpret_cast<std::uint32_t*>(table.memory.get() + table.layout.group_at(location.group));
  *version += 1;
  EXPECT_EQ(confirm(*version), SHMEMX_KV_MISMATCH) << "while it is being changed";
  *version -= 1;
  table.put("a", "another");
  EXPECT_EQ(confirm(location.version), SHMEMX_KV_MISMATCH);
}

}  // namespace
}  // namespace shm::kv

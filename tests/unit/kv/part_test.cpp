// SPDX-License-Identifier: BSD-3-Clause
#include "kv/part.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "part_fixture.hpp"

namespace shm::kv {
namespace {

std::uint64_t always_the_same(const void*, std::size_t) { return 0x123456789abcdefULL; }

// Inlined and in blocks.
class PartTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  OnePart table{make_layout(16, GetParam(), 100, 1, false)};
  std::string value;
};
INSTANTIATE_TEST_SUITE_P(All, PartTest, ::testing::Values(24, 3000));

TEST_P(PartTest, StoresAndFinds) {
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
  EXPECT_EQ(table.part.elements(), 1u);
  EXPECT_EQ(table.remove("a"), SHMEMX_KV_OK);
  EXPECT_EQ(table.remove("a"), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.get("a", value), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.part.elements(), 0u);
  EXPECT_EQ(table.part.block_bytes_used(), 0u);
}

TEST_P(PartTest, KeysDifferInLengthToo) {
  EXPECT_EQ(table.put("ab", "1"), SHMEMX_KV_OK);
  EXPECT_EQ(table.put(std::string("ab\0", 3), "2"), SHMEMX_KV_OK);
  EXPECT_EQ(table.get("ab", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "1");
}

TEST_P(PartTest, ChangesPartsOfValues) {
  table.put("k", "abcdefghijklmnop");
  EXPECT_EQ(table.compare_swap("k", 5, "fgh", "FGH"), SHMEMX_KV_OK);
  EXPECT_EQ(table.compare_swap("k", 5, "fgh", "xyz"), SHMEMX_KV_MISMATCH);
  EXPECT_EQ(table.compare_swap("k", 14, "opq", "xyz"), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(table.compare_swap("k", 17, "", ""), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(table.compare_swap("none", 0, "", ""), SHMEMX_KV_NOT_FOUND);
  table.get("k", value);
  EXPECT_EQ(value, "abcdeFGHijklmnop");
  std::uint64_t old = 1;
  EXPECT_EQ(table.add(Op::accumulate, "n", 5, old), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(table.add(Op::upsert, "n", 5, old), SHMEMX_KV_OK);
  EXPECT_EQ(old, 0u);
  EXPECT_EQ(table.add(Op::upsert, "n", 7, old), SHMEMX_KV_OK);
  EXPECT_EQ(old, 5u);
  EXPECT_EQ(table.add(Op::accumulate, "n", 1, old), SHMEMX_KV_OK);
  EXPECT_EQ(old, 12u);
  table.put("short", "abc");
  EXPECT_EQ(table.add(Op::accumulate, "short", 1, old), SHMEMX_KV_TOO_LARGE);
}

// Nothing is lost when it is full, and all slots can be filled, whatever the keys' hashes.
TEST_P(PartTest, FillsUpAndSaysSo) {
  for (const bool collide : {false, true}) {
    OnePart full(make_layout(16, GetParam(), 50, 1, false));
    if (collide) full.hash = always_the_same;
    const std::uint64_t slots = full.layout.groups * kSlots;
    std::uint64_t stored = 0;
    while (full.put(std::to_string(stored), std::to_string(stored)) == SHMEMX_KV_OK) ++stored;
    EXPECT_EQ(stored, slots);
    EXPECT_EQ(full.insert("one more", "x"), SHMEMX_KV_FULL);
    for (std::uint64_t i = 0; i < stored; ++i) {
      ASSERT_EQ(full.get(std::to_string(i), value), SHMEMX_KV_OK);
      ASSERT_EQ(value, std::to_string(i));
    }
    EXPECT_EQ(full.remove("7"), SHMEMX_KV_OK);
    EXPECT_EQ(full.insert("one more", "x"), SHMEMX_KV_OK);
    EXPECT_EQ(full.get("one more", value), SHMEMX_KV_OK);
    EXPECT_EQ(full.part.elements(), slots);
  }
}

TEST_P(PartTest, RandomOperationsAgreeWithAMap) {
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
    ASSERT_EQ(table.part.elements(), model.size());
  }
  std::map<std::string, std::string> seen;
  char key[16];
  std::vector<char> room(GetParam());
  Element element{key, sizeof key, 0, room.data(), room.size(), 0};
  for (std::uint64_t cursor = 0; table.part.next(cursor, element) == SHMEMX_KV_OK;)
    seen[std::string(key, element.key_bytes)] = std::string(room.data(), element.value_bytes);
  EXPECT_EQ(seen, model);
  for (const auto& [k, v] : model) EXPECT_EQ(table.remove(k), SHMEMX_KV_OK);
  EXPECT_EQ(table.part.block_bytes_used(), 0u);
}

TEST_P(PartTest, GivesElementsOnlyWhereTheyHaveRoom) {
  table.put("key", "value");
  char key[8], text[8];
  std::uint64_t cursor = 0;
  Element element{key, 2, 0, text, sizeof text, 0};
  EXPECT_EQ(table.part.next(cursor, element), SHMEMX_KV_TOO_LARGE);
  element = {key, sizeof key, 0, text, 4, 0};
  EXPECT_EQ(table.part.next(cursor, element), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(element.value_bytes, 5u);
  element = {key, sizeof key, 0, nullptr, 0, 0};
  EXPECT_EQ(table.part.next(cursor, element), SHMEMX_KV_OK);
  EXPECT_EQ(table.part.next(cursor, element), SHMEMX_KV_NOT_FOUND);
}

TEST(PartCollisionTest, IsReportedWhereThatIsAskedFor) {
  OnePart table(make_layout(8, 8, 10, 1, true));
  table.hash = always_the_same;
  EXPECT_EQ(table.insert("a", "1"), SHMEMX_KV_OK);
  EXPECT_EQ(table.insert("b", "2"), SHMEMX_KV_COLLISION);
  EXPECT_EQ(table.put("a", "3"), SHMEMX_KV_OK);
  EXPECT_EQ(table.remove("a"), SHMEMX_KV_OK);
  EXPECT_EQ(table.put("b", "2"), SHMEMX_KV_OK);
}

TEST(PartPatienceTest, AServerThatFindsALockTakenDoesNothing) {
  OnePart table(make_layout(8, 8, 10, 1, false));
  table.put("a", "1");
  const std::string text = "a";
  const Key key = table.key(text);
  auto* home = reinterpret_cast<std::uint32_t*>(
      table.memory.get() + table.layout.group_at(group_of(key.hash, table.layout.groups)) +
      offsetof(Group, home));
  *home = 1;
  Result result;
  EXPECT_EQ(table.part.execute({.op = Op::remove, .key = key}, result, 50), kBusy);
  *home = 0;
  EXPECT_EQ(table.part.execute({.op = Op::remove, .key = key}, result, 50), SHMEMX_KV_OK);
}

}  // namespace
}  // namespace shm::kv

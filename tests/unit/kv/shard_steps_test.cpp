// SPDX-License-Identifier: BSD-3-Clause
// One operation on a shard between two accesses of another one: at each place where a thread can be
// overtaken.
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "shard_fixture.hpp"
#include "stepped.hpp"

namespace shm::kv {
namespace {

constexpr std::uint64_t kGroups = 4;

// A key's first character says which group is its home.  The next one is its alternate.
std::uint64_t hash_by_home(const void* key, std::size_t n) {
  static const ShardLayout layout = make_layout(16, 24, 30, 1, false);
  const auto* text = static_cast<const char*>(key);
  const auto home = static_cast<std::uint64_t>(text[0] - '0');
  std::uint64_t next = 0;
  while (layout.strides[next] != 1) ++next;
  const std::uint64_t tag = hash_of(nullptr, key, n) / kAlternates * kAlternates + next;
  return tag << 32 | ((home << 32) + (std::uint64_t{1} << 31)) / kGroups;
}

struct Do {
  KvOp op;
  std::string key, value;
};

class ShardStepsTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr unsigned kSoon = 20;  // looks

  void SetUp() override { begin(); }
  /// Group 0 is full, so that what has its home there is in group 1, which has elements of its own.
  void begin() {
    table = std::make_unique<OneShard>(make_layout(16, GetParam(), 30, 1, false));
    ASSERT_EQ(table->layout.groups, kGroups);
    table->hash = hash_by_home;
    for (unsigned i = 0; i < kSlots; ++i) table->put("0 full " + std::to_string(i), "x");
    for (const char* key : {"0 passes", "0 passes too", "1 home"}) table->put(key, first);
  }

  KvRequest request(const Do& what) const {
    KvRequest request{.op = what.op, .key = table->key(what.key), .value = what.value.data()};
    request.n = what.value.size();
    if (what.op == KvOp::compare_swap) request.expected = first.data();
    if (what.op == KvOp::accumulate || what.op == KvOp::upsert) request.atomic = AtomicOp::set;
    return request;
  }
  Code execute(const Do& what) const {
    ValueRoom result;
    return table->shard.execute(request(what), result, kUnlimited);
  }
  /// The operation; `between(n)` is called before the n-th access.
  template <class Between>
  Code execute_in_steps(const KvRequest& what, Between between) const {
    int n = 0;
    const std::function<void()> step = [&] { between(n++); };
    ValueRoom result;
    return Shard<Stepped>(Stepped(table->memory.get(), step), table->layout)
        .execute(what, result, kUnlimited);
  }
  template <class Between>
  Code execute_in_steps(const Do& what, Between between) const {
    return execute_in_steps(request(what), between);
  }

  /// How many elements of the home are away.
  unsigned away(std::uint64_t home) const {
    unsigned n = 0;
    for (std::uint64_t counts = table->group(home).away; counts != 0; counts /= 16) n += counts % 16;
    return n;
  }
  /// All that changes elements: of keys whose home is `home`.  Groups 0 and 1 have them in group 1.
  std::vector<Do> changes(const std::string& home) const {
    const std::string fresh = home + " new", there = home == "0" ? "0 passes" : "1 home";
    return {
        {KvOp::insert, fresh, second},     {KvOp::put, fresh, second},          {KvOp::upsert, fresh, second},
        {KvOp::put, there, second},        {KvOp::update, there, second},       {KvOp::upsert, there, second},
        {KvOp::accumulate, there, second}, {KvOp::compare_swap, there, second}, {KvOp::remove, there, ""}};
  }
  static std::string describe(const Do& what) {
    return "operation " + std::to_string(static_cast<int>(what.op)) + " on '" + what.key + "'";
  }

  /// "": it is not there; "?": it could not be told.
  std::string look(const std::string& key, unsigned patience = kSoon) const {
    std::string room(table->layout.value_bytes, '\0');
    std::uint64_t n = 0;
    const Code status = table->shard.get(table->key(key), room.data(), room.size(), n, patience);
    if (status == kBusy) return "?";
    return status == SHMEMX_KV_OK ? room.substr(0, n) : "";
  }

  template <class Between>
  std::string get_in_steps(const std::string& key, Between between) const {
    int n = 0;
    const std::function<void()> step = [&] { between(n++); };
    const Shard<Stepped> shard(Stepped(table->memory.get(), step), table->layout);
    std::string room(table->layout.value_bytes, '\0');
    std::uint64_t bytes = 0;
    const Code status = shard.get(table->key(key), room.data(), room.size(), bytes, kUnlimited);
    return status == SHMEMX_KV_OK ? room.substr(0, bytes) : "";
  }

  /// Locks, counts and blocks are as the elements say.
  void expect_sound() const {
    ASSERT_FALSE(table->is_locked());
    unsigned away_from[kGroups] = {};
    std::uint64_t elements = 0;
    std::set<std::pair<std::uint64_t, unsigned>> numbers;
    for (std::uint64_t i = 0; i < kGroups; ++i) {
      const SlotGroup state = table->group(i);
      EXPECT_EQ(state.home, 0U) << "group " << i;
      for (unsigned slot = 0; slot < kSlots; ++slot) {
        const bool is_guest = (state.guests >> slot) % 2 != 0;
        if (state.tags[slot] == 0) {
          EXPECT_FALSE(is_guest) << "group " << i;
          continue;
        }
        const std::uint64_t home =
            is_guest ? table->layout.home_of_guest(i, alternate_of(state.tags[slot])) : i;
        ++elements;
        away_from[home] += is_guest ? 1 : 0;
        EXPECT_TRUE(numbers.emplace(home, state.numbers[slot]).second) << "group " << i;
      }
    }
    EXPECT_EQ(table->shard.elements(), elements);
    for (std::uint64_t i = 0; i < kGroups; ++i) EXPECT_EQ(away(i), away_from[i]) << "group " << i;
    char key[16];
    Element element{key, sizeof key, 0, nullptr, 0, 0};
    std::set<std::string> keys;
    for (std::uint64_t at = 0; table->shard.next(at, element) == SHMEMX_KV_OK;) {
      EXPECT_EQ(static_cast<std::uint64_t>(key[0] - '0'), table->shard.home_of_cursor(at - 1)) << key;
      EXPECT_TRUE(keys.insert(std::string(key, element.key_bytes)).second) << key;
    }
    EXPECT_EQ(keys.size(), elements);
    for (const std::string& each : keys) EXPECT_NE(look(each), "") << each;
    const std::uint64_t block = table->layout.inlined ? 0 : block_bytes();
    EXPECT_EQ(table->shard.block_bytes_used(), elements * block);
  }
  /// Of each element here: all are short.
  std::uint64_t block_bytes() const {
    OneShard other(table->layout);
    other.put("0", first);
    return other.shard.block_bytes_used();
  }

  const std::string first = "a value.", second = "another!";
  std::unique_ptr<OneShard> table;
};
INSTANTIATE_TEST_SUITE_P(All, ShardStepsTest, ::testing::Values(24, 600));

// Two keys that want the same slot: the one that comes second takes the next.
TEST_P(ShardStepsTest, ASlotThatWasTakenMeanwhileIsNotTakenAgain) {
  bool raced = false;
  const auto between = [&](int) {
    const bool is_about_to_store = away(0) == 3;  // it has seen a free slot in group 1
    if (raced || !is_about_to_store || table->is_locked()) return;
    raced = true;
    EXPECT_EQ(execute({KvOp::insert, "1 overtakes", second}), SHMEMX_KV_OK);
  };
  EXPECT_EQ(execute_in_steps({KvOp::insert, "0 overtaken", first}, between), SHMEMX_KV_OK);
  EXPECT_TRUE(raced);
  EXPECT_EQ(look("1 overtakes"), second);
  EXPECT_EQ(look("0 overtaken"), first);
  expect_sound();
}

// The last slot of all, of two groups: wherever one is overtaken, one gets it and the other hears of it.
TEST_P(ShardStepsTest, WhereTheLastSlotWasTakenMeanwhileThePartIsFull) {
  bool goes_on = true;
  for (int n = 0; goes_on; ++n) {
    table = std::make_unique<OneShard>(make_layout(16, GetParam(), 10, 1, false));
    ASSERT_EQ(table->layout.groups, 2U);
    table->hash = [](const void* key, std::size_t bytes) {  // two homes
      const bool second = static_cast<const char*>(key)[0] == '1';
      return hash_of(nullptr, key, bytes) << 32 | (second ? 0xc0000000U : 0x40000000U);
    };
    for (unsigned i = 0; i < 2 * kSlots - 1; ++i)
      ASSERT_EQ(table->put(std::to_string(i % 2) + std::to_string(i), first), SHMEMX_KV_OK);
    goes_on = false;
    bool raced = false;
    Code other = SHMEMX_KV_FULL;
    const auto between = [&](int step) {
      if (step != n) return;
      goes_on = true;
      for (std::uint64_t i = 0; i < 2; ++i)
        if (table->group(i).version % 2 != 0) return;
      ShardHeader header;
      std::memcpy(&header, table->memory.get(), sizeof header);
      if (header.lock != 0) return;
      raced = true;
      other = execute({KvOp::insert, "1 overtakes", second});
    };
    const Code one = execute_in_steps({KvOp::insert, "0 overtaken", first}, between);
    if (raced) {
      EXPECT_TRUE((one == SHMEMX_KV_OK) != (other == SHMEMX_KV_OK))
          << one << " and " << other << ", step " << n;
    }
    EXPECT_EQ(look("0 overtaken"), one == SHMEMX_KV_OK ? first : "");
    EXPECT_EQ(look("1 overtakes"), other == SHMEMX_KV_OK ? second : "");
    EXPECT_EQ(table->shard.elements(), 2 * kSlots);
  }
}

// Where there are two free slots, in group 1, but no more elements may be there than one more.
TEST_P(ShardStepsTest, NoMoreElementsThanMayBeAreAccepted) {
  bool goes_on = true;
  for (int n = 0; goes_on; ++n) {
    begin();
    const std::uint64_t most = table->layout.most_elements();
    ASSERT_LT(most, kGroups * kSlots);
    for (unsigned i = 0; table->shard.elements() < most - 1; ++i) {
      const std::string home = i < kSlots ? "2" : i < 2 * kSlots ? "3" : "1";
      ASSERT_EQ(table->put(home + " more " + std::to_string(i), first), SHMEMX_KV_OK);
    }
    goes_on = false;
    Code other = kBusy;
    const auto between = [&](int step) {
      if (step != n) return;
      goes_on = true;
      if (!table->is_locked()) other = execute({KvOp::insert, "1 overtakes", second});
    };
    const Code one = execute_in_steps({KvOp::insert, "0 overtaken", first}, between);
    if (other == kBusy) other = execute({KvOp::insert, "1 overtakes", second});
    ASSERT_TRUE((one == SHMEMX_KV_OK) != (other == SHMEMX_KV_OK))
        << one << " and " << other << ", step " << n;
    ASSERT_EQ(table->shard.elements(), most);
  }
}

// Elements of group 0 that move to group 1 to make room for one of group 3, and those that come home from
// there.
TEST_P(ShardStepsTest, WhoMovesIsThereAtEachInstant) {
  for (const bool home : {false, true}) {
    begin();
    for (unsigned i = 0; i < kSlots; ++i) table->put("3 full " + std::to_string(i), "x");
    ASSERT_EQ(away(0), 2U);
    int told = 0;
    const auto between = [&](int) {
      for (const char* key : {"0 passes", "0 passes too", "0 full 0", "0 full 3", "1 home"}) {
        const std::string seen = look(key);
        EXPECT_NE(seen, "") << key;
        told += seen != "?" ? 1 : 0;
      }
      const std::string absent = look("0 never");
      EXPECT_TRUE(absent == "" || absent == "?") << absent;
    };
    const Do what = home ? Do{KvOp::remove, "0 full 1", ""} : Do{KvOp::insert, "3 new", second};
    ASSERT_EQ(execute_in_steps(what, between), SHMEMX_KV_OK);
    EXPECT_EQ(away(0), home ? 1U : 3U);
    EXPECT_GT(told, 0);
    expect_sound();
    if (HasFailure()) FAIL() << home;
  }
}

// A reader of a key that is away, and of one that never was there, while elements come home.
TEST_P(ShardStepsTest, WhoComesHomeMeanwhileIsFound) {
  bool goes_on = true;
  for (int n = 0; goes_on; ++n) {
    begin();
    goes_on = false;
    const auto between = [&](int step) {
      if (step != n) return;
      goes_on = true;
      EXPECT_EQ(table->remove("0 full 1"), SHMEMX_KV_OK);
      EXPECT_EQ(table->remove("0 full 2"), SHMEMX_KV_OK);
      EXPECT_EQ(away(0), 0U);
    };
    ASSERT_EQ(get_in_steps(n % 2 == 0 ? "0 passes" : "0 passes too", between), first) << "step " << n;
    ASSERT_EQ(get_in_steps("0 never", [](int) {}), "");
  }
}

// Nobody waits for the lock of another home while he has one: the other one may want room here.
TEST_P(ShardStepsTest, WhoNeedsALockedElementToMoveLetsGoOfItsOwnLock) {
  for (unsigned i = 3; i < kSlots; ++i) table->put("0 more " + std::to_string(i), "x");
  ASSERT_EQ(table->group(1).guests, 0x3fff & ~(1U << 2)) << "all but '1 home'";
  auto* lock = reinterpret_cast<std::uint32_t*>(table->memory.get() + table->layout.group_at(1) +
                                                offsetof(SlotGroup, home));
  *lock = 1;  // of the only element that can move
  int steps = 0;
  const auto between = [&](int) {
    if (++steps < 10000) return;
    if (table->group(0).home == 0) *lock = 0;
  };
  ASSERT_EQ(execute_in_steps({KvOp::insert, "0 new", first}, between), SHMEMX_KV_OK);
  EXPECT_EQ(look("0 new"), first);
  EXPECT_EQ(look("1 home"), first);
  expect_sound();
}

// Of each pair one takes place in the midst of the other, wherever no lock forbids it: both do what they do
// alone.
TEST_P(ShardStepsTest, OperationsOnTwoKeysOfAGroupDoNotDisturbEachOther) {
  for (const Do& one : changes("0")) {
    for (const Do& other : changes("1")) {
      bool goes_on = true;
      for (int n = 0; goes_on; ++n) {
        begin();
        goes_on = false;
        bool done = false;
        const auto between = [&](int step) {
          if (step != n) return;
          goes_on = true;
          if (table->is_locked()) return;
          done = true;
          EXPECT_EQ(execute(other), SHMEMX_KV_OK);
        };
        ASSERT_EQ(execute_in_steps(one, between), SHMEMX_KV_OK);
        if (!done) {
          EXPECT_EQ(execute(other), SHMEMX_KV_OK);
        }
        EXPECT_EQ(look(one.key), one.value);
        EXPECT_EQ(look(other.key), other.value);
        expect_sound();
        if (HasFailure()) FAIL() << describe(other) << " at step " << n << " of " << describe(one);
      }
    }
  }
}

// A reader that does not wait sees the old value or the new one, never the old one again, and other elements
// as they are.
TEST_P(ShardStepsTest, AtEachInstantOfAChangeThereIsTheOldOrTheNew) {
  for (const Do& one : changes("0")) {
    begin();
    const std::string old = look(one.key);
    bool is_new = false;
    int told = 0;
    const auto between = [&](int) {
      const std::string seen = look(one.key);
      if (seen != "?") {
        EXPECT_TRUE(seen == one.value || (seen == old && !is_new)) << seen << " after " << told << " looks";
        is_new = seen == one.value;
        ++told;
      }
      for (const char* key : {"1 home", "0 passes too"}) {
        const std::string other = look(key);
        EXPECT_TRUE(other == first || other == "?") << key << ": " << other;
      }
    };
    ASSERT_EQ(execute_in_steps(one, between), SHMEMX_KV_OK);
    EXPECT_GT(told, 0);
    EXPECT_EQ(look(one.key), one.value);
    if (HasFailure()) FAIL() << describe(one);
  }
}

// What compare_swap changes is more than a word.
TEST_P(ShardStepsTest, AllThatAnOperationChangesChangesAtOnce) {
  const std::string key = "1 home", old(24, 'a'), now(24, 'b');
  table->put(key, old);
  const auto between = [&](int) {
    const std::string seen = look(key);
    EXPECT_TRUE(seen == old || seen == now || seen == "?") << seen;
  };
  KvRequest swap{.op = KvOp::compare_swap, .key = table->key(key), .value = now.data(), .n = now.size()};
  swap.expected = old.data();
  ASSERT_EQ(execute_in_steps(swap, between), SHMEMX_KV_OK);
  EXPECT_EQ(look(key), now);
}

// What is freed is somebody else's at once: no reader may take it for what it was.
TEST_P(ShardStepsTest, WhatBecomesFreeIsSeenByNobodyAnyMore) {
  for (const Do& one : {Do{KvOp::put, "0 passes", second}, Do{KvOp::remove, "0 passes", ""}}) {
    begin();
    const auto between = [&](int) {
      if (!table->is_locked()) {
        EXPECT_EQ(table->insert("2 takes", "third..."), SHMEMX_KV_OK);
        EXPECT_EQ(look("2 takes"), "third...");
      }
      const std::string seen = look(one.key);
      EXPECT_TRUE(seen == first || seen == one.value || seen == "?") << seen;
      if (!table->is_locked()) table->remove("2 takes");
    };
    ASSERT_EQ(execute_in_steps(one, between), SHMEMX_KV_OK);
    table->remove("2 takes");
    expect_sound();
    if (HasFailure()) FAIL() << describe(one);
  }
}

// Wherever a get is overtaken, it returns what was there before, or after.
TEST_P(ShardStepsTest, AReaderThatIsOvertakenSeesTheOldOrTheNew) {
  for (const Do& one : changes("0")) {
    bool goes_on = true;
    for (int n = 0; goes_on; ++n) {
      begin();
      goes_on = false;
      const std::string old = look(one.key);
      const auto between = [&](int step) {
        if (step != n) return;
        goes_on = true;
        EXPECT_EQ(execute(one), SHMEMX_KV_OK);
        // In its place, if it has left one.
        if (one.op == KvOp::remove) table->insert("1 takes it", "third...");
      };
      const std::string seen = get_in_steps(one.key, between);
      ASSERT_TRUE(seen == old || seen == one.value)
          << seen << " of " << describe(one) << " at step " << n << " of get";
    }
  }
}

TEST_P(ShardStepsTest, AReaderThatIsOvertakenAgainAndAgainTakesTheLock) {
  int changes = 0;
  std::uint32_t version = 0;
  const auto between = [&](int step) {  // so often that no look is whole; that it takes the lock is possible
    if (step % 5 != 0 || table->is_locked() || changes == 100000) return;
    const std::string& value = ++changes % 2 == 0 ? first : second;
    EXPECT_EQ(execute({KvOp::put, "1 home", value}), SHMEMX_KV_OK);
    version = table->group(1).version;
  };
  const std::string seen = get_in_steps("1 home", between);
  EXPECT_EQ(seen, changes % 2 == 0 ? first : second) << "while it had the lock nobody changed it";
  EXPECT_LT(changes, 100000);
  EXPECT_EQ(table->group(1).version, version) << "who only reads changes nothing";
  expect_sound();
}

TEST_P(ShardStepsTest, IterationSeesEachElementWholeWhileItIsChanged) {
  char key[16];
  std::string room(GetParam(), '\0');
  Element element{key, sizeof key, 0, room.data(), room.size(), 0};
  bool goes_on = true;
  for (int n = 0; goes_on; ++n) {
    begin();
    goes_on = false;
    int step = 0;
    const std::function<void()> between = [&] {
      if (step++ != n) return;
      goes_on = true;
      EXPECT_EQ(execute({KvOp::put, "1 home", "a longer value"}), SHMEMX_KV_OK);
    };
    const Shard<Stepped> shard(Stepped(table->memory.get(), between), table->layout);
    std::uint64_t cursor = shard.cursor_at(1);
    ASSERT_EQ(shard.next(cursor, element), SHMEMX_KV_OK);
    ASSERT_EQ(std::string(key, element.key_bytes), "1 home");
    const std::string value = room.substr(0, element.value_bytes);
    ASSERT_TRUE(value == first || value == "a longer value") << value << " at step " << n;
  }
}

// Each copy in vain counts by its length.
TEST(ShardLongStepsTest, ALongValueIsCopiedInVainAFewTimesOnly) {
  constexpr std::uint64_t kLong = 65536;
  OneShard table(make_layout(8, kLong, 1, 1, false));
  const std::string key = "key", old(kLong, 'a'), now(kLong, 'b');
  table.put(key, old);
  int steps = 0, changes = 0;
  const std::function<void()> between = [&] {
    SlotGroup state;
    std::memcpy(&state, table.memory.get() + table.layout.group_at(0), sizeof state);
    if (++steps % 1000 == 0 && state.version % 2 == 0) table.put(key, ++changes % 2 == 0 ? old : now);
  };
  const Shard<Stepped> shard(Stepped(table.memory.get(), between), table.layout);
  std::string value(kLong, '\0');
  std::uint64_t n = 0;
  ASSERT_EQ(shard.get(table.key(key), value.data(), value.size(), n, kUnlimited), SHMEMX_KV_OK);
  EXPECT_EQ(value, changes % 2 == 0 ? old : now);
  EXPECT_LT(steps, 8 * static_cast<int>(kLong) / 8);
}

}  // namespace
}  // namespace shm::kv

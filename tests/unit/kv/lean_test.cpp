// SPDX-License-Identifier: BSD-3-Clause
// The shortest ways find and store what the others do, and leave to these what is not theirs.
#include "kv/lean.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "kv/wire.hpp"
#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

constexpr Code kElsewhere = 1000;  // what the other ways return here

/// Keys and values are numbers, repeated as often as their lengths allow.
class LeanTest : public ::testing::TestWithParam<std::pair<std::size_t, std::size_t>> {
 protected:
  using Words = std::array<std::uint64_t, 4>;
  static Words words(std::uint64_t number) { return {number, number, number, number}; }

  void SetUp() override {
    table.lean = &lean_calls(one.layout);
    table.others = {
        [](LeanTable&, const void*, std::size_t, void*, std::size_t, std::size_t*) { return kElsewhere; },
        [](LeanTable&, const void*, std::size_t, const void*, std::size_t) { return kElsewhere; }};
    table.directories = &directory;
    table.npes = 1;
    table.groups = one.layout.segment_groups;
    table.counter = counter.get();
    counter->add(0);  // so that this thread has a line
  }
  std::string text(std::uint64_t number, std::size_t n) const {
    return std::string(reinterpret_cast<const char*>(words(number).data()), n);
  }
  Code store(std::uint64_t number, std::uint64_t value) {
    return one.put(text(number, key_bytes), text(value, value_bytes));
  }
  Code get(std::uint64_t number, std::uint64_t& value) {
    Words key = words(number), room = words(~0U);
    std::size_t n = 0;
    const Code status = table.calls().one.get(table, key.data(), key_bytes, room.data(), sizeof room, &n);
    EXPECT_EQ(n, status == SHMEMX_KV_OK ? value_bytes : 0U);
    value = room[0];
    for (std::size_t i = 0; i < value_bytes / 8 && status == SHMEMX_KV_OK; ++i) EXPECT_EQ(room[i], value);
    for (std::size_t i = value_bytes / 8; i < 4; ++i) EXPECT_EQ(room[i], ~0U) << "beyond the value";
    return status;
  }
  Code put(std::uint64_t number, std::uint64_t value) {
    const Words key = words(number), stored = words(value);
    return table.calls().one.put(table, key.data(), key_bytes, stored.data(), value_bytes);
  }
  template <class Word>
  Word* word_of_home(std::uint64_t number, std::size_t member) {
    const std::string key = text(number, key_bytes);
    const std::uint64_t group = group_of(hash_of(nullptr, key.data(), key.size()), one.layout.groups);
    return reinterpret_cast<Word*>(one.memory.get() + one.layout.group_at(group) + member);
  }

  const std::size_t key_bytes = GetParam().first, value_bytes = GetParam().second;
  OneShard one{make_layout(key_bytes, value_bytes, 300, 1, false)};
  std::byte* directory = one.memory.get() + one.layout.directory_at;
  std::unique_ptr<ThreadCounter> counter = std::make_unique<ThreadCounter>();
  LeanTable table;
};
INSTANTIATE_TEST_SUITE_P(All, LeanTest,
                         ::testing::Values(std::pair(8, 8), std::pair(8, 16), std::pair(8, 32),
                                           std::pair(16, 8), std::pair(16, 16), std::pair(16, 32),
                                           std::pair(32, 8), std::pair(32, 16), std::pair(32, 32)));

TEST_P(LeanTest, AgreesWithAMapHoweverFullTheTableIs) {
  std::mt19937_64 dice(test_seed());
  std::map<std::uint64_t, std::uint64_t> model;
  std::uint64_t here = 0, elsewhere = 0;
  for (int i = 0; i < 40000; ++i) {
    const std::uint64_t key = dice() % 600, value = dice();
    const bool there = model.contains(key);
    Code status = kElsewhere;
    switch (dice() % 4) {
      case 0:
        if (!there && one.shard.elements() == one.layout.most_elements()) break;
        ASSERT_EQ(store(key, value), SHMEMX_KV_OK);
        model[key] = value;
        break;
      case 1:
        ASSERT_EQ(one.remove(text(key, key_bytes)), there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
        model.erase(key);
        break;
      case 2: {
        std::uint64_t found = 0;
        status = get(key, found);
        ++(status == kElsewhere ? elsewhere : here);
        if (status == kElsewhere) break;
        ASSERT_EQ(status, there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND) << key;
        if (there) {
          ASSERT_EQ(found, model[key]);
        }
        break;
      }
      default:
        status = put(key, value);
        if (status == kElsewhere) break;
        ++here;
        ASSERT_EQ(status, SHMEMX_KV_OK);
        ASSERT_TRUE(there) << "new elements are not for it";
        model[key] = value;
    }
  }
  EXPECT_EQ(counter->total(), here);
  EXPECT_LT(elsewhere, here / 4);
  for (const auto& [key, value] : model) {
    std::string found;
    ASSERT_EQ(one.get(text(key, key_bytes), found), SHMEMX_KV_OK);
    ASSERT_EQ(found, text(value, value_bytes));
  }
}

TEST_P(LeanTest, GetsManyAtOnce) {
  for (std::uint64_t i = 0; i < 300; ++i) store(i, i * i);
  for (const std::size_t n : {0U, 1U, 15U, 16U, 17U, 32U, 33U, 48U, 49U, 100U, 500U}) {
    std::string keys;
    for (std::uint64_t i = 0; i < n; ++i) keys += text(i, key_bytes);
    std::vector<std::byte> values(n * value_bytes + 1);
    std::vector<std::size_t> lengths(n, 77);
    std::vector<int> status(n, 77);
    const LeanGot got = table.calls().get_many(table,
                                               {reinterpret_cast<const std::byte*>(keys.data()),
                                                values.data(), lengths.data(), status.data(), nullptr},
                                               n);
    std::size_t done = 0, found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      done += status[i] != kBusy ? 1 : 0;
      found += status[i] == SHMEMX_KV_OK ? 1 : 0;
      if (status[i] == kBusy) continue;
      ASSERT_EQ(status[i], i < 300 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND) << i << " of " << n;
      if (i >= 300) {
        ASSERT_EQ(lengths[i], 77U) << "of what is not there";
        continue;
      }
      ASSERT_EQ(lengths[i], value_bytes);
      ASSERT_EQ(std::string(reinterpret_cast<const char*>(values.data() + i * value_bytes), value_bytes),
                text(i * i, value_bytes));
    }
    EXPECT_EQ(got.done, done);
    EXPECT_EQ(got.found, found);
    EXPECT_GE(done, n * 9 / 10);
  }
}

TEST_P(LeanTest, SaysWhatIsNotHere) {
  for (std::uint64_t i = 0; i < 100; ++i) store(i, i);
  std::byte* two[2] = {directory, nullptr};
  table.directories = two;
  table.npes = 2;
  constexpr std::size_t kMany = 150;
  std::string keys;
  for (std::uint64_t i = 0; i < kMany; ++i) keys += text(i, key_bytes);
  std::vector<std::byte> values(kMany * value_bytes);
  std::vector<std::size_t> lengths(kMany, 77);
  std::vector<int> status(kMany, 77);
  std::vector<LeanFar> far(kMany);
  const LeanGot got = table.calls().get_many(table,
                                             {reinterpret_cast<const std::byte*>(keys.data()), values.data(),
                                              lengths.data(), status.data(), far.data()},
                                             kMany);
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    const std::string key = text(i, key_bytes);
    const int pe = pe_of(hash_of(nullptr, key.data(), key.size()), 2);
    EXPECT_EQ(status[i] == SHMEMX_KV_PENDING, pe == 1);
    if (pe == 0) continue;
    ASSERT_LT(n, got.far);
    EXPECT_EQ(far[n].request, i);
    EXPECT_EQ(far[n].pe, 1U);
    EXPECT_EQ(lengths[i], 77U);
    ++n;
  }
  EXPECT_EQ(got.far, n);
  EXPECT_EQ(got.done + n, kMany - static_cast<std::size_t>(std::ranges::count(status, kBusy)));
}

// As the replies to a run; what a look does not do is done by others, or ends it.
TEST_P(LeanTest, AnswersRuns) {
  for (std::uint64_t i = 0; i < 90; ++i) store(i, 7 * i);
  *word_of_home<std::uint32_t>(80, offsetof(SlotGroup, version)) += 1;
  std::string keys;
  for (std::uint64_t i = 0; i < 100; ++i) keys += text(i, key_bytes);
  struct Given : LeanReplies {
    std::size_t asked = 0, most = 0;
  };
  for (const std::size_t most : {std::size_t{0}, std::size_t{1000}}) {
    std::vector<std::byte> replies(100 * (sizeof(RunReply) + value_bytes));
    Given given;
    given.to = replies.data();
    given.most = most;
    given.other = [](LeanReplies& all, const std::byte*) {
      auto& own = static_cast<Given&>(all);
      if (own.asked == own.most) return false;
      ++own.asked;
      const RunReply reply{SHMEMX_KV_FULL, 0};
      std::memcpy(own.to, &reply, sizeof reply);
      own.to += sizeof reply;
      return true;
    };
    const std::size_t done = table.calls().serve(directory, table.groups,
                                                 reinterpret_cast<const std::byte*>(keys.data()), 100, given);
    EXPECT_EQ(done == 100, most != 0) << "the version of a group is odd";
    const std::byte* at = replies.data();
    std::size_t others = 0;
    for (std::uint64_t i = 0; i < done; ++i) {
      RunReply reply;
      std::memcpy(&reply, at, sizeof reply);
      at += sizeof reply;
      others += reply.status == SHMEMX_KV_FULL ? 1 : 0;
      if (reply.status == SHMEMX_KV_FULL) continue;
      EXPECT_EQ(reply.status, i < 90 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
      EXPECT_EQ(reply.n, i < 90 ? value_bytes : 0U);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(at), reply.n), text(7 * i, reply.n));
      at += reply.n;
    }
    EXPECT_EQ(given.to, at);
    EXPECT_EQ(others, given.asked);
    EXPECT_LT(others, 30U);
  }
}

TEST_P(LeanTest, LeavesToOthersWhatIsNotItsOwn) {
  store(1, 11);
  std::uint64_t value = 0;
  ASSERT_EQ(get(1, value), SHMEMX_KV_OK);
  Words key = words(1), room{};
  std::size_t n = 0;
  const KvCalls& calls = table.calls().one;
  EXPECT_EQ(calls.get(table, key.data(), key_bytes - 1, room.data(), 32, &n), kElsewhere);
  EXPECT_EQ(calls.get(table, key.data(), key_bytes, room.data(), value_bytes - 1, &n), kElsewhere);
  EXPECT_EQ(calls.get(table, nullptr, key_bytes, room.data(), 32, &n), kElsewhere);
  EXPECT_EQ(calls.get(table, key.data(), key_bytes, nullptr, 32, &n), kElsewhere);
  EXPECT_EQ(calls.put(table, key.data(), key_bytes - 1, room.data(), value_bytes), kElsewhere);
  EXPECT_EQ(calls.put(table, key.data(), key_bytes, room.data(), value_bytes - 1), kElsewhere);
  EXPECT_EQ(calls.put(table, nullptr, key_bytes, room.data(), value_bytes), kElsewhere);
  EXPECT_EQ(calls.put(table, key.data(), key_bytes, nullptr, value_bytes), kElsewhere);
  // A shorter value.
  one.put(text(2, key_bytes), text(2, value_bytes).substr(1));
  EXPECT_EQ(get(2, value), kElsewhere);
  EXPECT_EQ(put(2, 5), SHMEMX_KV_OK);
  EXPECT_EQ(get(2, value), SHMEMX_KV_OK);
  EXPECT_EQ(value, 5U);
  // Groups that somebody works on.
  *word_of_home<std::uint32_t>(1, 0) += 1;
  EXPECT_EQ(get(1, value), kElsewhere);
  EXPECT_EQ(put(1, 12), kElsewhere);
  EXPECT_EQ(*word_of_home<std::uint32_t>(1, offsetof(SlotGroup, home)), 0U);
  *word_of_home<std::uint32_t>(1, 0) += 1;
  *word_of_home<std::uint32_t>(1, offsetof(SlotGroup, home)) = 1;
  EXPECT_EQ(get(1, value), SHMEMX_KV_OK) << "the element may be read";
  EXPECT_EQ(put(1, 12), kElsewhere);
  *word_of_home<std::uint32_t>(1, offsetof(SlotGroup, home)) = 0;
  EXPECT_EQ(get(1, value), SHMEMX_KV_OK);
  EXPECT_EQ(value, 11U);
  // A shorter key that is otherwise the same.
  for (unsigned slot = 0; slot < kSlots; ++slot)
    *word_of_home<std::uint16_t>(1, lengths_at(slot)) = lengths_of(key_bytes - 1, value_bytes);
  EXPECT_EQ(get(1, value), kElsewhere);
  EXPECT_EQ(put(1, 12), kElsewhere);
  // Another node's.
  directory = nullptr;
  EXPECT_EQ(get(1, value), kElsewhere);
  EXPECT_EQ(put(1, 12), kElsewhere);
}

TEST_P(LeanTest, FindsBothOfTwoWithOneHomeAndOneTag) {
  std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint64_t> numbers;
  std::uint64_t first = 0, second = 0;
  for (;; ++second) {
    const std::string key = text(second, key_bytes);
    const std::uint64_t hash = hash_of(nullptr, key.data(), key.size());
    first = numbers.try_emplace({group_of(hash, one.layout.groups), tag_of(hash)}, second).first->second;
    if (first != second) break;
  }
  std::uint64_t value = 0;
  store(first, 1);
  EXPECT_EQ(get(second, value), kElsewhere) << "one look does not tell whether it is away";
  store(second, 2);
  EXPECT_EQ(get(first, value), SHMEMX_KV_OK);
  EXPECT_EQ(value, 1U);
  EXPECT_EQ(get(second, value), SHMEMX_KV_OK);
  EXPECT_EQ(value, 2U);
  EXPECT_EQ(put(second, 3), SHMEMX_KV_OK);
  EXPECT_EQ(get(first, value), SHMEMX_KV_OK);
  EXPECT_EQ(value, 1U);
  EXPECT_EQ(get(second, value), SHMEMX_KV_OK);
  EXPECT_EQ(value, 3U);
}

// A get may write its value over its key.
TEST_P(LeanTest, AValueMayComeWhereTheKeyWas) {
  store(3, 33);
  Words both = words(3);
  std::size_t n = 0;
  ASSERT_EQ(table.calls().one.get(table, both.data(), key_bytes, both.data(), 32, &n), SHMEMX_KV_OK);
  EXPECT_EQ(both[0], 33U);
}

// Values whose words are all the same, by several threads: nobody sees a mixture.
TEST_P(LeanTest, ReadersSeeWholeValues) {
  store(1, 1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      counter->add(0);
      for (std::uint64_t n = 1; n < 40000; ++n)
        if (put(1, n) == kElsewhere) store(1, n);
    });
  }
  std::thread reader([&] {
    counter->add(0);
    std::uint64_t value = 0;
    while (!stop) (void)get(1, value);
  });
  for (std::thread& writer : writers) writer.join();
  stop = true;
  reader.join();
  std::uint64_t value = 0;
  ASSERT_EQ(get(1, value), SHMEMX_KV_OK);
  EXPECT_EQ(value, 39999U);
}

TEST(LeanCallsTest, AreForTablesOfShortFixedLengthsOnly) {
  const auto calls = [](std::uint64_t key, std::uint64_t value, bool report = false) {
    return &lean_calls(make_layout(key, value, 100, 1, report));
  };
  EXPECT_NE(calls(8, 8), &no_lean_calls());
  EXPECT_EQ(calls(8, 8, true), &no_lean_calls());
  for (const auto& [key, value] : {std::pair{7, 8}, {8, 7}, {8, 0}, {64, 8}, {8, 64}, {24, 8}})
    EXPECT_EQ(calls(static_cast<std::uint64_t>(key), static_cast<std::uint64_t>(value)), &no_lean_calls())
        << key;
}

}  // namespace
}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
// Gets by reads whose words come in any order, while another one changes the shard: each get gives what its
// key had at some instant of it.
#include "kv/far_get.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shard_fixture.hpp"
#include "stepped.hpp"

namespace shm::kv {
namespace {

using State = std::optional<std::string>;  // of a key: its value, or none

constexpr std::uint64_t kFewGroups = 4;

// Segments of so few groups, that elements are away from home, and splits are short.
ShardLayout small_far_segments(std::uint64_t value_bytes) {
  ShardLayout layout = make_layout({16, value_bytes, 10, 1, false}, {std::uint64_t{1} << 20, false});
  layout.segment_groups = kFewGroups;
  layout.most_segments = 8;
  layout.groups = layout.most_segments * kFewGroups;
  for (std::uint32_t i = 0; i < kAlternates; ++i) layout.strides[i] = 1 + i % 3;
  return layout;
}

// A memory that is read word by word, each of all words that have been asked for when the test says so.
class WordByWord final : public FarReads {
 public:
  WordByWord(const std::byte* shard, std::uint64_t bytes) : shard_(shard), bytes_(bytes) {}

  void read(int pe, std::uint64_t at, void* to, std::size_t n, Completion* completion) override {
    EXPECT_EQ(pe, 1);
    ASSERT_LE(at + n, bytes_);
    ++reads;
    all_.push_back({at, static_cast<std::byte*>(to), n, {}, completion});
    for (std::size_t word = 0; word < n; word += 8) all_.back().left.push_back(word);
  }
  /// One word.
  template <class Dice>
  void go_on(Dice& dice) {
    if (all_.empty()) return;
    const std::size_t i = dice() % all_.size();
    Asked& asked = all_[i];
    const std::size_t k = dice() % asked.left.size(), word = asked.left[k];
    std::memcpy(asked.to + word, shard_ + asked.at + word, std::min<std::size_t>(8, asked.n - word));
    asked.left[k] = asked.left.back();
    asked.left.pop_back();
    if (!asked.left.empty()) return;
    asked.completion->set_done();
    std::swap(all_[i], all_.back());
    all_.pop_back();
  }
  /// The words of all that has been asked for that lie there in it.
  void read_words(std::size_t from, std::size_t to) {
    for (Asked& asked : all_)
      std::erase_if(asked.left, [&](std::size_t word) {
        if (word < from || word >= to) return false;
        std::memcpy(asked.to + word, shard_ + asked.at + word, std::min<std::size_t>(8, asked.n - word));
        return true;
      });
  }
  bool is_idle() const { return all_.empty(); }
  void finish() {
    std::minstd_rand dice(1);
    while (!is_idle()) go_on(dice);
  }
  int reads = 0;

 private:
  struct Asked {
    std::uint64_t at;
    std::byte* to;
    std::size_t n;
    std::vector<std::size_t> left;
    Completion* completion;
  };
  const std::byte* shard_;
  std::uint64_t bytes_;
  std::vector<Asked> all_;
};

// A get, and what it may give.
struct Reader {
  Reader(FarShards& shards, FarReads& reads, std::uint64_t room) : get(shards, reads), value(room, '\0') {}
  FarGet get;
  std::string value;
  bool busy = false;
  std::string key;
  std::set<State> possible;
  std::set<State> more_than_once;  // of these, those that it was before and after something else
  void may_be(const State& state) {
    if (!possible.insert(state).second) more_than_once.insert(state);
  }
};

class FarGetTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  struct History {
    State now;
    std::optional<State> next;  // it is being changed, and nobody has seen that
  };

  void begin() {
    readers.clear();
    one = std::make_unique<OneShard>(small_far_segments(GetParam()));
    reads = std::make_unique<WordByWord>(one->memory.get(), one->layout.bytes);
    shards = std::make_unique<FarShards>(one->layout, 2);
    history.clear();
  }
  std::string value_of(std::uint64_t number) const {
    std::string value = std::to_string(number) + " ";
    const std::uint64_t n = value.size() + number * 7 % (GetParam() - value.size() + 1);
    while (value.size() < n) value += static_cast<char>('a' + number % 26);
    return value;
  }
  /// Until it has ended.
  Code get(const std::string& key, std::string& value, std::uint64_t room = 4096) {
    FarGet far(*shards, *reads);
    value.assign(room, '\0');
    far.begin(1, one->key(key), value.data(), room);
    rounds = 0;
    do {
      EXPECT_FALSE(far.ready());
      reads->finish();
      ++rounds;
    } while (!far.step());
    ended = far.end();
    if (far.end() != FarGet::End::answer) return kBusy;
    if (far.status() == SHMEMX_KV_OK) value.resize(far.n());
    return far.status();
  }

  void start(Reader& reader, const std::string& key) {
    const History& of = history[key];
    reader.key = key;
    reader.busy = true;
    reader.possible = {of.now};
    reader.more_than_once.clear();
    if (of.next) reader.may_be(*of.next);
    reader.get.begin(1, one->key(reader.key), reader.value.data(), reader.value.size());
  }
  void finish(Reader& reader) {
    reader.busy = false;
    ++ends[static_cast<std::size_t>(reader.get.end())];
    looks_again += reader.get.looks_again();
    if (reader.get.end() != FarGet::End::answer) return;
    State seen;
    if (reader.get.status() == SHMEMX_KV_OK) seen = reader.value.substr(0, reader.get.n());
    ASSERT_TRUE(reader.possible.contains(seen))
        << reader.key << " is " << seen.value_or("not there") << ", and not "
        << reader.possible.begin()->value_or("nothing") << " or one of " << reader.possible.size() - 1
        << " others";
    // Who begins later does not see what was before that, if that is sure to be what is new.
    History& of = history[reader.key];
    if (of.next && seen == *of.next && of.now != *of.next && !reader.more_than_once.contains(seen)) {
      of.now = *of.next;
      of.next.reset();
    }
    ++(seen ? found : absent);
  }

  std::unique_ptr<OneShard> one;
  std::unique_ptr<WordByWord> reads;
  std::unique_ptr<FarShards> shards;
  std::map<std::string, History> history;
  std::deque<Reader> readers;
  std::uint64_t ends[3] = {}, looks_again = 0, found = 0, absent = 0;
  int rounds = 0;
  FarGet::End ended{};
};
INSTANTIATE_TEST_SUITE_P(All, FarGetTest, ::testing::Values(24, 600, 3000));

// One who changes a shard, and four who read it meanwhile.
class FarGetLife : public FarGetTest {
 protected:
  std::string any_key() {
    const std::uint64_t i = dice() % 2 == 0 ? dice() % (keys + 3) : hot[dice() % 4];
    return "key " + std::to_string(i);
  }
  void turn() {
    for (Reader& reader : readers) {
      if (HasFatalFailure()) return;
      if (!reader.busy) {
        start(reader, any_key());
      } else if (reader.get.ready() && reader.get.step()) {
        finish(reader);
      }
    }
    reads->go_on(dice);
  }
  /// Between two accesses of the one who changes.
  void between() {
    if (quick)
      for (std::uint64_t i = 0; i < each; ++i) turn();
    else if (++steps % (each / 16 + 1) == 0)
      turn();
  }
  /// In steps, or in no time.
  void change(const auto& shard, bool removes) {
    const std::string key = any_key(), value = value_of(++values);
    const State next = removes ? State() : State(value);
    history[key].next = next;
    for (Reader& reader : readers)
      if (reader.busy && reader.key == key) reader.may_be(next);
    ValueRoom result;
    const Code status = shard.execute({.op = removes ? KvOp::remove : KvOp::put,
                                       .key = one->key(key),
                                       .value = value.data(),
                                       .n = value.size()},
                                      result, kUnlimited);
    history[key].next.reset();
    if (status == SHMEMX_KV_OK)
      history[key].now = next;
    else
      ASSERT_EQ(status, removes ? SHMEMX_KV_NOT_FOUND : SHMEMX_KV_FULL);
  }
  void live() {
    begin();
    keys = 30 + dice() % 300, each = std::uint64_t{1} << dice() % 9;
    quick = dice() % 2 == 0;
    for (std::uint64_t& key : hot) key = dice() % keys;
    for (int i = 0; i < 4; ++i) readers.emplace_back(*shards, *reads, GetParam());
    const std::function<void()> step = [&] { between(); };
    const Shard<Stepped> shard(Stepped(one->memory.get(), step), one->layout);
    for (int i = 0; i < (quick ? 60 : 600) && !HasFatalFailure(); ++i) {
      if (quick && i % 2 == 0) change(one->shard, false);  // so that there is something
      if (dice() % 20 == 0)
        splits += shard.grow(kUnlimited) == SHMEMX_KV_OK ? 1 : 0;
      else
        change(shard, dice() % 3 == 0);
    }
    for (Reader& reader : readers)
      while (reader.busy && !HasFatalFailure()) {
        reads->finish();
        if (reader.get.step()) finish(reader);
      }
  }

  std::mt19937_64 dice{test_seed()};
  std::uint64_t keys = 0, hot[4] = {}, each = 1, steps = 0, values = 0, splits = 0;
  bool quick = false;  // reads, beside changes
};
INSTANTIATE_TEST_SUITE_P(All, FarGetLife, ::testing::Values(24, 600, 3000));

TEST_P(FarGetLife, GivesWhatWasThereAtSomeInstant) {
  for (int life = 0; life < 40; ++life) {
    live();
    ASSERT_FALSE(HasFatalFailure()) << "life " << life;
  }
  std::printf("%lu found, %lu absent, %lu looks more; asked: %lu changed, %lu elsewhere; %lu splits\n", found,
              absent, looks_again, ends[1], ends[2], splits);
  EXPECT_GT(found, 100U);
  EXPECT_GT(absent, 100U);
  EXPECT_GT(looks_again, 10U);
  EXPECT_GT(splits, 20U);
  EXPECT_EQ(ends[2], 0U) << "no two keys have one hash";
}

// What is at home takes three reads, one after the other.
TEST_P(FarGetTest, TakesThreeRounds) {
  begin();
  ASSERT_EQ(one->put("a key", "a value"), SHMEMX_KV_OK);
  std::string value;
  EXPECT_EQ(get("a key", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "a value");
  EXPECT_EQ(rounds, one->layout.inlined ? 3 : 4);
  EXPECT_EQ(reads->reads, rounds);
  EXPECT_EQ(get("no key", value), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(get("a key", value, 3), SHMEMX_KV_TOO_LARGE);
}

// All elements of a table that has grown and is full, and none that is not there: by somebody who knows
// nothing of that.
TEST_P(FarGetTest, FindsAllWhereverTheyAre) {
  begin();
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) {
    const std::string key = "key " + std::to_string(i);
    if (one->put(key, value_of(keys.size())) != SHMEMX_KV_OK) break;
    keys.push_back(key);
  }
  EXPECT_GT(one->shard.longest_probe(), 0U) << "some are away";
  int most = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    shards = std::make_unique<FarShards>(one->layout, 2);
    std::string value;
    ASSERT_EQ(get(keys[i], value), SHMEMX_KV_OK) << keys[i];
    ASSERT_EQ(value, value_of(i));
    most = std::max(most, rounds);
    ASSERT_EQ(get("not " + keys[i], value), SHMEMX_KV_NOT_FOUND);
    EXPECT_EQ(shards->segments(1), one->shard.segments());
  }
  EXPECT_GT(most, 6) << "in another segment, and away from home there";
}

// What comes home between the looks at its two groups.
TEST_P(FarGetTest, FindsWhatComesHomeMeanwhile) {
  begin();
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < 20; ++i) {  // more of one home than it has slots
    const std::string key = "key " + std::to_string(i);
    if (one->shard.home_of(one->key(key)) != 0) continue;
    ASSERT_EQ(one->put(key, value_of(keys.size())), SHMEMX_KV_OK);
    keys.push_back(key);
  }
  int came = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::string value;
    ASSERT_EQ(get(keys[i], value), SHMEMX_KV_OK);
    if (rounds < 6) continue;  // it is not away
    FarGet far(*shards, *reads);
    value.assign(4096, '\0');
    far.begin(1, one->key(keys[i]), value.data(), value.size());
    for (int round = 0; round < 3; ++round) {
      reads->finish();
      ASSERT_FALSE(far.step());
    }
    // Its next read takes place when that has happened.
    auto later = std::exchange(reads, std::make_unique<WordByWord>(one->memory.get(), one->layout.bytes));
    for (const std::string& other : keys) {  // those at home make room
      std::string seen;
      if (other == keys[i]) continue;
      if (get(other, seen) == SHMEMX_KV_OK && rounds < 6) one->remove(other);
      ASSERT_EQ(get(keys[i], seen), SHMEMX_KV_OK);
      if (rounds < 6) break;
    }
    came += rounds < 6 ? 1 : 0;
    reads = std::move(later);
    do reads->finish();
    while (!far.step());
    ASSERT_EQ(far.end(), FarGet::End::answer);
    ASSERT_EQ(far.status(), SHMEMX_KV_OK) << keys[i];
    EXPECT_EQ(value.substr(0, far.n()), value_of(i));
  }
  EXPECT_GT(came, 0);
}

// A value that is written when half of it has been read, before the version that is read with it.
TEST_P(FarGetTest, GivesNoHalfOfAValue) {
  begin();
  const std::string before(24, 'b'), after(24, 'a');
  ASSERT_EQ(one->put("a key", before), SHMEMX_KV_OK);
  FarGet far(*shards, *reads);
  std::string value(GetParam(), '\0');
  const std::string wanted = "a key";  // outlives the get
  far.begin(1, one->key(wanted), value.data(), value.size());
  reads->finish();
  ASSERT_FALSE(far.step());
  reads->read_words(8, 104);  // one word of three, in the first slot
  ASSERT_EQ(one->put("a key", after), SHMEMX_KV_OK);
  do reads->finish();
  while (!far.step());
  ASSERT_EQ(far.status(), SHMEMX_KV_OK);
  EXPECT_EQ(value.substr(0, far.n()), after);
  EXPECT_EQ(far.looks_again(), 1U);
}

// Two keys of one hash: where the first slot is not the key's its PE is to be asked.
TEST_P(FarGetTest, AsksWhereAnotherKeyHasTheHash) {
  begin();
  one->hash = [](const void*, std::size_t) { return std::uint64_t{0x1234567890abcdef}; };
  ASSERT_EQ(one->put("a key", "a value"), SHMEMX_KV_OK);
  ASSERT_EQ(one->put("b key", "another"), SHMEMX_KV_OK);
  std::string value;
  EXPECT_EQ(get("a key", value), SHMEMX_KV_OK);
  EXPECT_EQ(value, "a value");
  EXPECT_EQ(get("b key", value), one->layout.inlined ? SHMEMX_KV_OK : kBusy);
  EXPECT_EQ(get("c key", value), one->layout.inlined ? SHMEMX_KV_NOT_FOUND : kBusy);
}

// Its group is being changed, for ever.
TEST_P(FarGetTest, GivesUpWhereThingsChange) {
  begin();
  ASSERT_EQ(one->put("a key", "a value"), SHMEMX_KV_OK);
  const std::uint64_t at = one->layout.group_at(one->shard.home_of(one->key("a key")));
  *reinterpret_cast<std::uint32_t*>(one->memory.get() + at) += 1;
  std::string value;
  EXPECT_EQ(get("a key", value), kBusy);
  EXPECT_EQ(ended, FarGet::End::changed);
  EXPECT_EQ(rounds, FarGet::kMostLooks);
}

// Shards of peers that say what cannot be.
TEST_P(FarGetTest, BelievesNoNonsense) {
  begin();
  ASSERT_EQ(one->put("a key", "a value"), SHMEMX_KV_OK);
  auto& header = *reinterpret_cast<ShardHeader*>(one->memory.get());
  std::string value;
  for (const std::uint64_t segments : {std::uint64_t{0}, one->layout.most_segments + 1, ~std::uint64_t{0}}) {
    header.segments = segments;
    EXPECT_EQ(get("no key", value), kBusy);
    EXPECT_EQ(ended, FarGet::End::elsewhere);
    EXPECT_EQ(get("a key", value), SHMEMX_KV_OK);
  }
}

}  // namespace
}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
#include "kv/client.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include "core/counting_region.hpp"
#include "far_table.hpp"

namespace shm::kv {
namespace {

class ClientTest : public FarTable {
 protected:
  /// How many requests had been issued, and not answered, when one had to wait for room.
  template <class Issue>
  std::size_t under_way_at_most(int n, Issue issue) {
    std::size_t most = 0;
    std::vector<int> status(static_cast<std::size_t>(n), -1);
    const auto under_way = [&] {
      return static_cast<std::size_t>(std::ranges::count(status, int{SHMEMX_KV_PENDING}));
    };
    bool waited = false;
    network.on_poll = [&] {
      if (!waited) most = under_way();
      waited = true;
    };
    for (int i = 0; i < n; ++i) issue(&status[static_cast<std::size_t>(i)]);
    table->quiet(kCall);
    EXPECT_EQ(std::ranges::count(status, int{SHMEMX_KV_OK}), n);
    return most - 1;  // without the one that waits
  }
};

// A PE that does not answer has no more to keep than this.
TEST_F(ClientTest, SoManyRequestsAreUnderWayAndNoMore) {
  begin(8, 8);
  const std::string k = key(1);
  EXPECT_EQ(under_way_at_most(20000, [&](int* status) { put_nbi(k, "x", status); }), 16384U);
}

TEST_F(ClientTest, LongAnswersCountByTheirLength) {
  begin(8, 7168);
  const std::string k = key(1);
  put_nbi(k, std::string(7168, 'x'));
  table->quiet(kCall);
  std::string room(7168, '\0');
  const auto get = [&](int* status) {
    KvRequest wanted = request(KvOp::get, k);
    wanted.n = room.size();
    table->issue(kCall, wanted, room.data(), {.status = status});
  };
  EXPECT_EQ(under_way_at_most(3000, get), 16384U / 8);
  EXPECT_EQ(room, std::string(7168, 'x'));
}

TEST_F(ClientTest, BatchesWaitForRoomAndCountByTheirRequests) {
  begin(8, 8);
  const std::string k = key(1);
  std::string keys;
  constexpr std::size_t kBatch = 512;
  for (std::size_t i = 0; i < kBatch; ++i) keys += k;
  std::vector<int> status(kBatch);
  for (int i = 0; i < 16384; ++i) put_nbi(k, "x");
  // Whether the batch is on its way when it polls for the first time.
  bool polled = false, sent = false;
  network.on_poll = [&] {
    if (!polled) {
      sent = std::ranges::any_of(network.queue, [](const QueueNetwork::Message& message) {
        return message.head().kind == KvPacketHead::run;
      });
    }
    polled = true;
  };
  Many many{.like = {.op = KvOp::contains, .key = {}},
            .keys = reinterpret_cast<const std::byte*>(keys.data()),
            .key_bytes = 8};
  many.status = status.data();
  EXPECT_EQ(execute_many(kCall, *table, many, kBatch), SHMEMX_KV_OK);
  EXPECT_TRUE(polled);
  EXPECT_FALSE(sent) << "there was no room";
  polled = false;
  EXPECT_EQ(execute_many(kCall, *table, many, kBatch), SHMEMX_KV_OK);
  EXPECT_TRUE(sent) << "the answers before have made room";
  EXPECT_TRUE(table->test());
  // All that was answered has been counted: as much may be under way as at first.
  network.on_poll = nullptr;
  EXPECT_EQ(under_way_at_most(20000, [&](int* one) { put_nbi(k, "x", one); }), 16384U);
}

// What awaits an answer is gone when that has come.
TEST_F(ClientTest, AnswersLeaveNothingBehind) {
  begin(8, 8);
  const std::string k = key(1);
  const auto many = [&] {
    for (int i = 0; i < 10000; ++i) put_nbi(k, "x");
    table->quiet(kCall);
  };
  many();
  const std::size_t before = mallinfo2().uordblks;
  many();
  const std::size_t after = mallinfo2().uordblks;  // zeros where a sanitizer has an allocator of its own
  EXPECT_LT(after, before + 10000 * sizeof(Outstanding) / 10);
}

TEST_F(ClientTest, RequestsAreGatheredUntilAPacketIsFull) {
  begin(8, 8);
  const std::string k = key(1);
  constexpr std::size_t kRequest = sizeof(RequestHead) + 8 + 8;
  constexpr std::size_t kInPacket = (kPacketBytes - sizeof(KvPacketHead)) / kRequest;
  for (std::size_t i = 0; i < kInPacket; ++i) put_nbi(k, "x");
  EXPECT_EQ(network.queue.size(), 0U);
  put_nbi(k, "y");
  ASSERT_EQ(network.queue.size(), 1U);
  EXPECT_EQ(network.queue[0].bytes.size(), sizeof(KvPacketHead) + kInPacket * kRequest);
  table->client().flush();
  EXPECT_EQ(network.queue.size(), 2U);
  EXPECT_EQ(table->packets(), 2U);
  EXPECT_EQ(network.queue[1].bytes.size(), sizeof(KvPacketHead) + kRequest);
  table->quiet(kCall);
  EXPECT_EQ(stored(k), "y");
}

TEST_F(ClientTest, TestSendsWhatWasGathered) {
  begin(8, 8);
  int status = -1;
  put_nbi(key(1), "x", &status);
  EXPECT_EQ(status, SHMEMX_KV_PENDING);
  EXPECT_FALSE(table->client().is_quiet());
  int tries = 0;
  while (!table->test()) ASSERT_LT(++tries, 10);
  EXPECT_EQ(status, SHMEMX_KV_OK);
}

TEST_F(ClientTest, QuietDoesNotWaitForWhatIsIssuedMeanwhile) {
  begin(8, 8);
  int before = -1, others = 0;
  put_nbi(key(1), "x", &before);
  network.on_poll = [&] {  // another thread
    if (before == SHMEMX_KV_OK || ++others > 1000) return;
    put_nbi(key(2), "y");
    table->client().flush();
  };
  table->quiet(kCall);
  EXPECT_EQ(before, SHMEMX_KV_OK);
  EXPECT_GT(others, 0);
  EXPECT_LE(others, 1000);
  EXPECT_FALSE(table->client().is_quiet()) << "they are under way";
  network.on_poll = nullptr;
  table->quiet(kCall);
  table->quiet(kCall);
  EXPECT_TRUE(table->client().is_quiet());
}

// A call that waits is no way past what was issued before it, nor is a batch.
TEST_F(ClientTest, OrderIsThatOfTheCalls) {
  begin(8, 8);
  const std::string k = key(1);
  put_nbi(k, "1");
  EXPECT_EQ(get(k), "1");
  put_nbi(k, "2");
  const std::string value = "3";
  Many many{.like = {.op = KvOp::put, .key = {}, .n = 1},
            .keys = reinterpret_cast<const std::byte*>(k.data()),
            .key_bytes = k.size()};
  many.values = reinterpret_cast<const std::byte*>(value.data());
  many.value_bytes = 1;
  EXPECT_EQ(execute_many(kCall, *table, many, 1), SHMEMX_KV_OK);
  deliver_all();
  EXPECT_EQ(stored(k), "3");
  EXPECT_TRUE(table->test());
  EXPECT_EQ(table->packets(), 3U) << "the call that waited, what was issued before the batch, and the batch";
}

// Of several pieces, with a request before and one after them in packets.
TEST_F(ClientTest, LongKeysGoInPieces) {
  begin(50000, 8, 10);
  const std::string long_key = key(1, 50000);
  put_nbi(key(2), "before");
  put_nbi(long_key, "long");
  put_nbi(key(3), "after");
  table->client().flush();
  EXPECT_EQ(network.queue.size(), 6U);
  EXPECT_EQ(table->packets(), 6U);
  table->quiet(kCall);
  EXPECT_EQ(stored(key(2)) + stored(long_key) + stored(key(3)), "beforelongafter");
}

TEST_F(ClientTest, AnswersSayHowLongAValueIs) {
  begin(8, 100);
  put_nbi(key(1), std::string(50, 'x'));
  table->quiet(kCall);
  const auto ask = [&](const std::string& k, std::uint64_t room, std::size_t& n) {
    static char value[100];
    KvRequest wanted = request(KvOp::get, k);
    wanted.n = room;
    int status = -1;
    table->issue(kCall, wanted, value, {.status = &status, .n = &n});
    table->quiet(kCall);
    return status;
  };
  std::size_t n = 99;
  EXPECT_EQ(ask(key(2), 100, n), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(n, 99U) << "nothing is said of what is not there";
  EXPECT_EQ(ask(key(1), 49, n), SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(n, 50U);
  n = 99;
  EXPECT_EQ(ask(key(1), 50, n), SHMEMX_KV_OK);
  EXPECT_EQ(n, 50U);
}

// Too long for runs: one by one, in pieces, or by the network's own writes.
TEST_F(ClientTest, BatchesOfLongKeysAndOfLongValues) {
  for (const auto& [key_bytes, value_bytes] :
       {std::pair<std::size_t, std::size_t>{50000, 8}, {8, 2000}, {8, 20000}}) {
    begin(key_bytes, value_bytes, 10);
    int polls = 0;
    network.on_poll = [&] {
      if (++polls % 50 != 0) return;
      ADD_FAILURE() << "nothing is sent";
      table->client().flush();
    };
    const std::string keys = key(1, key_bytes) + key(2, key_bytes);
    std::string values = std::string(value_bytes, 'x') + std::string(value_bytes, 'y');
    Many many{.like = {.op = KvOp::put, .key = {}, .n = value_bytes},
              .keys = reinterpret_cast<const std::byte*>(keys.data()),
              .key_bytes = key_bytes};
    many.values = reinterpret_cast<const std::byte*>(values.data());
    many.value_bytes = value_bytes;
    EXPECT_EQ(execute_many(kCall, *table, many, 2), SHMEMX_KV_OK);
    EXPECT_EQ(stored(key(1, key_bytes)) + stored(key(2, key_bytes)), values);
    const std::string expected = std::exchange(values, std::string(2 * value_bytes, '?'));
    std::size_t lengths[2] = {};
    many.like.op = KvOp::get;
    many.values = nullptr;
    many.results = reinterpret_cast<std::byte*>(values.data());
    many.lengths = lengths;
    EXPECT_EQ(execute_many(kCall, *table, many, 2), SHMEMX_KV_OK);
    EXPECT_EQ(values, expected);
    EXPECT_EQ(lengths[0], value_bytes);
    EXPECT_EQ(lengths[1], value_bytes);
    EXPECT_TRUE(table->test());
  }
}

// Memory whose pages may have to come first.
class Paging final : public test::EmptyRegion {
 public:
  explicit Paging(std::size_t n) : Paging(std::make_unique_for_overwrite<std::byte[]>(n), n) {
    std::memset(bytes_.get(), '?', n);
    add_region(this);
  }
  ~Paging() override { remove_region(this); }
  Paging(const Paging&) = delete;
  Paging& operator=(const Paging&) = delete;
  template <class T>
  T* at() const {
    return reinterpret_cast<T*>(bytes_.get());
  }
  bool untouched() const {
    return std::all_of(bytes_.get(), bytes_.get() + size(), [](std::byte b) { return b == std::byte{'?'}; });
  }

 private:
  Paging(std::unique_ptr<std::byte[]> bytes, std::size_t n)
      : EmptyRegion("paging memory", reinterpret_cast<std::uintptr_t>(bytes.get()), n),
        bytes_(std::move(bytes)) {}
  const std::unique_ptr<std::byte[]> bytes_;
};

// Who takes answers must not wait for a page: the call itself writes what goes to such memory.  Each of the
// three alone.
TEST_F(ClientTest, AnswersToABatchAreNotWrittenWhereAPageMayHaveToCome) {
  begin(8, 8);
  constexpr std::size_t kMany = 600;  // two runs: the first has been answered before the call ends
  std::string keys;
  for (std::size_t i = 0; i < kMany; ++i) keys += key(1);
  put_nbi(key(1), "8 bytes.");
  table->quiet(kCall);
  const Paging memory(kMany * sizeof(std::size_t));
  for (int which = 0; which < 3; ++which) {
    std::memset(memory.at<std::byte>(), '?', memory.size());
    std::vector<std::byte> results(8 * kMany);
    std::vector<std::size_t> lengths(kMany);
    std::vector<int> status(kMany, -1);
    Many many{.like = {.op = KvOp::get, .key = {}, .n = 8},
              .keys = reinterpret_cast<const std::byte*>(keys.data()),
              .key_bytes = 8};
    many.results = which == 0 ? memory.at<std::byte>() : results.data();
    many.value_bytes = 8;
    many.lengths = which == 1 ? memory.at<std::size_t>() : lengths.data();
    many.status = which == 2 ? memory.at<int>() : status.data();
    bool written = false;
    network.on_poll = [&] { written |= !memory.untouched(); };
    EXPECT_EQ(execute_many(kCall, *table, many, kMany), SHMEMX_KV_OK);
    EXPECT_FALSE(written) << which;
    for (const std::size_t i : {std::size_t{0}, kMany - 1}) {
      EXPECT_EQ(std::memcmp(many.results + 8 * i, "8 bytes.", 8), 0) << which;
      EXPECT_EQ(many.lengths[i], 8U) << which;
      EXPECT_EQ(many.status[i], SHMEMX_KV_OK) << which;
    }
  }
}

// Its steps: to reserve a block, and to link it; to locate a value, and to confirm it.  What would store
// nothing ends with the first.
TEST_F(ClientTest, ALongValueTakesTwoMessages) {
  begin(8, 9000, 10);
  const std::string first(9000, 'x'), second(9000, 'y'), there = key(0), absent = key(1);
  std::uint64_t before = 0;
  const auto messages = [&] { return table->packets() - std::exchange(before, table->packets()); };
  EXPECT_EQ(execute(KvOp::insert, there, first), SHMEMX_KV_OK);
  EXPECT_EQ(messages(), 2U);
  const std::uint64_t used = shard->block_bytes_used();
  EXPECT_EQ(execute(KvOp::insert, there, second), SHMEMX_KV_EXISTS);
  EXPECT_EQ(messages(), 1U);
  EXPECT_EQ(execute(KvOp::update, absent, second), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(messages(), 1U);
  EXPECT_EQ(shard->block_bytes_used(), used) << "a block is reserved that nobody fills";
  EXPECT_EQ(execute(KvOp::update, there, second), SHMEMX_KV_OK);
  EXPECT_EQ(messages(), 2U);
  EXPECT_EQ(get(there), second);
  EXPECT_EQ(messages(), 2U);
  EXPECT_EQ(execute(KvOp::put, there, first), SHMEMX_KV_OK);
  EXPECT_EQ(messages(), 2U);
  EXPECT_EQ(get(absent), "");
  EXPECT_EQ(messages(), 1U);
  EXPECT_EQ(stored(there), first);
  EXPECT_EQ(shard->block_bytes_used(), used);
}

TEST_F(ClientTest, ALongValueIsOverwrittenWhereNoBlockIsFree) {
  begin(8, 9000, 10);
  const std::string longest(9000, 'x'), other(9000, 'y');
  int n = 0;
  while (execute(KvOp::insert, key(n), longest) == SHMEMX_KV_OK) ++n;
  ASSERT_GT(n, 2);
  EXPECT_EQ(shard->times_full(), 1U);
  EXPECT_EQ(execute(KvOp::put, key(0), other), SHMEMX_KV_OK);
  EXPECT_EQ(execute(KvOp::update, key(1), other), SHMEMX_KV_OK);
  EXPECT_EQ(stored(key(0)), other);
  EXPECT_EQ(stored(key(1)), other);
  EXPECT_EQ(execute(KvOp::insert, key(2), other), SHMEMX_KV_EXISTS);
  EXPECT_EQ(shard->times_full(), 1U) << "nobody was told so";
  EXPECT_EQ(execute(KvOp::put, key(n), other), SHMEMX_KV_FULL);
  EXPECT_EQ(shard->times_full(), 2U);
  EXPECT_EQ(stored(key(2)), longest);
}

// Where no block is free and its own is too short, too: one call that says so, counted once.
TEST_F(ClientTest, ALongValueForWhichThereIsNoRoomIsCountedOnce) {
  begin(8, 40000, 10);
  const std::string brief(9000, 'x'), longest(40000, 'y'), absent = key(2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(execute(KvOp::insert, key(i), brief), SHMEMX_KV_OK);
  shm::kv::ValueRoom block;
  const KvRequest reserve{.op = KvOp::reserve, .key = request(KvOp::get, absent).key, .n = brief.size()};
  while (shard->execute(reserve, block, kUnlimited) == SHMEMX_KV_OK) {
  }
  EXPECT_EQ(shard->times_full(), 1U);
  EXPECT_EQ(execute(KvOp::put, key(0), longest), SHMEMX_KV_FULL);
  EXPECT_EQ(shard->times_full(), 2U);
  EXPECT_EQ(execute(KvOp::update, key(1), longest), SHMEMX_KV_FULL);
  EXPECT_EQ(shard->times_full(), 3U);
  EXPECT_TRUE(stored(key(0)) == brief && stored(key(1)) == brief);
}

// Whether a value may take the place of its key's is looked at when nobody changes that.
TEST_F(ClientTest, ALongValueWaitsWhereItsKeysGroupIsBeingChanged) {
  begin(8, 9000, 10);
  const std::string longest(9000, 'x'), other(9000, 'y');
  int n = 0;
  while (execute(KvOp::insert, key(n), longest) == SHMEMX_KV_OK) ++n;
  begin_change(key(0));
  int polls = 0;
  network.on_poll = [&] {
    if (++polls == 10) end_change(key(0));
  };
  EXPECT_EQ(execute(KvOp::put, key(0), other), SHMEMX_KV_OK);
  network.on_poll = nullptr;
  EXPECT_GE(polls, 10);
  EXPECT_EQ(stored(key(0)), other);
  EXPECT_EQ(shard->times_full(), 1U);
}

// A request that nobody waits for leaves though the program makes no other call.
TEST_F(ClientTest, WhatIsHeldLeavesInTheEnd) {
  begin(8, 8);
  int status = -1;
  put_nbi(key(1), "x", &status);
  EXPECT_TRUE(network.queue.empty());
  EXPECT_TRUE(table->client().holds());
  EXPECT_TRUE(Client::any_unattended());
  EXPECT_FALSE(table->client().send_held()) << "it has just seen it";
  EXPECT_TRUE(table->client().holds());
  for (int i = 0; i < 100000 && !table->client().send_held(); ++i) usleep(100);
  EXPECT_EQ(network.queue.size(), 1U);
  table->quiet(kCall);
  EXPECT_EQ(status, SHMEMX_KV_OK);
  EXPECT_FALSE(Client::any_unattended());
  EXPECT_FALSE(table->client().send_held());
  EXPECT_FALSE(table->client().holds()) << "so nobody looks any more";
}

}  // namespace
}  // namespace shm::kv

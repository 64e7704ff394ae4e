// SPDX-License-Identifier: BSD-3-Clause
#include "kv/server.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/stats.hpp"
#include "far_table.hpp"

namespace shm::kv {
namespace {

class ServerTest : public FarTable {
 protected:
  void flush() const { table->client().flush(1); }
  /// Packets, or rests of them, that were put off; the two who count agree.
  std::uint64_t put_off() const {
    EXPECT_EQ(read_stats()[static_cast<std::size_t>(Stat::kv_put_off)], table->server().put_off());
    return table->server().put_off();
  }
  void SetUp() override {
    FarTable::SetUp();
    take_stats();
  }
  /// A few polls.
  void poll() {
    for (int i = 0; i < 5; ++i) progress.poll();
  }
};

TEST_F(ServerTest, WhatFindsALockTakenIsDoneWhenItIsFree) {
  begin(8, 8);
  int status[3] = {-1, -1, -1};
  put_nbi(key(1), "1", &status[0]);
  put_nbi(key(2), "2", &status[1]);
  put_nbi(key(3), "3", &status[2]);
  lock_home(key(2), true);
  flush();
  poll();
  EXPECT_EQ(status[0], SHMEMX_KV_OK);
  EXPECT_EQ(status[1], SHMEMX_KV_PENDING);
  EXPECT_EQ(status[2], SHMEMX_KV_PENDING) << "what is behind it waits, too";
  EXPECT_EQ(stored(key(3)), "");
  EXPECT_EQ(put_off(), 1U) << "the rest of the packet, however often somebody polls";
  lock_home(key(2), false);
  poll();
  EXPECT_EQ(put_off(), 1U);
  EXPECT_EQ(status[1], SHMEMX_KV_OK);
  EXPECT_EQ(status[2], SHMEMX_KV_OK);
  EXPECT_EQ(stored(key(1)) + stored(key(2)) + stored(key(3)), "123");
  EXPECT_TRUE(table->test());
}

TEST_F(ServerTest, LaterRequestsDoNotOvertakeThoseThatWait) {
  begin(8, 8);
  lock_home(key(1), true);
  put_nbi(key(1), "first");
  flush();
  poll();
  put_nbi(key(1), "second");
  flush();
  progress.poll();
  EXPECT_EQ(put_off(), 2U) << "a packet that comes behind one";
  lock_home(key(1), false);
  poll();
  EXPECT_EQ(stored(key(1)), "second");
  put_nbi(key(1), "third");
  flush();
  poll();
  EXPECT_EQ(stored(key(1)), "third");
  EXPECT_EQ(put_off(), 2U) << "this one found nothing in its way";
  EXPECT_TRUE(table->test());
}

TEST_F(ServerTest, PacketsThatWaitAreDoneInTheirOrder) {
  begin(8, 8);
  lock_home(key(1), true);
  for (const char* value : {"1", "2", "3"}) {
    put_nbi(key(1), value);
    flush();
    poll();
  }
  lock_home(key(1), false);
  poll();
  EXPECT_EQ(stored(key(1)), "3");
  EXPECT_TRUE(table->test());
}

TEST_F(ServerTest, RequestsOfOtherPesDoNotWait) {
  begin(8, 8);
  lock_home(key(1), true);
  put_nbi(key(1), "1");
  flush();
  poll();
  put_nbi(key(2), "2");
  flush();
  const QueueNetwork::Message message = network.queue.front();
  network.queue.clear();
  table->server().take(*shard, 7, message.bytes.data(), message.bytes.size());
  EXPECT_EQ(stored(key(2)), "2");
  lock_home(key(1), false);
  table->quiet(kCall);
}

TEST_F(ServerTest, AReaderWaitsForAGroupThatIsBeingChanged) {
  begin(8, 16);
  put_nbi(key(1), "a value");
  table->quiet(kCall);
  char value[16] = "";
  int status = -1;
  KvRequest wanted = request(KvOp::get, key(1));
  const std::string k = key(1);
  wanted.key = table->key(k.data(), k.size());
  wanted.n = sizeof value;
  begin_change(k);
  table->issue(kCall, wanted, value, {.status = &status});
  flush();
  poll();
  EXPECT_EQ(status, SHMEMX_KV_PENDING);
  end_change(k);
  poll();
  EXPECT_EQ(status, SHMEMX_KV_OK);
  EXPECT_STREQ(value, "a value");
}

// Who waits sends one request, and gets one answer, when somebody of the other node has inserted.
TEST_F(ServerTest, AGetMayWaitForItsElement) {
  begin(8, 8);
  const std::string k = key(1);
  int polls = 0;
  network.on_poll = [&] {
    ++polls;
    if (polls == 50) lock_home(k, true);
    if (polls == 60) lock_home(k, false);
    if (polls != 70) return;
    shm::kv::ValueRoom none;
    shard->execute(request(KvOp::insert, k, "a value"), none, kUnlimited);
  };
  char value[8] = "";
  std::uint64_t n = 0;
  EXPECT_EQ(table->get_when_there(kCall, table->key(k.data(), k.size()), value, sizeof value, n),
            SHMEMX_KV_OK);
  EXPECT_STREQ(value, "a value");
  EXPECT_EQ(n, 7U);
  EXPECT_GE(polls, 70);
  EXPECT_EQ(table->packets(), 1U);
  network.on_poll = nullptr;
  EXPECT_EQ(get(k), "a value");
  EXPECT_FALSE(table->server().resume(*shard)) << "nobody waits any more";
}

// Whoever waits, of whatever node, is answered with the packet that inserts.
TEST_F(ServerTest, AnInsertAnswersThoseWhoWaitForIt) {
  begin(8, 8);
  const std::string k = key(1);
  KvRequest wanted = request(KvOp::get, k);
  wanted.n = 8;
  wanted.waits = true;
  char values[2][8] = {};
  std::atomic<std::uint64_t> left{2};
  Outstanding waiters[2];
  for (int i = 0; i < 2; ++i) {
    waiters[i].value = values[i];
    waiters[i].left = &left;
    table->client().issue(kCall, 1, wanted, 8, waiters[i]);
  }
  flush();
  poll();
  EXPECT_EQ(execute(KvOp::insert, key(2), "other"), SHMEMX_KV_OK) << "it waits for nobody";
  EXPECT_EQ(left.load(), 2U);
  put_nbi(k, "value");
  flush();
  ASSERT_EQ(network.queue.size(), 1U);
  const QueueNetwork::Message message = network.queue.front();
  network.queue.clear();
  table->server().take(*shard, 0, message.bytes.data(), message.bytes.size());
  EXPECT_EQ(network.queue.size(), 3U);
  deliver_all();
  EXPECT_EQ(left.load(), 0U);
  for (const char* value : values) EXPECT_STREQ(value, "value");
}

// A batch whose requests stop at one that has to wait.
class RunTest : public ServerTest {
 protected:
  static constexpr int kKeys = 100;
  void SetUp() override {
    ServerTest::SetUp();
    begin(8, 16);
    for (int i = 0; i < kKeys; ++i) keys += key(i);
    for (int i = 0; i < kKeys; ++i) values += "value " + std::to_string(100 + i);
  }
  Many many(KvOp op) {
    Many many{.like = {.op = op, .key = {}, .n = kValue},
              .keys = reinterpret_cast<const std::byte*>(keys.data()),
              .key_bytes = 8};
    if (op == KvOp::get) {
      many.results = reinterpret_cast<std::byte*>(values.data());
      many.lengths = lengths;
    } else {
      many.values = reinterpret_cast<const std::byte*>(values.data());
    }
    many.value_bytes = kValue;
    many.status = status;
    return many;
  }
  /// The first key from the n-th on whose home none before it has.
  int at_new_home(int n) const {
    for (std::set<std::uint64_t> homes; n < kKeys; ++n) {
      for (int i = 0; i < n; ++i) homes.insert(home(key(i)));
      if (!homes.contains(home(key(n)))) break;
    }
    return n;
  }
  static constexpr std::size_t kValue = 9;
  std::string keys, values;
  int status[kKeys] = {};
  std::size_t lengths[kKeys] = {};
};

TEST_F(RunTest, StopsAtALockAndGoesOnWhenItIsFree) {
  const int taken = at_new_home(30);
  ASSERT_LT(taken, kKeys - 1);
  lock_home(key(taken), true);
  int polls = 0;
  network.on_poll = [&] {
    if (++polls != 5) return;
    EXPECT_EQ(stored(key(taken - 1)), "value " + std::to_string(100 + taken - 1));
    EXPECT_EQ(stored(key(taken + 1)), "");
    lock_home(key(taken), false);
  };
  EXPECT_EQ(execute_many(kCall, *table, many(KvOp::insert), kKeys), SHMEMX_KV_OK);
  EXPECT_GE(polls, 5);
  EXPECT_EQ(put_off(), 1U) << "one rest of a run";
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(stored(key(i)), "value " + std::to_string(100 + i));
  EXPECT_TRUE(table->test());
  values.assign(values.size(), '?');
  polls = 0;
  begin_change(key(70));
  network.on_poll = [&] {
    if (++polls == 5) end_change(key(70));
  };
  EXPECT_EQ(execute_many(kCall, *table, many(KvOp::get), kKeys), SHMEMX_KV_OK);
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_EQ(values.substr(static_cast<std::size_t>(i) * kValue, kValue),
              "value " + std::to_string(100 + i));
    EXPECT_EQ(lengths[i], kValue);
  }
}

TEST_F(RunTest, WaitsBehindWhatWaits) {
  lock_home(key(1), true);
  put_nbi(key(1), "first");
  flush();
  poll();
  network.on_poll = [&] { lock_home(key(1), false); };
  EXPECT_EQ(execute_many(kCall, *table, many(KvOp::put), kKeys), SHMEMX_KV_OK);
  EXPECT_EQ(stored(key(1)), "value 101");
  EXPECT_TRUE(table->test());
}

TEST_F(RunTest, WhatComesLaterWaitsBehindIt) {
  lock_home(key(1), true);
  int polls = 0;
  network.on_poll = [&] {
    if (++polls != 5) return;
    put_nbi(key(1), "later");
    flush();
    lock_home(key(1), false);
  };
  EXPECT_EQ(execute_many(kCall, *table, many(KvOp::put), kKeys), SHMEMX_KV_OK);
  table->quiet(kCall);
  EXPECT_EQ(stored(key(1)), "later");
}

TEST_F(ServerTest, ARequestInPiecesWaitsAsOthersDo) {
  begin(50000, 8, 10);
  const std::string long_key = key(1, 50000);
  lock_home(long_key, true);
  put_nbi(long_key, "1");
  flush();
  poll();
  put_nbi(long_key, "2");
  flush();
  lock_home(long_key, false);
  deliver_all();
  EXPECT_EQ(stored(long_key), "2");
  EXPECT_TRUE(table->test());
}

TEST_F(ServerTest, PiecesOfSeveralPesMayComeInTurn) {
  begin(50000, 8, 10);
  std::vector<QueueNetwork::Message> sent[2];
  for (int i = 0; i < 2; ++i) {
    put_nbi(key(i, 50000), i == 0 ? "of 3" : "of 7");
    flush();
    sent[i].assign(network.queue.begin(), network.queue.end());
    network.queue.clear();
    EXPECT_EQ(sent[i].size(), 4U);
  }
  for (std::size_t piece = 0; piece < 4; ++piece) {
    for (int i = 0; i < 2; ++i) {
      const auto& bytes = sent[i][piece].bytes;
      table->server().take(*shard, i == 0 ? 3 : 7, bytes.data(), bytes.size());
    }
  }
  EXPECT_EQ(stored(key(0, 50000)) + stored(key(1, 50000)), "of 3of 7");
  table->quiet(kCall);
}

// Answers of many lengths: some fill packets, some take a packet, some several.
TEST_F(ServerTest, AnswersOfAnyLengthArriveWhole) {
  begin(8, 40000, 20);
  const std::size_t lengths[] = {0,
                                 1,
                                 1024,
                                 5000,
                                 8192,
                                 8193,
                                 kPacketBytes - 40,
                                 kPacketBytes - 32,
                                 kPacketBytes - 31,
                                 kPacketBytes,
                                 kPieceBytes,
                                 2 * kPieceBytes,
                                 40000};
  int n = 0;
  for (const std::size_t length : lengths) {
    const std::string value(length, static_cast<char>('a' + n));
    EXPECT_EQ(execute(KvOp::put, key(n++), value), SHMEMX_KV_OK);
  }
  std::vector<std::string> rooms(std::size(lengths), std::string(40000, '?'));
  std::vector<std::size_t> found(std::size(lengths), 99);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::string k = key(i);
    KvRequest wanted{.op = KvOp::get, .key = table->key(k.data(), k.size()), .n = 40000};
    table->issue(kCall, wanted, rooms[at].data(), {.n = &found[at]});
  }
  table->quiet(kCall);
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    EXPECT_EQ(found[i], lengths[i]);
    EXPECT_EQ(rooms[i],
              std::string(lengths[i], static_cast<char>('a' + i)) + std::string(40000 - lengths[i], '?'))
        << "of " << lengths[i] << " bytes";
  }
}

TEST_F(ServerTest, ManyAnswersTakeManyPackets) {
  begin(8, 1024, 100);
  for (int i = 0; i < 100; ++i) put_nbi(key(i), std::string(1024, static_cast<char>('a' + i % 26)));
  table->quiet(kCall);
  std::vector<std::string> rooms(100, std::string(1024, '?'));
  for (int i = 0; i < 100; ++i) {
    const std::string k = key(i);
    KvRequest wanted{.op = KvOp::get, .key = table->key(k.data(), k.size()), .n = 1024};
    table->issue(kCall, wanted, rooms[static_cast<std::size_t>(i)].data(), {});
  }
  flush();
  EXPECT_EQ(network.queue.size(), 1U);
  progress.poll();
  EXPECT_EQ(network.queue.size(), 7U);  // 15 answers fit a packet
  for (const QueueNetwork::Message& message : network.queue) EXPECT_LE(message.bytes.size(), kPacketBytes);
  table->quiet(kCall);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(rooms[static_cast<std::size_t>(i)], std::string(1024, static_cast<char>('a' + i % 26)));
}

}  // namespace
}  // namespace shm::kv

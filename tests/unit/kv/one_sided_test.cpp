// SPDX-License-Identifier: BSD-3-Clause
// When a table's gets are reads, and when messages.
#include "kv/one_sided.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "far_table.hpp"

namespace shm::kv {
namespace {

class OneSidedTest : public FarTable {
 protected:
  void SetUp() override {
    FarTable::SetUp();
    rt.env.kv_get = "onesided";
    take_stats();
  }
  void TearDown() override {
    rt.env.kv_get = {};
    FarTable::TearDown();
  }
  static std::uint64_t stat(Stat which) { return read_stats()[static_cast<std::size_t>(which)]; }
  /// Reads and messages of f().
  template <class F>
  std::pair<int, std::size_t> traffic(F f) {
    int reads = 0;
    const std::uint64_t before = table->packets();
    network.in_get = [&] { ++reads; };
    f();
    network.in_get = nullptr;
    return {reads, table->packets() - before};
  }
  using Traffic = std::pair<int, std::size_t>;
  bool contains(const std::string& k) const { return execute(KvOp::contains, k) == SHMEMX_KV_OK; }
};

TEST_F(OneSidedTest, GetsAskNobody) {
  begin(8, 16);
  EXPECT_EQ(execute(KvOp::put, key(1), "one"), SHMEMX_KV_OK);
  const std::uint64_t local = table->local_calls(), remote = table->remote_calls();
  EXPECT_EQ(traffic([&] { EXPECT_EQ(get(key(1)), "one"); }), (Traffic{3, 0}));
  EXPECT_EQ(traffic([&] { EXPECT_TRUE(contains(key(1))); }), (Traffic{3, 0}));
  EXPECT_EQ(traffic([&] { EXPECT_FALSE(contains(key(2))); }), (Traffic{4, 0}));
  EXPECT_EQ(table->local_calls() - local, 3U) << "carried out by this PE itself";
  EXPECT_EQ(table->remote_calls(), remote);
  EXPECT_EQ(stat(Stat::kv_read), 3U);
}

TEST_F(OneSidedTest, TheVariableSaysSo) {
  for (const char* said :
       {"message", "auto"}) {  // this network is nobody's, and does not say that it reads alone
    rt.env.kv_get = said;
    begin(8, 16);
    EXPECT_EQ(execute(KvOp::put, key(1), "one"), SHMEMX_KV_OK);
    EXPECT_EQ(traffic([&] { EXPECT_EQ(get(key(1)), "one"); }), (Traffic{0, 1})) << said;
  }
  network.alone = true;
  begin(8, 16);
  EXPECT_EQ(execute(KvOp::put, key(1), "one"), SHMEMX_KV_OK);
  EXPECT_EQ(traffic([&] { EXPECT_EQ(get(key(1)), "one"); }), (Traffic{3, 0})) << "auto, on one that does";
  rt.env.kv_get = "message";
  begin(8, 16);
  EXPECT_EQ(traffic([&] { EXPECT_EQ(get(key(1)), ""); }), (Traffic{0, 1}));
}

// Large batches, too, under auto: nothing but the network says which way they take.
TEST_F(OneSidedTest, LargeBatchesGoAsSingleGets) {
  constexpr int kMany = 4096;
  rt.env.kv_get = "auto";
  std::string keys;
  for (int i = 0; i < kMany; ++i) keys += key(i);
  for (const bool alone : {false, true}) {
    network.alone = alone;
    begin(8, 8, 2 * kMany);
    for (int i = 0; i < kMany; ++i) {
      shm::kv::ValueRoom result;
      const std::string k = key(i);
      EXPECT_EQ(shard->execute(request(KvOp::put, k, k), result, kUnlimited), SHMEMX_KV_OK);
    }
    std::string values(keys.size(), '\0');
    const Many many{.like = {.op = KvOp::get, .key = {}, .n = 8},
                    .keys = reinterpret_cast<const std::byte*>(keys.data()),
                    .key_bytes = 8,
                    .results = reinterpret_cast<std::byte*>(values.data()),
                    .value_bytes = 8};
    const Traffic seen = traffic([&] { EXPECT_EQ(execute_many(kCall, *table, many, kMany), SHMEMX_KV_OK); });
    EXPECT_EQ(values, keys);
    if (alone) {
      EXPECT_GE(seen.first, 3 * kMany);
      EXPECT_EQ(seen.second, 0U);
    } else {
      EXPECT_EQ(seen, (Traffic{0, kMany / 512})) << "runs of 512";
    }
  }
}

// What this PE has begun comes first, whoever carries it out.
TEST_F(OneSidedTest, GetsDoNotOvertakeWhatWasAskedBefore) {
  begin(8, 16);
  put_nbi(key(1), "one");
  EXPECT_EQ(traffic([&] { EXPECT_EQ(get(key(1)), "one"); }), (Traffic{0, 1}));
  put_nbi(key(1), "two");
  std::string room(16, '\0');
  const std::string k = key(1);
  int status = -1;
  EXPECT_EQ(traffic([&] {
              execute_many(kCall, *table,
                           {.like = {.op = KvOp::get, .key = {}, .n = 16},
                            .keys = reinterpret_cast<const std::byte*>(k.data()),
                            .key_bytes = k.size(),
                            .results = reinterpret_cast<std::byte*>(room.data()),
                            .value_bytes = 16,
                            .status = &status},
                           1);
            }).first,
            0);
  EXPECT_EQ(status, SHMEMX_KV_OK);
  EXPECT_EQ(room.substr(0, 3), "two");
  EXPECT_EQ(stat(Stat::kv_asked_behind), 2U);
  table->quiet(kCall);
  EXPECT_EQ(traffic([&] { EXPECT_EQ(get(key(1)), "two"); }), (Traffic{3, 0}));
}

// Its PE is asked where reads lead to nothing.
TEST_F(OneSidedTest, GetsAskWhereTheyDoNotGetOn) {
  begin(8, 16);
  EXPECT_EQ(execute(KvOp::put, key(1), "one"), SHMEMX_KV_OK);
  begin_change(key(1));
  int polls = 0;
  network.on_poll = [&] {
    if (!network.queue.empty() && ++polls == 1) end_change(key(1));
  };
  EXPECT_EQ(get(key(1)), "one");
  network.on_poll = nullptr;
  EXPECT_GT(polls, 0);
  EXPECT_EQ(stat(Stat::kv_asked_changed), 1U);
  EXPECT_EQ(stat(Stat::kv_read_again), 4U);
  EXPECT_EQ(stat(Stat::kv_read), 0U);
}

// Changed between the reads of a get: what is given is what is there at the end.
TEST_F(OneSidedTest, WhatChangesIsReadAgain) {
  for (const std::uint64_t value_bytes : {16, 600}) {
    for (int at = 1; at <= 4; ++at) {
      begin(8, value_bytes);
      EXPECT_EQ(execute(KvOp::put, key(1), "one"), SHMEMX_KV_OK);
      int reads = 0;
      network.in_get = [&] {
        if (++reads != at) return;
        shm::kv::ValueRoom result;
        const std::string k = key(1);
        EXPECT_EQ(shard->execute(request(KvOp::put, k, "two"), result, kUnlimited), SHMEMX_KV_OK);
      };
      const std::string seen = get(key(1));
      EXPECT_TRUE(seen == "two" || (seen == "one" && at >= reads)) << at << " of " << reads << ": " << seen;
      network.in_get = nullptr;
    }
  }
}

TEST_F(OneSidedTest, ValuesAboveAPacketsGoTheirOwnWay) {
  begin(8, 20000, 10);
  const std::string value(20000, 'v'), brief(100, 'b');
  EXPECT_EQ(execute(KvOp::put, key(1), value), SHMEMX_KV_OK);
  EXPECT_EQ(execute(KvOp::put, key(2), brief), SHMEMX_KV_OK);
  EXPECT_EQ(get(key(1)), value);
  EXPECT_EQ(stat(Stat::kv_read), 0U) << "the room is long";
  std::string room(kLongestInPackets, '\0');
  std::uint64_t n = 0;
  const std::string k1 = key(1), k2 = key(2);
  const auto read = [&](const std::string& k) {
    return table->get(kCall, table->key(k.data(), k.size()), room.data(), room.size(), n);
  };
  EXPECT_EQ(traffic([&] { EXPECT_EQ(read(k2), SHMEMX_KV_OK); }), (Traffic{4, 0}));
  EXPECT_EQ(room.substr(0, n), brief);
  EXPECT_EQ(traffic([&] { EXPECT_EQ(read(k1), SHMEMX_KV_TOO_LARGE); }), (Traffic{4, 0}));
  EXPECT_EQ(n, value.size());
}

// A batch has several under way, and asks only for what was not read.
TEST_F(OneSidedTest, BatchesReadSeveralAtATime) {
  begin(8, 16);
  constexpr int kMany = 100;
  std::string keys, values(kMany * 16, '\0');
  for (int i = 0; i < kMany; ++i) {
    const std::string k = std::to_string(10000000 + i);
    EXPECT_EQ(k.size(), 8U);
    keys += k;
    shm::kv::ValueRoom result;
    if (i % 2 == 0) {
      EXPECT_EQ(shard->execute(request(KvOp::put, k, k), result, kUnlimited), SHMEMX_KV_OK);
    }
  }
  std::vector<int> status(kMany, -1);
  std::vector<std::size_t> lengths(kMany, 0);
  network.slow = true;
  std::size_t most = 0;
  network.on_poll = [&] {
    most = std::max(most, network.ends_later());
    network.silent = false;
  };
  const Many many{.like = {.op = KvOp::get, .key = {}, .n = 16},
                  .keys = reinterpret_cast<const std::byte*>(keys.data()),
                  .key_bytes = 8,
                  .results = reinterpret_cast<std::byte*>(values.data()),
                  .value_bytes = 16,
                  .lengths = lengths.data(),
                  .status = status.data()};
  EXPECT_EQ(execute_many(kCall, *table, many, kMany), SHMEMX_KV_NOT_FOUND);
  network.slow = false;
  EXPECT_GE(most, 16U);
  EXPECT_LE(most, 32U) << "two reads each";
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(status[i], i % 2 == 0 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND) << i;
    if (i % 2 != 0) continue;
    EXPECT_EQ(lengths[i], 8U);
    EXPECT_EQ(values.substr(i * 16, 8), keys.substr(i * 8, 8));
  }
  EXPECT_GT(stat(Stat::kv_read), 20U);
  EXPECT_EQ(table->packets(), 0U);
}

}  // namespace
}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking batches on their way: which packets they and their answers travel in.
#include "kv/batch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "far_table.hpp"

namespace shm::kv {
namespace {

class BatchPacketsTest : public FarTable {
 protected:
  /// One that is under way.
  struct Issued {
    std::string keys, values;
    std::vector<int> status;
  };
  /// Keys from the first-th on; the values of put() are what their keys and `text` say.
  Issued& issue(KvOp op, int first, int n, const std::string& text = "") {
    Issued& one = issued_.emplace_back();
    const std::size_t bytes = layout.value_bytes;
    one.values.resize(static_cast<std::size_t>(n) * bytes);
    for (int i = 0; i < n; ++i) {
      const std::string k = key(first + i);
      one.keys += k;
      const std::string value = value_of(k, text);
      if (op == KvOp::put) std::memcpy(&one.values[static_cast<std::size_t>(i) * bytes], value.data(), bytes);
    }
    one.status.assign(static_cast<std::size_t>(n), -1);
    Many many{.like = {.op = op, .key = {}, .n = bytes},
              .keys = reinterpret_cast<const std::byte*>(one.keys.data()),
              .key_bytes = 8};
    auto* values = reinterpret_cast<std::byte*>(one.values.data());
    if (op == KvOp::put) {
      many.values = values;
    } else {
      many.results = values;
    }
    many.value_bytes = bytes;
    many.status = one.status.data();
    issue_many(kCall, *table, many, static_cast<std::size_t>(n), nullptr);
    return one;
  }
  std::string value_of(const std::string& k, const std::string& text) const {
    std::string value = k + text;
    value.resize(layout.value_bytes, 'v');
    return value;
  }
  static void expect_all(const Issued& one, int code) {
    EXPECT_EQ(one.status, std::vector<int>(one.status.size(), code));
  }
  void expect_values(const Issued& one, const std::string& text = "") const {
    expect_all(one, SHMEMX_KV_OK);
    for (std::size_t i = 0; i < one.status.size(); ++i)
      EXPECT_EQ(one.values.substr(i * layout.value_bytes, layout.value_bytes),
                value_of(one.keys.substr(8 * i, 8), text));
  }
  /// Takes in one message; returns how many have come because of it.
  std::size_t deliver() {
    const std::size_t before = network.queue.size();
    progress.poll();
    return network.queue.size() + 1 - before;
  }
  std::deque<Issued> issued_;
};

TEST_F(BatchPacketsTest, ShortBatchesShareOneAndSoDoTheirAnswers) {
  begin(8, 8);
  for (int i = 0; i < 5; ++i) issue(KvOp::put, 10 * i, 10);
  EXPECT_EQ(network.queue.size(), 0U);
  for (const Issued& one : issued_) expect_all(one, SHMEMX_KV_PENDING);
  table->client().flush();
  ASSERT_EQ(network.queue.size(), 1U);
  EXPECT_EQ(table->packets(), 1U);
  EXPECT_EQ(deliver(), 1U) << "the answers";
  deliver();
  for (const Issued& one : issued_) expect_all(one, SHMEMX_KV_OK);
  EXPECT_TRUE(table->test());
  for (int i = 0; i < 5; ++i) issue(KvOp::get, 10 * i, 10);
  table->quiet(kCall);
  for (std::size_t i = 5; i < 10; ++i) expect_values(issued_[i]);
  EXPECT_EQ(table->packets(), 2U);
}

// So that both sides work at the same time.
TEST_F(BatchPacketsTest, APacketThatHasEnoughLeaves) {
  begin(8, 8);
  for (int i = 0; i < 2; ++i) issue(KvOp::get, 0, 200);
  EXPECT_EQ(network.queue.size(), 0U);
  issue(KvOp::get, 0, 200);
  EXPECT_EQ(network.queue.size(), 1U);
  issue(KvOp::get, 0, static_cast<int>(kMostInRuns));
  EXPECT_EQ(network.queue.size(), 2U) << "one that is long goes at once";
  issue(KvOp::get, 0, 3);
  issue(KvOp::get, 0, static_cast<int>(kMostInRuns));
  EXPECT_EQ(network.queue.size(), 4U) << "behind those before it";
  table->quiet(kCall);
  for (const Issued& one : issued_) expect_all(one, SHMEMX_KV_NOT_FOUND);
}

TEST_F(BatchPacketsTest, BatchesAndSingleCallsKeepTheirOrder) {
  begin(8, 8);
  issue(KvOp::put, 1, 1, "1");
  put_nbi(key(1), "2");
  issue(KvOp::put, 1, 1, "3");
  issue(KvOp::put, 1, 1, "4");
  const Issued& last = issue(KvOp::get, 1, 1);
  table->client().flush();
  EXPECT_EQ(network.queue.size(), 3U) << "kinds do not share one";
  table->quiet(kCall);
  expect_values(last, "4");
  issue(KvOp::put, 1, 1, "5");
  EXPECT_EQ(get(key(1)), value_of(key(1), "5")) << "nor does a call that waits overtake one";
}

// Values that are long: of four runs, which share a packet, two fit into one with their answers.
TEST_F(BatchPacketsTest, AnswersTakeAsManyAsTheyNeed) {
  begin(8, 1000);
  constexpr int kEach = 8;
  for (int i = 0; i < 4 * kEach; ++i) put_nbi(key(i), value_of(key(i), ""));
  table->quiet(kCall);
  const std::uint64_t before = table->packets();
  for (int i = 0; i < 4; ++i) issue(KvOp::get, kEach * i, kEach);
  table->client().flush();
  EXPECT_EQ(table->packets(), before + 1);
  ASSERT_EQ(network.queue.size(), 1U);
  EXPECT_EQ(deliver(), 2U);
  for (const QueueNetwork::Message& message : network.queue) EXPECT_LE(message.bytes.size(), kPacketBytes);
  table->quiet(kCall);
  for (const Issued& one : issued_) expect_values(one);
}

TEST_F(BatchPacketsTest, ABatchLeavesByItself) {
  begin(8, 8);
  const Issued& one = issue(KvOp::put, 1, 3);
  EXPECT_EQ(network.queue.size(), 0U);
  EXPECT_TRUE(table->client().holds());
  EXPECT_FALSE(table->client().send_held()) << "it has just seen it";
  for (int i = 0; i < 100000 && !table->client().send_held(); ++i) usleep(100);
  EXPECT_EQ(network.queue.size(), 1U);
  deliver_all();
  expect_all(one, SHMEMX_KV_OK);
  EXPECT_FALSE(table->client().holds());
  EXPECT_TRUE(table->client().is_quiet());
}

// The one that meets a lock, what is behind it in its run, and the runs behind that.
TEST_F(BatchPacketsTest, WhatFindsALockTakenKeepsTheRunsBehindIt) {
  begin(8, 8);
  int locked = 1;  // on a home of its own, as far as what comes before it is concerned
  for (int i = 0; i < locked; ++i)
    if (home(key(i)) == home(key(locked))) i = -1, ++locked;
  ASSERT_LT(locked, 10);
  lock_home(key(locked), true);
  const Issued& first = issue(KvOp::put, 0, 10, "1");
  const Issued& second = issue(KvOp::put, 0, 10, "2");
  table->client().flush();
  for (int i = 0; i < 5; ++i) progress.poll();
  EXPECT_EQ(table->server().put_off(), 1U);
  EXPECT_EQ(stored(key(locked)), "");
  EXPECT_EQ(stored(key(0)), value_of(key(0), "1")) << "the second run waits";
  EXPECT_EQ(first.status[0], SHMEMX_KV_OK);
  expect_all(second, SHMEMX_KV_PENDING);
  lock_home(key(locked), false);
  for (int i = 0; i < 5; ++i) progress.poll();
  expect_all(first, SHMEMX_KV_OK);
  expect_all(second, SHMEMX_KV_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(stored(key(i)), value_of(key(i), "2"));
  EXPECT_TRUE(table->test());
}

}  // namespace
}  // namespace shm::kv

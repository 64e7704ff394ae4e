// SPDX-License-Identifier: BSD-3-Clause
#include "kv/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/wait_report.hpp"
#include "far_table.hpp"

namespace shm::kv {
namespace {

constexpr std::size_t kLong = 20000;

// Values that the network's own reads and writes carry.
class LongValueTest : public FarTable {
 protected:
  void SetUp() override {
    FarTable::SetUp();
    begin(8, kLong, 10);
  }
  /// Nobody else does it.
  void put_there(const std::string& value) const {
    shm::kv::ValueRoom result;
    const std::string k = key(1);
    EXPECT_EQ(shard->execute(request(KvOp::put, k, value), result, kUnlimited), SHMEMX_KV_OK);
  }
  const std::string a = std::string(kLong, 'a'), b = std::string(kLong, 'b');
};

TEST_F(LongValueTest, AreWrittenAndReadWithoutTheServersHelp) {
  EXPECT_EQ(execute(KvOp::insert, key(1), a), SHMEMX_KV_OK);
  EXPECT_EQ(stored(key(1)), a);
  const std::uint64_t one = shard->block_bytes_used();
  int gets = 0;
  network.in_get = [&] { ++gets; };
  EXPECT_EQ(get(key(1)), a);
  EXPECT_EQ(gets, 1);
  EXPECT_EQ(execute(KvOp::put, key(1), b), SHMEMX_KV_OK);
  EXPECT_EQ(execute(KvOp::update, key(1), b), SHMEMX_KV_OK);
  EXPECT_EQ(get(key(1)), b);
  EXPECT_EQ(shard->block_bytes_used(), one);
}

TEST_F(LongValueTest, TakeNoBlockWhereTheyAreRefused) {
  EXPECT_EQ(execute(KvOp::update, key(1), a), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(shard->block_bytes_used(), 0U);
  put_there("short");
  const std::uint64_t one = shard->block_bytes_used();
  EXPECT_EQ(execute(KvOp::insert, key(1), a), SHMEMX_KV_EXISTS);
  EXPECT_EQ(shard->block_bytes_used(), one);
  EXPECT_EQ(stored(key(1)), "short");
}

TEST_F(LongValueTest, AreReadAgainIfTheyChangeMeanwhile) {
  put_there(a);
  int gets = 0;
  network.in_get = [&] {
    if (++gets == 1) put_there(b);
  };
  EXPECT_EQ(get(key(1)), b);
  EXPECT_EQ(gets, 2);
}

TEST_F(LongValueTest, AreCopiedByTheServerIfTheyChangeAgainAndAgain) {
  put_there(a);
  int gets = 0;
  network.in_get = [&] {
    ASSERT_LT(++gets, 100);
    put_there(gets % 2 == 0 ? a : b);
  };
  EXPECT_EQ(get(key(1)), gets % 2 == 0 ? a : b);
  EXPECT_LT(gets, 100);
}

TEST_F(LongValueTest, NeedARoomThatIsAsLong) {
  put_there(a);
  std::string room(kLong, '\0');
  std::uint64_t n = 0;
  const std::string k = key(1);
  EXPECT_EQ(table->get(kCall, table->key(k.data(), k.size()), room.data(), kLong - 1, n),
            SHMEMX_KV_TOO_LARGE);
  EXPECT_EQ(n, kLong);
  EXPECT_EQ(room, std::string(kLong, '\0'));
}

TEST_F(LongValueTest, LeaveNothingWhereThePartIsFull) {
  for (int i = 10; execute(KvOp::put, key(i), "x") == SHMEMX_KV_OK;) ++i;
  const std::uint64_t before = shard->block_bytes_used();
  EXPECT_EQ(execute(KvOp::put, key(1), a), SHMEMX_KV_FULL);
  EXPECT_EQ(shard->block_bytes_used(), before);
}

// What calls that wait say to who asks.
class TableWaitTest : public FarTable {
 protected:
  static void SetUpTestSuite() { answer_wait_questions(0, 2, 0, ""); }

  /// Asked while the network is silent, which it is for a while, once it has become so.
  template <class F>
  std::string said_by(F call) {
    constexpr int kAsked = 100, kEnds = 150;
    int polls = 0;
    network.on_poll = [&] {
      if (network.silent && ++polls == kAsked) raise(kAskSignal);
      if (polls == kEnds) network.silent = false;
    };
    ::testing::internal::CaptureStderr();
    call();
    network.on_poll = nullptr;
    return ::testing::internal::GetCapturedStderr();
  }
  const std::string value = std::string(kLong, 'a');
};

TEST_F(TableWaitTest, SaysWhatIsUnderWay) {
  begin(8, kLong, 10);
  network.slow = true;
  EXPECT_THAT(said_by([&] { EXPECT_EQ(execute(KvOp::put, key(1), value), SHMEMX_KV_OK); }),
              ::testing::HasSubstr("a test waits for PE 1 to have a value of 20000 bytes; since "));
  EXPECT_THAT(said_by([&] { EXPECT_EQ(get(key(1)), value); }),
              ::testing::HasSubstr("a test waits for a value of 20000 bytes of PE 1; since "));
  network.slow = false;
  network.silent = true;
  EXPECT_THAT(said_by([&] { EXPECT_EQ(execute(KvOp::contains, key(1)), SHMEMX_KV_OK); }),
              ::testing::HasSubstr("a test waits for an answer; since "));
}

TEST_F(TableWaitTest, SaysThatThereIsNoRoomForARequest) {
  begin(8, 8);
  const std::string k = key(1);
  for (int i = 0; i < 16384; ++i) put_nbi(k, "x");
  network.silent = true;
  EXPECT_THAT(said_by([&] { put_nbi(k, "y"); }),
              ::testing::HasSubstr("a test waits for PE 1 to answer earlier requests; since "));
  table->quiet(kCall);
  EXPECT_EQ(stored(k), "y");
}

TEST_F(FarTable, CountsTheElementsOfAllPes) {
  begin(8, 8);
  for (int i = 0; i < 10; ++i) put_nbi(key(i), "x");
  table->quiet(kCall);
  EXPECT_EQ(table->count(kCall), 20U) << "either PE's shard is this one";
  EXPECT_EQ(table->remote_calls(), 10U);
  EXPECT_EQ(table->local_calls(), 0U);
}

}  // namespace
}  // namespace shm::kv

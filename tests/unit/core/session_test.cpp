// SPDX-License-Identifier: BSD-3-Clause
#include "core/session.hpp"

#include "base/stats.hpp"
#include "core/order.hpp"
#include "two_pes.hpp"

namespace shm {
void poll_progress();  // of core/p2p.hpp, which has a function of the name of the namespace test
}

namespace shm::test {
namespace {

class SessionTest : public TwoPes {
 protected:
  SessionTest() : TwoPes(behind_nic(0)) {
    context.channel = rt.network->open_channel();
    take_stats();
    start_agent();
  }
  ~SessionTest() override {
    quiet(context);
    rt.network->close_channel(context.channel);
  }

  void put_one() { put(context.channel, 3, value); }
  // Operations that have gone in packets since it was asked last.
  static std::uint64_t packed() { return take_stats()[static_cast<std::size_t>(Stat::packed)]; }
  std::uint64_t packed_when_quiet() {
    quiet(context);
    return packed();
  }
  void start(long options) { start_session(context, options, nullptr, 0); }
  void start(std::size_t total_ops, long mask) {
    const shmem_ctx_session_config_t config{.total_ops = total_ops};
    start_session(context, SHMEM_CTX_SESSION_BATCH, &config, mask);
  }

  Context context;
  const std::uint64_t value = 7;
};

TEST_F(SessionTest, PacksFromItsStartToItsStop) {
  put_one();
  EXPECT_EQ(packed_when_quiet(), 0u);
  start(SHMEM_CTX_SESSION_BATCH);
  put_one();
  put_one();
  EXPECT_EQ(packed(), 0u) << "held";
  stop_session(context);
  EXPECT_EQ(packed(), 2u) << "what is packed leaves";
  quiet(context);
  put_one();
  EXPECT_EQ(packed_when_quiet(), 0u) << "after the stop a put goes alone";
  EXPECT_EQ(word(3), value);
}

TEST_F(SessionTest, PacksOnlyIfAskedTo) {
  start(0);
  put_one();
  EXPECT_EQ(packed_when_quiet(), 0u);
  start(SHMEM_CTX_SESSION_BATCH);  // adds to the session
  put_one();
  EXPECT_EQ(packed_when_quiet(), 1u);
  start(0);
  put_one();
  EXPECT_EQ(packed_when_quiet(), 1u) << "options are or-ed";
}

TEST_F(SessionTest, SendsWhenItHasSeenAsManyOperationsAsItWasTold) {
  start(2, SHMEM_CTX_SESSION_TOTAL_OPS);
  put_one();
  EXPECT_EQ(packed(), 0u);
  put_one();
  EXPECT_EQ(packed(), 2u);
  start(2, 0);  // not named by the mask: as before
  EXPECT_EQ(context.session.total_ops, 2u);
}

TEST_F(SessionTest, ConfigurationThatTheMaskDoesNotNameIsNotLookedAt) {
  start(2, 0);
  EXPECT_EQ(context.session.total_ops, SIZE_MAX);
  put_one();
  put_one();
  EXPECT_EQ(packed(), 0u);
  start_session(context, SHMEM_CTX_SESSION_BATCH, nullptr, SHMEM_CTX_SESSION_TOTAL_OPS);  // there is none
  EXPECT_EQ(context.session.total_ops, SIZE_MAX);
}

TEST_F(SessionTest, OfASingleOperationChangesNothing) {
  start(1, SHMEM_CTX_SESSION_TOTAL_OPS);
  put_one();
  EXPECT_EQ(packed_when_quiet(), 0u);
}

TEST_F(SessionTest, WhatIsUnderWayAtTheStartKeepsNothingOutOfThePackets) {
  put_one();
  fence(context);
  start(SHMEM_CTX_SESSION_BATCH);
  put_one();
  EXPECT_EQ(packed_when_quiet(), 1u);
}

// What a program tests for may be the answer to what is held.
TEST_F(SessionTest, ATestSendsWhatIsHeld) {
  start(SHMEM_CTX_SESSION_BATCH);
  put_one();
  EXPECT_EQ(packed(), 0u);
  poll_progress();
  EXPECT_EQ(packed(), 1u);
}

TEST_F(SessionTest, PromisesEndWithIt) {
  start(2, SHMEM_CTX_SESSION_TOTAL_OPS);
  stop_session(context);
  start(0);
  EXPECT_EQ(context.session.total_ops, SIZE_MAX);
  put_one();
  EXPECT_EQ(packed_when_quiet(), 0u) << "this one is not to pack";
}

TEST_F(SessionTest, StopWithoutStartDoesNothing) {
  stop_session(context);
  EXPECT_FALSE(context.session.started);
  put_one();
  EXPECT_EQ(packed_when_quiet(), 0u);
}

}  // namespace
}  // namespace shm::test

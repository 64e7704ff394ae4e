// SPDX-License-Identifier: BSD-3-Clause
#include "core/context.hpp"

#include <vector>

#include "base/fatal.hpp"
#include "core/address.hpp"
#include "core/order.hpp"
#include "core/team.hpp"
#include "counting_region.hpp"
#include "transports/counted_channels.hpp"
#include "two_pes.hpp"

namespace shm::test {
namespace {

constexpr Call kDestroy{"shmem_ctx_destroy"};
constexpr Call kPut{"shmem_ctx_put"};

class ContextTest : public TwoPes {
 protected:
  ~ContextTest() override { destroy_contexts(nullptr); }

  const Team team{0, 1, 2, 0}, other{0, 1, 2, 0};
  const std::uint64_t value = 7;
};

TEST_F(ContextTest, EndsWhenWhatItHasIssuedIsComplete) {
  const shmem_ctx_t context = create_context(team, 0);
  put(find_context(kPut, context).channel, 3, value);
  EXPECT_EQ(word(3), 0u);
  destroy_context(kDestroy, context);
  EXPECT_EQ(word(3), value);
}

// As by shmem_team_destroy, and by shmem_finalize: nobody has destroyed the context before.
TEST_F(ContextTest, EndsWithItsTeamWhenWhatItHasIssuedIsComplete) {
  put(find_context(kPut, create_context(team, 0)).channel, 3, value);
  destroy_contexts(&team);
  EXPECT_EQ(word(3), value);
  put(find_context(kPut, create_context(team, 0)).channel, 4, value);
  destroy_contexts(nullptr);
  EXPECT_EQ(word(4), value);
}

TEST_F(ContextTest, StaysWhenAnotherTeamEnds) {
  const shmem_ctx_t stays = create_context(other, 0);
  const shmem_ctx_t ends = create_context(team, 0);
  destroy_contexts(&team);
  put(find_context(kPut, stays).channel, 3, value);
  EXPECT_EXIT(find_context(kPut, ends), ::testing::ExitedWithCode(kErrorExit),
              "shmem_ctx_put: ctx is not a context");
  destroy_context(kDestroy, stays);
  EXPECT_EQ(word(3), value);
}

TEST_F(ContextTest, IsNotTakenForTheNextOneInItsPlace) {
  const shmem_ctx_t before = create_context(team, 0);
  destroy_context(kDestroy, before);
  const shmem_ctx_t after = create_context(team, SHMEM_CTX_SERIALIZED);
  EXPECT_NE(before, after);
  EXPECT_EQ(find_context(kPut, after).options, SHMEM_CTX_SERIALIZED);
  EXPECT_EXIT(find_context(kPut, before), ::testing::ExitedWithCode(kErrorExit), "ctx is not a context");
  EXPECT_EXIT(destroy_context(kDestroy, before), ::testing::ExitedWithCode(kErrorExit),
              "ctx is not a context");
}

// More contexts than there are places, one after the other.
TEST_F(ContextTest, PlacesAreTakenAgain) {
  rt.network = nullptr;  // as on one node: nothing is opened
  for (int i = 0; i < 300000; ++i) {
    const shmem_ctx_t context = create_context(team, 0);
    ASSERT_NE(context, SHMEM_CTX_INVALID) << i;
    destroy_context(kDestroy, context);
  }
}

// All at once, one does not fit any more; it does when one of them has gone.
TEST_F(ContextTest, TooManyAreRefusedAndHarmNoOther) {
  constexpr int kMost = 256 * 1024;
  rt.network = nullptr;
  const shmem_ctx_t first = create_context(team, 0);
  int count = 1;
  while (count <= kMost && create_context(team, 0) != SHMEM_CTX_INVALID) ++count;
  EXPECT_EQ(count, kMost);
  destroy_context(kDestroy, first);
  const shmem_ctx_t next = create_context(other, 0);
  EXPECT_EQ(find_context(kPut, next).team, &other);
  EXPECT_EQ(create_context(team, 0), SHMEM_CTX_INVALID);
}

TEST_F(ContextTest, StartsWithoutASession) {
  const shmem_ctx_t before = create_context(team, 0);
  find_context(kPut, before).session = {SHMEM_CTX_SESSION_BATCH, 5, true};
  destroy_context(kDestroy, before);
  EXPECT_FALSE(find_context(kPut, create_context(team, 0)).session.started);
}

TEST_F(ContextTest, ClosesItsChannelWhenItEnds) {
  int open = 0;
  CountedChannels network(open);
  rt.network = &network;
  const shmem_ctx_t one = create_context(team, 0);
  create_context(team, 0);
  create_context(other, 0);
  EXPECT_EQ(open, 3);
  destroy_context(kDestroy, one);
  EXPECT_EQ(open, 2);
  destroy_contexts(&team);
  EXPECT_EQ(open, 1);
  destroy_contexts(nullptr);
  EXPECT_EQ(open, 0);
}

// Where threads may call at the same time, contexts are to keep them apart.
TEST_F(ContextTest, HasAChannelOfItsOwnWhereThreadsMayCallAtOnce) {
  int open = 0;
  CountedChannels network(open);
  rt.network = &network;
  for (const bool parallel : {false, true}) {
    rt.parallel_contexts = parallel;
    create_context(team, 0);
    EXPECT_EQ(network.uses.back() == ChannelUse::parallel, parallel);
  }
  rt.parallel_contexts = false;
  destroy_contexts(nullptr);
}

TEST_F(ContextTest, StartsWithoutTheRegionsOfTheOneBeforeIt) {
  CountingRegion region("toy", 4096, 4096);
  add_region(&region);
  const shmem_ctx_t before = create_context(team, 0);
  enter_region(find_context(kPut, before), &region);
  destroy_context(kDestroy, before);
  EXPECT_GT(region.quiets, 0);
  region.quiets = 0;
  rt.network = nullptr;  // as on one node: regions are all there is to wait for
  quiet(find_context(kPut, create_context(team, 0)));
  EXPECT_EQ(region.quiets, 0);
  remove_region(&region);
}

TEST_F(ContextTest, CountsPesInItsTeam) {
  const Team reversed{1, -1, 2, 1};
  const shmem_ctx_t context = create_context(reversed, 0);
  EXPECT_EQ(world_pe(kPut, context, 0), 1);
  EXPECT_EQ(world_pe(kPut, context, 1), 0);
  EXPECT_EXIT(world_pe(kPut, context, 2), ::testing::ExitedWithCode(kErrorExit),
              "pe is 2; allowed in the context's team is 0 to 1");
  EXPECT_EXIT(world_pe(kPut, context, -1), ::testing::ExitedWithCode(kErrorExit), "pe is -1");
}

TEST_F(ContextTest, WrongHandlesAreNamed) {
  EXPECT_EQ(create_context(team, 1L << 30), SHMEM_CTX_INVALID);
  destroy_context(kDestroy, SHMEM_CTX_INVALID);  // nothing
  EXPECT_EXIT(destroy_context(kDestroy, SHMEM_CTX_DEFAULT), ::testing::ExitedWithCode(kErrorExit),
              "ctx is SHMEM_CTX_DEFAULT");
  EXPECT_EXIT(find_context(kPut, SHMEM_CTX_INVALID), ::testing::ExitedWithCode(kErrorExit),
              "ctx is SHMEM_CTX_INVALID");
}

}  // namespace
}  // namespace shm::test

// SPDX-License-Identifier: BSD-3-Clause
// Which calls of the API complete, or order, what was issued before them: a library of one PE, with a network
// that notes what it is asked.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "core/address.hpp"
#include "core/runtime.hpp"
#include "processes.hpp"
#include "shmem.h"

namespace shm {
namespace {

/// Something is outstanding until it is flushed and then asked whether it is complete.
struct AskedChannel : Channel {
  AskedChannel() : Channel{&kOps} {}

  bool flushed = false, completed = false, completed_to_pe = false, fenced = false;

 private:
  static AskedChannel& own(const Channel* channel) {
    return *static_cast<AskedChannel*>(const_cast<Channel*>(channel));
  }
  // Who has not flushed does not wait for ever.
  bool asked(bool& of_what) { return (of_what = flushed) || ++asks_ > 1000; }
  static bool idle(const Channel* channel) { return own(channel).asked(own(channel).completed); }
  static bool idle_to(const Channel* channel, int) {
    return own(channel).asked(own(channel).completed_to_pe);
  }
  static bool fence(Channel* channel) { return own(channel).fenced = true; }
  static constexpr NetOps kOps = {.put = nullptr,
                                  .get = nullptr,
                                  .amo = nullptr,
                                  .send = nullptr,
                                  .flush = [](Channel* channel) { own(channel).flushed = true; },
                                  .idle = idle,
                                  .idle_to = idle_to,
                                  .fence = fence};

  int asks_ = 0;
};

long sync_[SHMEM_SYNC_SIZE];
const int self = 0;

/// Calls `call` with a channel of its own in a context, which is then as it was.
AskedChannel asked_by(Context& context, const std::function<void()>& call) {
  AskedChannel channel;
  Channel* const before = std::exchange(context.channel, &channel);
  call();
  context.channel = before;
  return channel;
}

// In a process of its own, which becomes a PE.
void as_pe(const std::function<void()>& body) {
  test::run_process([&] {
    for (const char* launcher : {"PMIX_NAMESPACE", "PMI_FD", "PMI_SIZE", "SLURM_STEP_ID"}) unsetenv(launcher);
    setenv("SHMEM_SYMMETRIC_SIZE", "16m", 1);
    shmem_init();
    body();
    return true;
  });
}

TEST(Completion, IsWhatTheseCallsAreFor) {
  as_pe([] {
    const std::pair<const char*, std::function<void()>> calls[] = {
        {"shmem_quiet", [] { shmem_quiet(); }},
        {"shmem_ctx_quiet", [] { shmem_ctx_quiet(SHMEM_CTX_DEFAULT); }},
        {"shmem_barrier_all", [] { shmem_barrier_all(); }},
        {"shmem_barrier", [] { shmem_barrier(0, 0, 1, sync_); }},
        {"shmem_malloc", [] { shmem_malloc(8); }},
    };
    for (const auto& [name, call] : calls) {
      const AskedChannel channel = asked_by(rt.world_context, call);
      EXPECT_TRUE(channel.completed) << name;
      EXPECT_FALSE(channel.fenced) << name;
    }
    void* block = shmem_malloc(8);
    EXPECT_TRUE(asked_by(rt.world_context, [&] { block = shmem_realloc(block, 100000); }).completed);
    EXPECT_TRUE(asked_by(rt.world_context, [&] { shmem_free(block); }).completed);
    for (const auto& call :
         {+[] { shmem_pe_quiet(&self, 1); }, +[] { shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, &self, 1); }}) {
      const AskedChannel channel = asked_by(rt.world_context, call);
      EXPECT_TRUE(channel.completed_to_pe);
      EXPECT_FALSE(channel.completed) << "of other PEs nothing was asked";
    }
    shmem_finalize();
  });
}

TEST(Completion, IsNotWhatAFenceIsFor) {
  as_pe([] {
    for (const auto& call : {+[] { shmem_fence(); }, +[] { shmem_ctx_fence(SHMEM_CTX_DEFAULT); }}) {
      const AskedChannel channel = asked_by(rt.world_context, call);
      EXPECT_TRUE(channel.fenced);
      EXPECT_FALSE(channel.completed);
    }
    shmem_finalize();
  });
}

// And no other context is asked.
TEST(Completion, IsThatOfTheContext) {
  as_pe([] {
    shmem_ctx_t ctx;
    ASSERT_EQ(shmem_ctx_create(0, &ctx), 0);
    Context& context = find_context({"shmem_ctx_quiet"}, ctx);
    AskedChannel own;
    const AskedChannel world = asked_by(rt.world_context, [&] {
      own = asked_by(context, [&] { shmem_ctx_quiet(ctx); });
      EXPECT_TRUE(own.completed);
      own = asked_by(context, [&] { shmem_ctx_pe_quiet(ctx, &self, 1); });
      EXPECT_TRUE(own.completed_to_pe);
      own = asked_by(context, [&] { shmem_ctx_fence(ctx); });
      EXPECT_TRUE(own.fenced);
    });
    EXPECT_FALSE(world.flushed || world.completed || world.completed_to_pe || world.fenced);
    own = asked_by(context, [] { shmem_quiet(), shmem_fence(), shmem_pe_quiet(&self, 1); });
    EXPECT_FALSE(own.flushed || own.completed || own.completed_to_pe || own.fenced);
    shmem_ctx_destroy(ctx);
    shmem_finalize();
  });
}

// One that is not the last one, too.
TEST(Completion, ComesWithAFinalize) {
  as_pe([] {
    shmem_init();
    EXPECT_TRUE(asked_by(rt.world_context, [] { shmem_finalize(); }).completed);
    EXPECT_EQ(shmem_n_pes(), 1);
    EXPECT_TRUE(asked_by(rt.world_context, [] { shmem_finalize(); }).completed);
  });
}

}  // namespace
}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Frames of a page cache: who waits for one, which page gives one up, and when.
#include <deque>

#include "page_cache_fixture.hpp"

namespace shm::nvm {
namespace {

using enum PageState;

// Pages far from each other, so that none is brought ahead.
constexpr PageNumber apart(PageNumber n) { return n * 7 % kSegmentPages; }

// Write-behind: one page leaves for one that comes, and no second one while that is being written.
TEST_F(PageCacheTest, KeepsAFrameFreeForThePageToCome) {
  PageNumber n = 0;
  const auto write = [&] { Latch(pool, 0, apart(n++), Access::write)[0] = 1; };
  while (n < kPoolFrames - 1) write();
  ping();
  EXPECT_EQ(device->records().size(), kPoolFrames - 1) << "there is one";
  for (int round = 0; round < 3; ++round) {
    device->hold(true);
    const Asked asked = ask(PageRequest::Kind::latch, apart(n++), Access::write);
    await("a read and a write", [&] { return device->under_way() == 2; });
    ping();
    EXPECT_EQ(device->under_way(), 2U);
    device->hold(false);
    asked.wait();
    pool.word(apart(n - 1)).unlatch();
    await("a free frame", [&] { return free_frames(pool) == 1; });
    ping();
    EXPECT_EQ(free_frames(pool), 1U);
    EXPECT_EQ(pool.head().leaving.load(), 0U);
  }
  ask(PageRequest::Kind::rest, 0).wait();
  Asked(pool, 0, 0, RangeCommand::drop, 0, kSegmentPages).wait();
  EXPECT_EQ(pool.head().leaving.load(), 0U) << "pages that go in another way";
  for (n = 0; n < kPoolFrames;) write();
  ping();
  EXPECT_EQ(free_frames(pool), 0U) << "no more of that when it rests";
}

// At most half of the frames that are not pinned wait for pages of other nodes.
TEST_F(PageCacheTest, AsksForNoMorePagesAtATimeThanHalfOfTheFramesThatCanBeHad) {
  pool.head().pinned = kPoolFrames / 2;
  std::deque<Asked> asked;
  for (PageNumber n = 0; n < kPoolFrames / 4 + 2; ++n)
    asked.emplace_back(pool, 0, 0, PageRequest::Kind::latch, Access::read, kSegmentPages + apart(n));
  ping();
  EXPECT_EQ(host.steps().size(), kPoolFrames / 4);
  EXPECT_EQ(pool.head().expected.load(), kPoolFrames / 4);
  EXPECT_EQ(pool.head().frame_waiters.load(), 2U);
  const HostStep first = host.step(0);
  grant(first.message.page, Event::grant_exclusive, first.message.message, 1);
  EXPECT_EQ(host.step(kPoolFrames / 4).message.message.kind, Event::done);
  ping();
  EXPECT_EQ(host.steps().size(), kPoolFrames / 4 + 2) << "one has come, another is asked for";
  EXPECT_EQ(pool.head().frame_waiters.load(), 1U);
  pool.head().pinned = 0;
  EXPECT_EQ(host.step(kPoolFrames / 4 + 2).message.message.kind, Event::ask_read);
  pool.word(first.message.page).unlatch();
}

// One that has been asked to leave may be latched when its home says that it may: by a program that has
// pinned it, say.
TEST_F(PageCacheTest, AnotherPageLeavesWhereTheFirstIsKept) {
  const Asked far = ask(PageRequest::Kind::latch, kFar, Access::write);
  grant(kFar, Event::grant_modified, host.step(0).message.message, 1);
  far.wait();
  pool.word(kFar).unlatch();
  EXPECT_EQ(host.step(1).message.message.kind, Event::done);
  for (PageNumber n = 1; n < kPoolFrames; ++n) Latch(pool, 0, apart(n), Access::write)[0] = 1;
  const Asked asked = ask(PageRequest::Kind::latch, apart(kPoolFrames));
  EXPECT_EQ(host.step(2).message.message.kind, Event::ask_evict);
  ASSERT_NE(pool.word(kFar).latch(Access::read), kNoFrame);
  send(kFar, {.kind = Event::leave, .to = 0, .requester = 0, .version = 2});
  asked.wait();
  pool.word(apart(kPoolFrames)).unlatch();
  EXPECT_EQ(host.steps().size(), 3U) << "it is still here";
  pool.word(kFar).unlatch();
  EXPECT_EQ(host.step(3).message.message.kind, Event::done);
  await("the page to have gone", [&] { return pool.word(kFar).state() == invalid; });
}

// Its home may say `leave` only after another page has found a frame there, which may wait for one here.
TEST_F(PageCacheTest, APageThatWasAskedToLeaveGivesItsFrameUpWithItsCopy) {
  const auto before = free_frames(pool);
  std::size_t steps = 0;
  PageNumber page = kFar;
  for (const Event taken : {Event::invalidate, Event::forward_write, Event::recall_write}) {
    page += 7;  // so that none is brought ahead
    const Asked writer = ask(PageRequest::Kind::latch, page, Access::write);
    grant(page, Event::grant_modified, host.step(steps).message.message, 1);
    writer.wait();
    pool.word(page).unlatch();
    pool.requests_of(0).queue.post_hint({page, RequestQueue::What::evict});
    EXPECT_EQ(host.step(steps + 2).message.message.kind, Event::ask_evict);
    EXPECT_EQ(free_frames(pool), before - 1);
    send(page, {.kind = taken, .to = 0, .requester = 1, .version = 2});
    const std::size_t answer = steps + 3 + (taken == Event::forward_write ? 1 : 0);  // a put, and its message
    const std::uint64_t from = host.step(answer).message.frame;
    if (taken == Event::recall_write)  // by its home
      send(page, {.kind = Event::fetched, .to = 0, .requester = 0, .tag = from});
    await("its frame", [&] { return free_frames(pool) == before; });
    const Asked reader = ask(PageRequest::Kind::latch, page);
    ping();
    EXPECT_FALSE(reader.done()) << "it asks when the page has left";
    send(page, {.kind = Event::leave, .to = 0, .requester = 0, .version = 3});
    EXPECT_EQ(host.step(answer + 1).message.message.kind, Event::done);
    const HostStep again = host.step(answer + 2);
    EXPECT_EQ(again.message.message.kind, Event::ask_read);
    grant(page, Event::grant_shared, again.message.message, 4);
    reader.wait();
    pool.word(page).unlatch();
    pool.requests_of(0).queue.post_hint({page, RequestQueue::What::evict});
    EXPECT_EQ(host.step(answer + 4).message.message.kind, Event::dropped);
    steps = answer + 5;
  }
}

TEST_F(PageCacheTest, APageThatFoundNoFrameCanBeBroughtLater) {
  const auto bring = [&] { pool.requests_of(0).queue.post_hint({kOwn, RequestQueue::What::bring}); };
  std::deque<Latch> latched;
  for (PageNumber n = 0; latched.size() < kPoolFrames; ++n) {
    if (apart(n) != kOwn) latched.emplace_back(pool, 0, apart(n), Access::read);
  }
  bring();
  ping();
  EXPECT_EQ(device->records().size(), kPoolFrames);
  latched.clear();
  await("an eviction", [&] {
    pool.requests_of(0).queue.post_hint({apart(0), RequestQueue::What::evict});
    return pool.word(apart(0)).state() == invalid;
  });
  await("the page", [&] {
    bring();
    return pool.word(kOwn).state() == exclusive;
  });
}

}  // namespace
}  // namespace shm::nvm

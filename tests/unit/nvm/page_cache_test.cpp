// SPDX-License-Identifier: BSD-3-Clause
// The page cache of a pager, step by step: with a clock that stands, and a test that plays the other node.
#include <gmock/gmock.h>

#include "base/stats.hpp"
#include "page_cache_fixture.hpp"
#include "store_fixture.hpp"
#include "system_calls.hpp"

namespace shm::nvm {
namespace {

using enum PageState;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Once the home has heard of it, it may have the page taken away: who waits would never use it.
TEST_F(PageCacheTest, WhoWaitsForAPageHasItBeforeTheHomeHearsThatItCame) {
  const Asked first = ask(PageRequest::Kind::latch, kFar), second = ask(PageRequest::Kind::latch, kFar);
  const Message request = host.step(0).message.message;
  EXPECT_EQ(request.kind, Event::ask_read);
  grant(kFar, Event::grant_exclusive, request, 1);
  const HostStep answer = host.step(1);
  EXPECT_EQ(answer.message.message.kind, Event::done);
  EXPECT_TRUE(answer.latched);
  for (const Asked* asked : {&first, &second}) {
    EXPECT_EQ(word_in(pool, asked->wait().frame, 0), 0x0707070707070707U);
    pool.word(kFar).unlatch();
  }
  EXPECT_FALSE(pool.word(kFar).latched()) << "a latch for each";
}

// Nobody sees what was in the frame before, nor is the page taken away meanwhile.
TEST_F(PageCacheTest, APageThatIsWrittenWholeComesWithoutDataAndIsSeenWhenItIsFilled) {
  const Asked writer = ask(PageRequest::Kind::fill, kFar, Access::write);
  const Message request = host.step(0).message.message;
  EXPECT_EQ(request.kind, Event::ask_write);
  EXPECT_TRUE(request.whole);
  const Asked reader = ask(PageRequest::Kind::latch, kFar);
  send(kFar, {.kind = Event::grant_modified, .whole = true, .to = 0, .requester = 0, .version = 1});
  const FrameNumber frame = writer.wait().frame;
  EXPECT_TRUE(writer.wait().unfilled);
  EXPECT_EQ(host.step(1).message.message.kind, Event::done);
  send(kFar, {.kind = Event::forward_read, .to = 0, .requester = 1, .version = 2});
  pool.requests_of(0).queue.post_hint({kFar, RequestQueue::What::evict});
  ping();
  EXPECT_FALSE(reader.done());
  EXPECT_EQ(pool.word(kFar).state(), invalid);
  EXPECT_EQ(host.steps().size(), 2U) << "others get it before it is filled";
  std::memset(pool.bytes(frame), 9, kPageBytes);
  pool.requests_of(0).queue.post_hint({kFar, RequestQueue::What::filled});
  EXPECT_EQ(host.step(2).what, HostStep::put);
  EXPECT_EQ(host.step(3).message.message.kind, Event::grant_shared);
  EXPECT_EQ(word_in(pool, reader.wait().frame, 0), 0x0909090909090909U);
  pool.word(kFar).unlatch();
}

TEST_F(PageCacheTest, APageThatIsWrittenWholeIsNotReadFromTheDevice) {
  const std::uint64_t before = read_stats()[static_cast<std::size_t>(Stat::page_loads)];
  const Asked writer = ask(PageRequest::Kind::fill, kOwn, Access::write);
  ASSERT_TRUE(writer.wait().unfilled);
  const Asked reader = ask(PageRequest::Kind::latch, kOwn);
  std::memset(pool.bytes(writer.wait().frame), 9, kPageBytes);
  pool.requests_of(0).queue.post_hint({kOwn, RequestQueue::What::filled});
  EXPECT_EQ(word_in(pool, reader.wait().frame, 0), 0x0909090909090909U);
  pool.word(kOwn).unlatch();
  EXPECT_EQ(pool.word(kOwn).state(), modified);
  EXPECT_EQ(read_stats()[static_cast<std::size_t>(Stat::page_loads)], before);
}

TEST_F(PageCacheTest, APageThatIsHereIsWrittenWholeUnderALatch) {
  use(kOwn + 1);
  const Asked writer = ask(PageRequest::Kind::fill, kOwn, Access::write);
  const FrameNumber frame = writer.wait().frame;
  pool.requests_of(0).queue.post_hint({kOwn, RequestQueue::What::filled});
  const Asked other = ask(PageRequest::Kind::fill, kOwn, Access::write);
  EXPECT_FALSE(other.wait().unfilled);
  EXPECT_EQ(other.wait().frame, frame);
  EXPECT_TRUE(pool.word(kOwn).latched());
  pool.word(kOwn).unlatch();
}

// A thread that has faulted tries its access again, and must find the page where it was put: else two nodes
// that want it could take it from each other and never use it.
TEST_F(PageCacheTest, APageThatHasJustBeenMappedStaysForAWhile) {
  host.clock.stop();
  ask(PageRequest::Kind::map, kOwn, Access::write).wait();
  EXPECT_EQ(host.step(0).what, HostStep::map);
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  host.clock.advance(microseconds(20));
  ping();
  pool.requests_of(0).queue.post_hint({kOwn, RequestQueue::What::evict});
  ping();
  EXPECT_EQ(host.steps().size(), 1U) << "it is taken away too early";
  EXPECT_EQ(pool.word(kOwn).state(), modified);
  EXPECT_NE(pool.word(kOwn).latch(Access::write), kNoFrame) << "it stays open";
  pool.word(kOwn).unlatch();
  host.clock.advance(milliseconds(1));
  EXPECT_EQ(host.step(1).what, HostStep::unmap);
  EXPECT_EQ(host.step(2).what, HostStep::put) << "when nobody writes to it any more";
  EXPECT_EQ(host.step(3).message.message.kind, Event::grant_modified);
  EXPECT_EQ(pool.word(kOwn).state(), invalid);
}

// A page that was mapped long ago need not wait, nor one that stays mapped.
TEST_F(PageCacheTest, APageThatIsReadStaysMappedToBeRead) {
  host.clock.stop();
  ask(PageRequest::Kind::map, kOwn).wait();
  send(kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1});
  EXPECT_EQ(host.step(1).what, HostStep::put);
  EXPECT_EQ(host.step(2).message.message.kind, Event::grant_shared);
  EXPECT_EQ(pool.word(kOwn).state(), shared);
  EXPECT_EQ(host.steps().size(), 3U);
}

TEST_F(PageCacheTest, APageThatOthersReadIsMappedAnewToBeReadOnly) {
  map_long_ago(kOwn);
  send(kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1});
  const HostStep mapped = host.step(1);
  EXPECT_EQ(mapped.what, HostStep::protect);
  EXPECT_FALSE(mapped.writable);
  EXPECT_EQ(host.step(2).what, HostStep::put) << "when nobody writes to it any more";
  EXPECT_EQ(pool.word(kOwn).state(), owned);
}

// Threads write to a page that nobody else has without telling the pager.
TEST_F(PageCacheTest, APageThatWasWrittenToGoesOutAsDirty) {
  use(kOwn);
  EXPECT_EQ(pool.word(kOwn).state(), exclusive);
  Latch(pool, 0, kOwn, Access::write)[0] = 1;
  send(kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1});
  EXPECT_EQ(host.step(0).what, HostStep::put);
  EXPECT_TRUE(host.step(1).message.message.dirty);
  EXPECT_EQ(pool.word(kOwn).state(), owned);
}

// What a program has pinned stays, however long others wait for it.
TEST_F(PageCacheTest, APinnedPageIsNotTakenAway) {
  for (const Access access : {Access::read, Access::write}) {
    const PageNumber page = access == Access::read ? kOwn : kOwn + 1;
    host.clock.stop();
    const FrameNumber frame = ask(PageRequest::Kind::pin, page, access).wait().frame;
    host.clock.advance(milliseconds(1));
    const std::size_t before = host.steps().size();
    send(page, {.kind = Event::ask_write, .to = 0, .requester = 1});
    ping();
    EXPECT_EQ(host.steps().size(), before);
    EXPECT_NE(pool.word(page).latch(access), kNoFrame) << "it stays open";
    pool.word(page).unlatch();
    pool.frame(frame).pins(access).fetch_sub(1);
    pool.requests_of(0).queue.ring();
    EXPECT_EQ(host.step(before + 2).message.message.kind, Event::grant_modified);
  }
}

// A dirty page stays in its frame on the other node until the home has got it.
TEST_F(PageCacheTest, APageThatComesHomeIsFetchedAndItsFrameGivenBack) {
  constexpr std::uint64_t kThere = 42;  // in the pool of node 1
  fetch_from(kOwn, kThere);
  const Asked asked = ask(PageRequest::Kind::latch, kOwn);
  ping();
  EXPECT_EQ(host.steps().size(), 4U) << "the frame is given back before the page has come";
  EXPECT_FALSE(asked.done());
  host.end_get();
  EXPECT_EQ(host.step(4).message.message.kind, Event::fetched);
  EXPECT_EQ(host.step(4).message.message.tag, kThere);
  EXPECT_EQ(word_in(pool, asked.wait().frame, 0), 0x2a2a2a2a2a2a2a2aU);
  pool.word(kOwn).unlatch();
}

// Where the wire keeps the order of both, nobody waits until the page has arrived to say so; but its frame is
// not another's before.
TEST_F(PageCacheTest, AMessageFollowsItsPageAtOnceAndTheFrameIsFreeWhenThatHasArrived) {
  use(kOwn);
  const auto before = free_frames(pool);
  host.keeps_order = true;
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  EXPECT_EQ(host.step(0).what, HostStep::put);
  const Message granted = host.step(1).message.message;
  EXPECT_EQ(granted.kind, Event::grant_modified);
  send(kOwn, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
  ping();
  EXPECT_EQ(free_frames(pool), before);
  host.end_put();
  ping();
  EXPECT_EQ(free_frames(pool), before + 1);
  EXPECT_EQ(host.steps().size(), 2U) << "the message goes once";
}

// A clean page of another node leaves at once, and its home is told.  What the home has sent meanwhile finds
// none.
TEST_F(PageCacheTest, WhatIsSaidInOneRoundLeavesInOnePacket) {
  const Message message{.kind = Event::invalidate, .to = 0, .version = 1};
  send({{kFar, message}, {kFar + 1, message}, {kFar + 2, message}});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(host.step(i).message.message.kind, Event::done);
    EXPECT_EQ(host.step(i).message.page, kFar + i);
  }
  EXPECT_EQ(host.packets, 1);
}

TEST_F(PageCacheTest, WhatDoesNotFitIntoAPacketLeavesInTheNext) {
  constexpr std::size_t kMessages = 2 * kMaxMessage / sizeof(PageMessage);
  std::vector<std::pair<PageNumber, Message>> messages;
  for (std::size_t version = 1; version <= kMessages; ++version)
    messages.emplace_back(kFar, Message{.kind = Event::invalidate, .to = 0, .version = version});
  send(messages);
  EXPECT_EQ(host.step(kMessages - 1).message.message.version, kMessages);
  EXPECT_GT(host.packets, 1);
}

TEST_F(PageCacheTest, WhatWasSaidBeforeAPageLeavesIsNotKeptUntilItHasLeft) {
  use(kOwn);
  send({{kFar, {.kind = Event::invalidate, .to = 0, .version = 1}},
        {kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1}}});
  EXPECT_EQ(host.step(0).message.message.kind, Event::done);
  EXPECT_EQ(host.step(1).what, HostStep::put);
  EXPECT_EQ(host.step(2).message.message.kind, Event::grant_shared);
}

TEST_F(PageCacheTest, ACleanPageOfAnotherNodeIsDropped) {
  const Asked reader = ask(PageRequest::Kind::latch, kFar);
  grant(kFar, Event::grant_shared, host.step(0).message.message, 1);
  reader.wait();
  pool.word(kFar).unlatch();
  pool.requests_of(0).queue.post_hint({kFar, RequestQueue::What::evict});
  EXPECT_EQ(host.step(2).message.message.kind, Event::dropped);
  EXPECT_EQ(pool.word(kFar).state(), invalid);
  send(kFar, {.kind = Event::forward_read, .to = 0, .requester = 1, .version = 2});
  EXPECT_EQ(host.step(3).message.message.kind, Event::absent);
  send(kFar, {.kind = Event::invalidate, .to = 0, .requester = 1, .version = 3});
  EXPECT_TRUE(host.step(4).message.message.absent);
}

// The frame of a page is not free while it is being sent, or fetched by its home: then the page asks to
// leave.
TEST_F(PageCacheTest, APageThatIsBeingSentIsNotDropped) {
  for (const bool sends : {true, false}) {
    const PageNumber page = sends ? kFar : kFar + 7;
    const std::size_t before = host.steps().size();
    const Asked writer = ask(PageRequest::Kind::latch, page, Access::write);
    grant(page, Event::grant_modified, host.step(before).message.message, 1);
    writer.wait();
    pool.word(page).unlatch();
    host.keeps_order = true;
    send(page, {.kind = Event::recall_read, .to = 0, .requester = 1, .version = 2});
    if (sends) send(page, {.kind = Event::forward_read, .to = 0, .requester = 1, .version = 3});
    const std::size_t after = before + (sends ? 5 : 3);
    host.step(after - 1);
    pool.requests_of(0).queue.post_hint({page, RequestQueue::What::evict});
    EXPECT_EQ(host.step(after).message.message.kind, Event::ask_evict);
    if (sends) host.end_put();
    send(page, {.kind = Event::leave, .to = 0, .requester = 0, .version = 4});
    host.step(after + 1);
  }
}

// An epoch has what a page holds that is on its way to somebody.
TEST_F(PageCacheTest, APageOnItsWayIsPersistedWhenItHasCome) {
  const Identity object = test_object(1);
  auto made = std::make_unique<TestDevice>(TestDeviceOptions{.size = file_bytes(object)});
  const TestDevice& file = *made;
  auto store = expect_store(Store::make(std::move(made), "here", object));
  ASSERT_TRUE(store->begin_at(0).ok());
  const auto command = [&](RangeCommand command, Store* attached, std::uint64_t epoch) {
    return Asked(pool, 0, 0,
                 [&](PageRequest& request) { fill_in(request, command, kOwn, kOwn + 1, attached, epoch); });
  };
  command(RangeCommand::attach, store.release(), 0).wait();
  Latch(pool, 0, kOwn, Access::write)[0] = 1;
  send(kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1});
  const Message granted = host.step(1).message.message;
  const std::size_t before = file.records().size();
  const Asked persist = command(RangeCommand::persist, nullptr, 1);
  ping();
  EXPECT_FALSE(persist.done());
  EXPECT_EQ(file.records().size(), before) << "neither the page nor anything of the epoch is written";
  send(kOwn, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
  persist.wait();
  EXPECT_GT(file.records().size(), before);
}

// Whose copy is the only one that is left is told, as nobody else can give the page.
TEST_F(PageCacheTest, TheLastHolderOfAPageIsTold) {
  use(kOwn);
  send(kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1});
  const Message granted = host.step(1).message.message;
  EXPECT_EQ(granted.kind, Event::grant_shared);
  send(kOwn, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
  await("an eviction", [&] {
    pool.requests_of(0).queue.post_hint({kOwn, RequestQueue::What::evict});
    return pool.word(kOwn).state() == PageState::invalid;
  });
  EXPECT_EQ(host.step(2).message.message.kind, Event::last_copy);
  EXPECT_EQ(host.step(2).message.message.to, 1);
}

TEST_F(PageCacheTest, ACopyThatIsTheLastIsKept) {
  const Asked asked = ask(PageRequest::Kind::latch, kFar);
  const Message request = host.step(0).message.message;
  grant(kFar, Event::grant_shared, request, 1);
  const FrameNumber frame = asked.wait().frame;
  pool.word(kFar).unlatch();
  EXPECT_FALSE(pool.frame(frame).last_copy.load());
  send(kFar, {.kind = Event::last_copy, .to = 0});
  send(kFar + 1, {.kind = Event::last_copy, .to = 0});  // which has left meanwhile
  await("the word of it", [&] { return pool.frame(frame).last_copy.load(); });
  send(kFar, {.kind = Event::forward_read, .to = 0, .requester = 1, .version = 2});
  await("a copy for another node", [&] { return !pool.frame(frame).last_copy.load(); });
}

// The counters of shmemx_stats_t: pages that come from their home, and from another node.
TEST_F(PageCacheTest, CountsPagesThatOthersSendAndTake) {
  const auto counted = [](Stat stat) { return read_stats()[static_cast<std::size_t>(stat)]; };
  static_cast<void>(take_stats());
  const Asked far = ask(PageRequest::Kind::latch, kFar);
  grant(kFar, Event::grant_shared, host.step(0).message.message, 1);
  far.wait();
  pool.word(kFar).unlatch();
  EXPECT_EQ(counted(Stat::page_fetches), 0U) << "it came from its home";
  send(kFar, {.kind = Event::invalidate, .to = 0, .version = 2});
  await("the loss of the page", [&] { return pool.word(kFar).state() == invalid; });
  EXPECT_EQ(counted(Stat::page_invalidations), 1U);
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  const Message granted = host.step(4).message.message;
  EXPECT_EQ(granted.kind, Event::grant_modified);
  send(kOwn, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
  const Asked own = ask(PageRequest::Kind::latch, kOwn);
  const Message forward = host.step(5).message.message;
  EXPECT_EQ(forward.kind, Event::forward_read);
  grant(kOwn, Event::grant_shared, forward, forward.version);
  own.wait();
  pool.word(kOwn).unlatch();
  EXPECT_EQ(counted(Stat::page_fetches), 1U) << "from a node that is not its home";
  EXPECT_EQ(counted(Stat::page_forwards), 0U);
  const Asked other = ask(PageRequest::Kind::latch, kFar + 1);
  grant(kFar + 1, Event::grant_shared, host.step(7).message.message, 1);
  other.wait();
  pool.word(kFar + 1).unlatch();
  send(kFar + 1, {.kind = Event::forward_read, .to = 0, .requester = 1, .version = 2});
  await("a copy for another node", [&] { return counted(Stat::page_forwards) == 1; });
}

// A page whose block is freed is taken from who has it before its contents go.
TEST_F(PageCacheTest, APageThatAnotherNodeHasIsCalledBackBeforeItIsDropped) {
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  const Message granted = host.step(1).message.message;
  EXPECT_EQ(granted.kind, Event::grant_modified);
  send(kOwn, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
  const Asked drop(pool, 0, 0, RangeCommand::drop, kOwn, kOwn + 1);
  const Message request = host.step(2).message.message;
  EXPECT_EQ(request.kind, Event::forward_write);
  ping();
  EXPECT_FALSE(drop.done());
  grant(kOwn, Event::grant_modified, request, request.version);
  drop.wait();
  EXPECT_EQ(pool.word(kOwn).state(), invalid);
}

// A node may know the version of a page for longer than the page's home keeps a directory of it.
TEST_F(PageCacheTest, VersionsGoOnWhereTheDirectoryWasForgotten) {
  std::size_t steps = 0;
  // Node 1 takes the page, and gives it back; returns the version of the answer.
  const auto take = [&](PageNumber page) {
    send(page, {.kind = Event::ask_write, .to = 0, .requester = 1});
    const Message granted = host.step(steps + 1).message.message;
    EXPECT_EQ(granted.kind, Event::grant_modified);
    send(page, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
    steps += 2;
    return granted.version;
  };
  const auto give_back = [&](PageNumber page) {
    send(page, {.kind = Event::ask_evict, .to = 0, .requester = 1});
    const Message leave = host.step(steps).message.message;
    EXPECT_EQ(leave.kind, Event::leave);
    send(page, {.kind = Event::done, .to = 0, .requester = 1, .version = leave.version});
    steps += 1;
    return leave.version;
  };
  take(kOwn + 1);
  std::uint64_t last = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_GT(take(kOwn), last);
    last = give_back(kOwn);
  }
  EXPECT_LT(give_back(kOwn + 1), last) << "one that was begun before";
  EXPECT_GT(take(kOwn), last);
}

// Who writes whole pages, one after the other, wants none of them read.
TEST_F(PageCacheTest, PagesThatAreWrittenWholeAreNoSequenceToBeRead) {
  for (PageNumber page = 20; page < 24; ++page) {
    ASSERT_TRUE(ask(PageRequest::Kind::fill, page, Access::write).wait().unfilled);
    pool.requests_of(0).queue.post_hint({page, RequestQueue::What::filled});
  }
  ping();
  EXPECT_TRUE(device->records().empty());
  EXPECT_EQ(pool.word(24).state(), invalid);
}

TEST_F(PageCacheTest, BringsThePagesOfASequenceButNotThoseOfAnotherSegment) {
  for (PageNumber page = 10; page < 12; ++page) use(page);
  await("the page after them", [&] { return pool.word(12).state() == exclusive; });
  for (PageNumber page = kSegmentPages - 3; page < kSegmentPages; ++page) use(page);
  ping();
  EXPECT_TRUE(host.steps().empty()) << "PE 1 has been asked for a page";
}

TEST_F(PageCacheTest, BringsTheBeginningOfASequenceThatItIsToldOf) {
  for (const PageNumber first : {PageNumber{20}, PageNumber{0}}) {
    device->clear_records();
    pool.requests_of(0).queue.post_hint({first, RequestQueue::What::begin});
    for (PageNumber page = first; page < first + kAhead; ++page)
      await("a page ahead", [&] { return pool.word(page).state() == exclusive; });
    ping();
    EXPECT_EQ(device->records().size(), kAhead);
    pool.requests_of(0).queue.post_hint({first, RequestQueue::What::used});
    await("the next one", [&] { return pool.word(first + kAhead).state() == exclusive; });
  }
}

TEST_F(PageCacheTest, BringsNothingMoreWhenItRests) {
  ask(PageRequest::Kind::rest, 0).wait();
  for (PageNumber page = 10; page < 12; ++page) use(page);
  ping();
  EXPECT_EQ(device->records().size(), 2U);
  for (const auto what : {RequestQueue::What::evict, RequestQueue::What::begin})
    pool.requests_of(0).queue.post_hint({10, what});
  pool.requests_of(0).queue.post_hint({40, RequestQueue::What::bring});
  ping();
  EXPECT_EQ(device->records().size(), 2U);
  EXPECT_EQ(pool.word(10).state(), exclusive) << "nor does anything leave";
}

// Its home could not read it.
TEST_F(PageCacheTest, APageThatIsRefusedIsAskedForAgainOnlyIfSomebodyWaits) {
  pool.requests_of(0).queue.post_hint({kFar, RequestQueue::What::bring});
  const Message first = host.step(0).message.message;
  EXPECT_TRUE(first.ahead);
  send(kFar, {.kind = Event::refuse, .ahead = true, .to = 0, .requester = 0, .version = 1, .tag = first.tag});
  EXPECT_EQ(host.step(1).message.message.kind, Event::done);
  ping();
  EXPECT_EQ(host.steps().size(), 2U);
  pool.requests_of(0).queue.post_hint({kFar, RequestQueue::What::bring});
  const Message second = host.step(2).message.message;
  const Asked asked = ask(PageRequest::Kind::latch, kFar);
  ping();
  send(kFar,
       {.kind = Event::refuse, .ahead = true, .to = 0, .requester = 0, .version = 2, .tag = second.tag});
  EXPECT_EQ(host.step(3).message.message.kind, Event::done);
  const Message third = host.step(4).message.message;
  EXPECT_EQ(third.kind, Event::ask_read);
  EXPECT_FALSE(third.ahead) << "it is needed now";
  grant(kFar, Event::grant_exclusive, third, 3);
  EXPECT_EQ(word_in(pool, asked.wait().frame, 0), 0x0707070707070707U);
  pool.word(kFar).unlatch();
}

// In a process that ends, with a pager of its own.
class NoMemory final : public PageCacheTest {
 public:
  void TestBody() override {
    SystemCalls calls;
    calls.always(Called::mmap, ENOMEM);
    send(kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1});
    await("death", [] { return false; });
  }
};

// A page for another node is read into memory of its own.
TEST(PageCacheDeathTest, NoMemoryForAPageEndsTheJobWithALine) {
  EXPECT_EXIT(NoMemory().TestBody(), ::testing::ExitedWithCode(1),
              "^atoll: out of memory: [0-9]+ bytes for 64 pages on their way from and to files: Cannot "
              "allocate memory\n$");
}

}  // namespace
}  // namespace shm::nvm

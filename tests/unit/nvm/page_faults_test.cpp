// SPDX-License-Identifier: BSD-3-Clause
// Threads that map pages themselves, beside the pager, which takes them away and maps what they cannot.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "page_cache_fixture.hpp"

namespace shm::nvm {
namespace {

using enum PageState;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Outcome = Mappings::Outcome;

class PageFaultsTest : public PageCacheTest {
 protected:
  std::vector<HostStep::What> done() const {
    std::vector<HostStep::What> kinds;
    for (const HostStep& step : host.steps()) kinds.push_back(step.what);
    return kinds;
  }
  void tell_to_evict(PageNumber page) const {
    pool.requests_of(0).queue.post_hint({page, RequestQueue::What::evict});
    ping();
  }

  Mappings threads{host, pool, reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40)};
};

// The thread has latched the page, and maps it when the pager has closed it already.
TEST_F(PageFaultsTest, APageIsTakenAwayOnlyWhenWhoMapsItHasUsedIt) {
  host.clock.stop();
  use(kOwn);
  const FrameNumber frame = pool.word(kOwn).latch(Access::read);
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  ping();
  EXPECT_TRUE(host.steps().empty());
  EXPECT_EQ(pool.word(kOwn).latch(Access::read), kNoFrame) << "nobody else gets it";
  EXPECT_TRUE(threads.raise(kOwn, frame, MapState::to_read));
  pool.word(kOwn).unlatch();
  host.clock.advance(microseconds(20));
  ping();
  EXPECT_EQ(done(), std::vector{HostStep::map}) << "the thread has not tried its access again";
  host.clock.advance(milliseconds(1));
  EXPECT_EQ(host.step(1).what, HostStep::unmap);
  EXPECT_EQ(host.step(2).what, HostStep::put);
  EXPECT_EQ(host.step(3).message.message.kind, Event::grant_modified);
  EXPECT_EQ(threads.state(frame), MapState::no);
  EXPECT_EQ(threads.resolve(kOwn, Access::read), Outcome::refused);
}

TEST_F(PageFaultsTest, APageThatHasJustBeenMappedByAThreadDoesNotLeave) {
  host.clock.stop();
  use(kOwn);
  const FrameNumber frame = pool.word(kOwn).latch(Access::read);
  tell_to_evict(kOwn);
  EXPECT_TRUE(threads.raise(kOwn, frame, MapState::to_read));
  pool.word(kOwn).unlatch();
  tell_to_evict(kOwn);
  EXPECT_EQ(pool.word(kOwn).state(), exclusive);
  EXPECT_EQ(threads.resolve(kOwn, Access::write), Outcome::upgraded) << "it is open";
  EXPECT_EQ(done(), (std::vector{HostStep::map, HostStep::protect}));
  host.clock.advance(milliseconds(1));
  tell_to_evict(kOwn);
  await("the page to leave", [&] { return pool.word(kOwn).state() == invalid; });
  EXPECT_EQ(host.step(2).what, HostStep::unmap);
  EXPECT_EQ(threads.state(frame), MapState::no);
}

// It may be written to until it is sent, and not a moment longer.
TEST_F(PageFaultsTest, APageThatAThreadWritesToIsMadeReadOnlyBeforeItIsSent) {
  host.clock.stop();
  use(kOwn);
  EXPECT_EQ(threads.resolve(kOwn, Access::write), Outcome::mapped);
  send(kOwn, {.kind = Event::ask_read, .to = 0, .requester = 1});
  ping();
  EXPECT_EQ(done(), std::vector{HostStep::map});
  host.clock.advance(milliseconds(1));
  const HostStep lowered = host.step(1);
  EXPECT_EQ(lowered.what, HostStep::protect);
  EXPECT_FALSE(lowered.writable);
  EXPECT_EQ(host.step(2).what, HostStep::put);
  EXPECT_TRUE(host.step(3).message.message.dirty);
  ping();
  EXPECT_EQ(pool.word(kOwn).state(), owned);
  EXPECT_EQ(threads.resolve(kOwn, Access::write), Outcome::refused);
  EXPECT_EQ(threads.resolve(kOwn, Access::read), Outcome::mapped) << "that it still may";
}

TEST_F(PageFaultsTest, BringsWhatAThreadHasSeenToComeNext) {
  const Asked asked(pool, 0, 0, [](PageRequest& request) {
    request.kind = PageRequest::Kind::map;
    request.access = Access::read;
    request.page = 10;
    request.ahead = {12, 2, 3};
  });
  asked.wait();
  for (const PageNumber page : {12, 14, 16})
    await("a page ahead", [&] { return pool.word(page).state() == exclusive; });
  pool.requests_of(0).queue.post_hint({33, RequestQueue::What::bring, -1, 2});
  for (const PageNumber page : {33, 32})
    await("a page ahead", [&] { return pool.word(page).state() == exclusive; });
  pool.requests_of(0).queue.post_hint({kSegmentPages - 1, RequestQueue::What::bring, 1, 2});
  await("the last page", [&] { return pool.word(kSegmentPages - 1).state() == exclusive; });
  ping();
  EXPECT_EQ(device->records().size(), 7U);
  EXPECT_EQ(host.steps().size(), 1U) << "PE 1 has been asked for a page";
}

class CrowdedTest : public ::testing::Test {
 protected:
  void load(PageNumber page) const { static_cast<void>(Latch(pool, 0, page, Access::read).frame()); }

  PoolMemory memory{shape_of(1)};
  const Pool& pool = memory.pool;
  Pe pe{pool};
  Mappings threads{pe.host, pool, pe.host.segment()};
};

// What threads have mapped goes like any other, the oldest first.
TEST_F(CrowdedTest, WithoutRoomForMappingsThePagerTakesThoseOfThreads) {
  pe.host.most_mapped = 8;
  for (PageNumber page = 3; page < 12; ++page) load(page);
  for (PageNumber page = 3; page < 11; ++page)
    EXPECT_EQ(threads.resolve(page, Access::read), Outcome::mapped);
  EXPECT_EQ(threads.resolve(11, Access::read), Outcome::refused);
  EXPECT_FALSE(pool.word(11).latched());
  pe.ask(PageRequest::Kind::map, 11).wait();
  for (PageNumber page = 3; page < 12; ++page) {
    const FrameNumber frame = pool.word(page).frame();
    EXPECT_EQ(threads.state(frame), page < 7 ? MapState::no : MapState::to_read) << page;
  }
  EXPECT_EQ(threads.resolve(3, Access::read), Outcome::mapped) << "there is room again";
}

// Loads and stores by two threads, and the pager evicts: no store is lost, and what is mapped is here.
TEST_F(CrowdedTest, ThreadsAndThePagerMapAtTheSameTime) {
  constexpr PageNumber kPages = 24;  // more than there are frames
  std::vector<std::thread> both;
  for (const bool writes : {false, true}) {
    both.emplace_back([&, writes] {
      for (int round = 0; round < 2000; ++round) {
        const PageNumber page = static_cast<PageNumber>(round) * 7 % kPages;
        const Access access = writes ? Access::write : Access::read;
        if (threads.resolve(page, access) == Outcome::refused)
          pe.ask(PageRequest::Kind::map, page, access).wait();
      }
    });
  }
  for (std::thread& thread : both) thread.join();
  pe.ping();
  std::vector<int> mapped(kPages, 0);
  for (const FakeHost::Mapping& each : pe.host.mappings())
    mapped[each.page] = each.what == FakeHost::Mapping::none ? 0 : 1;
  for (PageNumber page = 0; page < kPages; ++page) {
    const bool here = pool.word(page).state() != invalid;
    EXPECT_EQ(mapped[page] == 1, here && threads.state(pool.word(page).frame()) != MapState::no) << page;
  }
  EXPECT_EQ(std::count(mapped.begin(), mapped.end(), 1), pe.host.mapped);
}

}  // namespace
}  // namespace shm::nvm

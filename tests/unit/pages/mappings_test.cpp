// SPDX-License-Identifier: BSD-3-Clause
#include "pages/mappings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>
#include <vector>

#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Outcome = Mappings::Outcome;
using std::chrono::milliseconds;

// Records what is mapped, and maps nothing.
class RecordingSpace final : public AddressSpace {
 public:
  enum Call { map_to_read, map_to_write, protect_to_read, protect_to_write, unmap_all };

  bool map(std::byte* at, std::size_t offset, std::size_t n, bool writable) override {
    EXPECT_EQ(n, kPageBytes);
    last_at = at;
    last_offset = offset;
    return record(writable ? map_to_write : map_to_read);
  }
  bool protect(std::byte* at, std::size_t n, bool writable) override {
    EXPECT_EQ(n, kPageBytes);
    last_at = at;
    return record(writable ? protect_to_write : protect_to_read);
  }
  bool unmap(std::byte* at, std::size_t n) override {
    EXPECT_EQ(n, kPageBytes);
    last_at = at;
    return record(unmap_all);
  }
  bool has_room() const override { return room; }
  std::chrono::steady_clock::time_point now() const override {
    return Mappings::Clock::time_point(milliseconds(time.load()));
  }
  std::vector<Call> calls() const {
    const std::scoped_lock guard(mutex_);
    return calls_;
  }

  std::atomic<std::byte*> last_at{nullptr};
  std::atomic<std::size_t> last_offset{0};
  std::atomic<bool> fails{false}, room{true}, holds{false};
  std::atomic<int> time{1000}, inside{0};

 private:
  bool record(Call call) {
    EXPECT_EQ(inside.fetch_add(1), 0) << "two threads change the mapping of a page at the same time";
    {
      const std::scoped_lock guard(mutex_);
      calls_.push_back(call);
    }
    await("to be let go on", [this] { return !holds; });
    inside.fetch_sub(1);
    errno = ENOMEM;
    return !fails;
  }

  mutable std::mutex mutex_;
  std::vector<Call> calls_;
};

class MappingsTest : public ::testing::Test {
 protected:
  static constexpr PageNumber kHere = 5;
  static constexpr FrameNumber kFrame = 3;

  void here(PageState state) const { pool.word(kHere).open(state, kFrame); }
  MapState state() const { return mappings.state(kFrame); }

  PoolMemory memory{PoolShape{kPageBytes, 16, 64, 1, 1}};
  const Pool& pool = memory.pool;
  RecordingSpace space;
  std::byte* const segment = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
  Mappings mappings{space, pool, segment};
};

TEST_F(MappingsTest, APageThatIsHereIsMappedToReadThenRaisedForAWrite) {
  here(PageState::exclusive);
  EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::mapped);
  EXPECT_EQ(space.last_at, segment + kHere * kPageBytes);
  EXPECT_EQ(space.last_offset, pool.offset(kFrame));
  EXPECT_EQ(state(), MapState::to_read);
  EXPECT_EQ(pool.word(kHere).state(), PageState::exclusive) << "a read makes nothing dirty";
  EXPECT_EQ(pool.frame(kFrame).touched.load(), kTouched);
  EXPECT_EQ(mappings.resolve(kHere, Access::write), Outcome::upgraded);
  EXPECT_EQ(state(), MapState::to_write);
  EXPECT_EQ(pool.word(kHere).state(), PageState::modified);
  EXPECT_FALSE(pool.word(kHere).latched());
  EXPECT_TRUE(mappings.raise(kHere, kFrame, MapState::to_read)) << "it may be read";
  EXPECT_EQ(state(), MapState::to_write) << "and written to, as before";
  EXPECT_THAT(space.calls(), ElementsAre(RecordingSpace::map_to_read, RecordingSpace::protect_to_write));
}

TEST_F(MappingsTest, ADirtyPageIsMappedToBeWrittenAtOnce) {
  here(PageState::modified);
  EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::mapped);
  EXPECT_EQ(state(), MapState::to_write);
  EXPECT_THAT(space.calls(), ElementsAre(RecordingSpace::map_to_write));
}

TEST_F(MappingsTest, WhatIsNotHereOrNotPermittedIsThePagers) {
  EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::refused);
  for (const PageState shared : {PageState::shared, PageState::owned}) {
    here(shared);
    EXPECT_EQ(mappings.resolve(kHere, Access::write), Outcome::refused);
    EXPECT_EQ(pool.word(kHere).state(), shared);
  }
  here(PageState::exclusive);
  EXPECT_TRUE(pool.word(kHere).close());
  EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::refused) << "a page that is being taken away";
  EXPECT_FALSE(mappings.map_ahead(kHere));
  EXPECT_FALSE(pool.word(kHere).latched());
  EXPECT_EQ(state(), MapState::no);
  EXPECT_THAT(space.calls(), IsEmpty());
}

TEST_F(MappingsTest, WithoutRoomAllIsAsBefore) {
  here(PageState::exclusive);
  space.fails = true;
  EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::refused);
  EXPECT_FALSE(mappings.raise(kHere, kFrame, MapState::to_read));
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(state(), MapState::no);
  EXPECT_FALSE(pool.word(kHere).latched());
  space.fails = false;
  EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::mapped);
  space.fails = true;
  EXPECT_FALSE(mappings.lower(kHere, kFrame, MapState::no));
  EXPECT_EQ(state(), MapState::to_read);
  space.fails = false;
  EXPECT_TRUE(mappings.lower(kHere, kFrame, MapState::no));
  EXPECT_EQ(state(), MapState::no);
}

TEST_F(MappingsTest, ThreadsMapNothingWhileRoomIsShort) {
  here(PageState::exclusive);
  space.room = false;
  EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::refused);
  EXPECT_FALSE(mappings.map_ahead(kHere));
  EXPECT_THAT(space.calls(), IsEmpty());
  EXPECT_FALSE(pool.word(kHere).latched());
  EXPECT_TRUE(mappings.raise(kHere, kFrame, MapState::to_read)) << "but the pager does";
}

TEST_F(MappingsTest, MapsAheadOnlyWhatIsUnmapped) {
  here(PageState::exclusive);
  EXPECT_TRUE(mappings.map_ahead(kHere));
  EXPECT_FALSE(mappings.map_ahead(kHere));
  EXPECT_THAT(space.calls(), ElementsAre(RecordingSpace::map_to_read));
  EXPECT_EQ(pool.frame(kFrame).touched.load(), kTouched);
  EXPECT_FALSE(pool.word(kHere).latched());
}

// A thread that has faulted gets a while to use the page, also if it was mapped before.
TEST_F(MappingsTest, NotesWhenAThreadHadAFaultLast) {
  here(PageState::exclusive);
  for (const int now : {1000, 2000, 3000}) {
    space.time = now;
    EXPECT_EQ(mappings.resolve(kHere, Access::read), Outcome::mapped);
    EXPECT_EQ(mappings.since(kFrame), Mappings::Clock::time_point(milliseconds(now)));
  }
  space.time = 4000;
  EXPECT_TRUE(mappings.lower(kHere, kFrame, MapState::no));
  EXPECT_EQ(mappings.since(kFrame), Mappings::Clock::time_point(milliseconds(3000)));
  EXPECT_THAT(space.calls(), ElementsAre(RecordingSpace::map_to_read, RecordingSpace::unmap_all));
}

// One reads and one writes: whoever comes second finds what the first has done.
TEST_F(MappingsTest, TwoThreadsOnOnePageDoNotUndoEachOther) {
  for (const Access first : {Access::read, Access::write}) {
    here(PageState::exclusive);
    space.holds = true;
    const std::size_t before = space.calls().size();
    std::thread one([&] { mappings.resolve(kHere, first); });
    await("the first", [&] { return space.calls().size() == before + 1; });
    std::thread other([&] { mappings.resolve(kHere, first == Access::read ? Access::write : Access::read); });
    std::thread lowers;
    if (first == Access::write) lowers = std::thread([&] { mappings.lower(kHere, kFrame, MapState::no); });
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(space.calls().size(), before + 1) << "they wait for each other";
    space.holds = false;
    one.join();
    other.join();
    if (lowers.joinable()) lowers.join();
    if (first == Access::read) {
      EXPECT_THAT(space.calls(), ElementsAre(RecordingSpace::map_to_read, RecordingSpace::protect_to_write));
      EXPECT_EQ(state(), MapState::to_write);
    }
    mappings.lower(kHere, kFrame, MapState::no);
    EXPECT_FALSE(pool.word(kHere).latched());
  }
}

// Threads fault while a pager takes the page away again and again: it is never mapped when it is not here.
TEST_F(MappingsTest, NobodyMapsAPageThatIsClosed) {
  std::atomic<bool> ends{false};
  std::atomic<long> mapped{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (!ends) {
        if (mappings.resolve(kHere, i == 0 ? Access::write : Access::read) != Outcome::refused) ++mapped;
        sched_yield();
      }
    });
  }
  PageWord& word = pool.word(kHere);
  for (int round = 0; round < 100; ++round) {
    const long before = mapped;
    word.open(PageState::exclusive, kFrame);
    await("a fault", [&] { return mapped > before; });
    await("the last latch", [&] { return word.close(); });
    ASSERT_TRUE(mappings.lower(kHere, kFrame, MapState::no));
    sched_yield();
    ASSERT_EQ(state(), MapState::no) << "somebody has mapped it since";
    word.clear();
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace shm::pages

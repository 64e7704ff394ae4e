// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/pager.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/stats.hpp"
#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

using enum PageState;
using Mapping = FakeHost::Mapping;
using ::testing::ElementsAre;

class PagerTest : public ::testing::Test {
 protected:
  Latch latch(PageNumber page, Access access = Access::read) const { return Latch(pool, 0, page, access); }
  void store(PageNumber page, std::uint64_t value) const { latch(page, Access::write)[5] = value; }
  std::uint64_t load(PageNumber page) const { return latch(page)[5]; }
  PageState state(PageNumber page) const { return pool.word(page).state(); }
  static std::uint64_t counted(Stat stat) { return read_stats()[static_cast<std::size_t>(stat)]; }

  PoolMemory memory{shape_of(1)};
  const Pool& pool = memory.pool;
  Pe pe{pool};
};

TEST_F(PagerTest, APinBringsThePageFromTheDevice) {
  const Latch here = latch(3);
  for (std::size_t word = 0; word < kPageBytes / 8; ++word) ASSERT_EQ(here[word], page_of(3)) << word;
  EXPECT_EQ(state(3), exclusive);
  EXPECT_TRUE(pool.word(3).latched());
  EXPECT_EQ(state(4), invalid);
  EXPECT_EQ(pool.word(3).latch(Access::write), here.frame()) << "the next is a hit";
  pool.word(3).unlatch();
  EXPECT_EQ(pe.count(Kind::read, 3), 1);
  EXPECT_EQ(pe.device->records().size(), 1U);
  EXPECT_TRUE(pe.host.mappings().empty());
}

TEST_F(PagerTest, APinToWriteMakesThePageModified) {
  const PageRequest& request = Asked(pool, 0, 0, PageRequest::Kind::latch, Access::write, 3).wait();
  EXPECT_NE(request.frame, kNoFrame);
  EXPECT_EQ(state(3), modified);
  EXPECT_TRUE(pool.word(3).latched());
  pool.word(3).unlatch();
}

TEST_F(PagerTest, WritesSurviveEvictionAndReload) {
  for (PageNumber page = 0; page < kSegmentPages; ++page) store(page, page * 3);
  for (PageNumber page = 0; page < kSegmentPages; ++page) {
    EXPECT_EQ(load(page), page * 3);
    EXPECT_EQ(latch(page)[6], page_of(page)) << "the word beside it";
  }
  EXPECT_GE(pe.count(Kind::write), static_cast<long>(kSegmentPages - kPoolFrames));
}

TEST_F(PagerTest, CleanPagesAreNotWrittenBack) {
  for (PageNumber page = 0; page < kSegmentPages; ++page) EXPECT_EQ(load(page), page_of(page));
  EXPECT_EQ(pe.count(Kind::write), 0);
  EXPECT_EQ(pe.count(Kind::read), static_cast<long>(kSegmentPages));
}

TEST_F(PagerTest, DirtyPagesAreWrittenOnce) {
  for (PageNumber page = 0; page < 4; ++page) store(page, 7);
  for (PageNumber page = 0; page < 4; ++page) pe.evict(page);
  for (PageNumber page = 0; page < 4; ++page) {
    EXPECT_EQ(load(page), 7U);
    pe.evict(page);
    EXPECT_EQ(pe.count(Kind::write, page), 1) << page;
    EXPECT_EQ(pe.count(Kind::read, page), 2) << page;
  }
  EXPECT_EQ(pe.count(Kind::write), 4) << "and no others";
}

TEST_F(PagerTest, LatchedPagesAreNotEvicted) {
  std::deque<Latch> latched;
  for (PageNumber page = 0; page < kPoolFrames - 2; ++page)
    latched.emplace_back(pool, 0, page, Access::write)[5] = page;
  for (PageNumber page = kPoolFrames; page < kSegmentPages; ++page) EXPECT_EQ(load(page), page_of(page));
  for (PageNumber page = 0; page < latched.size(); ++page) {
    pe.tell_to_evict(page);
    pe.ping();
    EXPECT_EQ(pool.word(page).frame(), latched[page].frame());
    EXPECT_EQ(latched[page][5], page);
    EXPECT_EQ(pool.word(page).latch(Access::read), latched[page].frame()) << "it stays open";
    pool.word(page).unlatch();
  }
  EXPECT_EQ(pe.count(Kind::write), 0);
}

TEST_F(PagerTest, WhoFindsAllFramesLatchedWaitsForOne) {
  std::deque<Latch> latched;
  for (PageNumber page = 0; page < kPoolFrames; ++page)
    latched.emplace_back(pool, 0, page, Access::write)[5] = page;
  const Asked asked = pe.ask(PageRequest::Kind::latch, 40);
  await("a pager without frames", [&] { return pool.head().frame_waiters.load() == 1; });
  for (int i = 0; i < 200; ++i) pe.ping();
  EXPECT_FALSE(asked.done());
  const FrameNumber first = latched.front().frame();
  latched.pop_front();
  EXPECT_EQ(asked.wait().frame, first);
  EXPECT_EQ(word_in(pool, first, 5), page_of(40));
  pool.word(40).unlatch();
  for (PageNumber page = 1; page < kPoolFrames; ++page) {
    EXPECT_EQ(pool.word(page).frame(), latched[page - 1].frame());
    EXPECT_EQ(latched[page - 1][5], page);
  }
  EXPECT_EQ(pe.count(Kind::write, 0), 1);
  EXPECT_EQ(pe.count(Kind::write), 1);
  EXPECT_EQ(pool.head().frame_waiters.load(), 0U);
}

TEST_F(PagerTest, APageIsLoadedOnceForAllWhoWait) {
  pe.device->hold(true);
  std::deque<Asked> asked;
  for (int i = 0; i < 20; ++i)
    asked.emplace_back(pool, 0, 0, PageRequest::Kind::latch, i % 2 == 0 ? Access::read : Access::write, 3);
  pe.ping();
  for (const Asked& one : asked) EXPECT_FALSE(one.done());
  EXPECT_EQ(pool.word(3).latch(Access::read), kNoFrame) << "half a page";
  pe.end_one();
  for (const Asked& one : asked) EXPECT_EQ(one.wait().frame, asked.front().wait().frame);
  EXPECT_EQ(pe.count(Kind::read), 1);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_TRUE(pool.word(3).latched()) << "a latch for each";
    pool.word(3).unlatch();
  }
  EXPECT_FALSE(pool.word(3).latched());
}

TEST_F(PagerTest, AWishForAPageThatIsBeingWrittenIsServedAfterwards) {
  store(3, 77);
  pe.device->hold(true);
  pe.tell_to_evict(3);
  await("the write", [&] { return pe.device->under_way() == 1; });
  EXPECT_EQ(pool.word(3).latch(Access::read), kNoFrame);
  const Asked asked = pe.ask(PageRequest::Kind::latch, 3, Access::write);
  pe.tell_to_evict(3);
  pe.ping();
  EXPECT_FALSE(asked.done());
  EXPECT_EQ(pe.device->under_way(), 1U) << "no second write, no early read";
  pe.end_one();
  EXPECT_EQ(pe.count(Kind::write, 3), 1);
  pe.end_one();
  const FrameNumber frame = asked.wait().frame;
  EXPECT_EQ(word_in(pool, frame, 5), 77U);
  EXPECT_EQ(pool.word(3).frame(), frame);
  pool.word(3).unlatch();
  pe.device->hold(false);
  pe.evict(3);
  EXPECT_EQ(load(3), 77U);
}

TEST_F(PagerTest, AnEvictionThatComesTooLateIsNothing) {
  pe.tell_to_evict(50);
  pe.ping();
  EXPECT_EQ(load(50), page_of(50));
  pe.device->hold(true);
  const Asked asked = pe.ask(PageRequest::Kind::latch, 51);
  pe.tell_to_evict(51);
  pe.ping();
  pe.end_one();
  EXPECT_EQ(word_in(pool, asked.wait().frame, 0), page_of(51));
  pool.word(51).unlatch();
}

TEST_F(PagerTest, MapsAFilledFrameToReadUntilItIsWritten) {
  pe.ask(PageRequest::Kind::map, 3).wait();
  const FrameNumber frame = pool.word(3).frame();
  EXPECT_EQ(state(3), exclusive);
  EXPECT_FALSE(pool.word(3).latched());
  EXPECT_EQ(pool.frame(frame).touched.load(), 1) << "it is used";
  pe.ask(PageRequest::Kind::map, 3).wait();
  pe.ask(PageRequest::Kind::map, 3, Access::write).wait();
  EXPECT_EQ(state(3), modified);
  pe.ask(PageRequest::Kind::map, 3).wait();
  const Mapping to_read{Mapping::to_read, 3, frame, page_of(3)};
  const Mapping to_write{Mapping::to_write, 3, frame, page_of(3)};
  EXPECT_THAT(pe.host.mappings(), ElementsAre(to_read, to_write));
  word_in(pool, frame, 0) = 11;  // a store of the program
  pe.device->hold(true);
  pe.evict(3);
  await("the write", [&] { return pe.device->under_way() == 1; });
  EXPECT_THAT(pe.host.mappings(), ElementsAre(to_read, to_write, Mapping{Mapping::none, 3, kNoFrame, 0}))
      << "before it is written";
  pe.device->hold(false);
  pe.ask(PageRequest::Kind::map, 3, Access::write).wait();
  EXPECT_EQ(pe.host.mappings().size(), 4U);
  EXPECT_EQ(pe.host.mappings().back(), (Mapping{Mapping::to_write, 3, pool.word(3).frame(), 11}));
}

// The oldest mappings go; the pages stay.
TEST_F(PagerTest, UnmapsOtherPagesWhereThereAreTooManyMappings) {
  pe.host.most_mapped = 8;
  pe.ask(PageRequest::Kind::pin, 1, Access::write).wait();
  pe.ask(PageRequest::Kind::pin, 2, Access::read).wait();
  for (PageNumber page = 3; page < 12; ++page) {
    pe.ask(PageRequest::Kind::map, page, Access::write).wait();
    word_in(pool, pool.word(page).frame(), 5) = page * 3;
    EXPECT_LE(pe.host.mapped, 8);
    EXPECT_EQ(pe.host.mappings().back().page, page);
  }
  EXPECT_TRUE(std::ranges::none_of(pe.host.mappings(), [](const Mapping& mapping) {
    return mapping.what == Mapping::none && mapping.page < 3;
  })) << "a page that is pinned";
  for (PageNumber page = 3; page < 12; ++page) {
    EXPECT_EQ(state(page), modified);
    pe.ask(PageRequest::Kind::map, page, Access::write).wait();
    EXPECT_EQ(load(page), page * 3);
  }
  EXPECT_EQ(pe.count(Kind::write), 0);
}

// An instruction may need four: if they took each other's mappings it would never end.
TEST_F(PagerTest, LeavesThePagesThatWereMappedLast) {
  pe.host.most_mapped = 3;
  pe.host.spares = 3;
  for (PageNumber page = 3; page < 8; ++page) pe.ask(PageRequest::Kind::map, page).wait();
  EXPECT_EQ(pe.host.mapped, 5) << "spare mappings are given up for them";
  for (PageNumber page = 8; page < 12; ++page) {
    pe.ask(PageRequest::Kind::map, page).wait();
    for (PageNumber last = page - 4; last <= page; ++last) {
      const auto all = pe.host.mappings();
      const auto found =
          std::find_if(all.rbegin(), all.rend(), [&](const Mapping& each) { return each.page == last; });
      EXPECT_EQ(found->what, Mapping::to_read) << last << " of " << page;
    }
  }
}

TEST_F(PagerTest, UnmapsOnlyWhatIsMapped) {
  EXPECT_EQ(load(3), page_of(3));
  pe.evict(3);
  EXPECT_TRUE(pe.host.mappings().empty());
  pe.ask(PageRequest::Kind::map, 3).wait();
  {
    const Latch here = latch(3);
    pe.tell_to_evict(3);
    pe.ping();
    EXPECT_EQ(pe.host.mappings().size(), 1U) << "a page that cannot leave stays mapped";
  }
  pe.evict(3);
  EXPECT_EQ(pe.host.mappings().size(), 2U);
  EXPECT_EQ(pe.count(Kind::write), 0) << "it was mapped to be read";
}

// The counters of shmemx_stats_t.
TEST_F(PagerTest, CountsWhatItDoes) {
  static_cast<void>(take_stats());
  pe.ask(PageRequest::Kind::map, 3).wait();
  store(4, 7);
  store(5, 7);
  EXPECT_EQ(counted(Stat::page_faults), 1U) << "of loads and stores";
  EXPECT_EQ(counted(Stat::page_loads), 3U);
  EXPECT_EQ(counted(Stat::page_evictions) + counted(Stat::page_writes), 0U);
  for (PageNumber page = 3; page <= 5; ++page) pe.evict(page);
  EXPECT_EQ(counted(Stat::page_evictions), 3U);
  EXPECT_EQ(counted(Stat::page_writes), 2U) << "those with changes";
  EXPECT_EQ(counted(Stat::page_loads), 3U);
  EXPECT_EQ(counted(Stat::page_faults), 1U);
}

class ForeignTest : public PagerTest {
 protected:
  static Operation operation(Operation::Kind kind, PageNumber page, std::uint32_t offset, std::uint32_t n) {
    Operation made{};
    made.token = 100 + page;
    made.brings = true;
    made.page = page;
    made.offset = offset;
    made.n = n;
    made.pe = kStranger;
    made.kind = kind;
    return made;
  }
  void hand(const Operation& head, const std::vector<std::byte>& data = {}) const {
    std::vector<std::byte> message(sizeof head);
    std::memcpy(message.data(), &head, sizeof head);
    message.insert(message.end(), data.begin(), data.end());
    pe.pager->hand(message.data(), message.size());
  }
  void add(PageNumber page, std::uint32_t offset, std::uint64_t value) const {
    Operation amo = operation(Operation::Kind::amo, page, offset, 0);
    amo.op = AtomicOp::add;
    amo.type = AtomicType::u64;
    amo.value = value;
    hand(amo);
  }
};

TEST_F(ForeignTest, PutsAndGetsAreAppliedAndAnswered) {
  const std::vector<std::byte> data(1001, std::byte{0x5a});
  static_cast<void>(take_stats());
  hand(operation(Operation::Kind::put, 3, 17, 1001), data);
  const auto put = pe.host.answers(1).at(0);
  EXPECT_EQ(put.pe, kStranger);
  EXPECT_EQ(put.answer.token, 103U);
  EXPECT_EQ(put.answer.n, 0U);
  EXPECT_TRUE(put.data.empty());
  pe.ping();  // the answer leaves before the page is open to all
  EXPECT_EQ(state(3), modified);
  EXPECT_FALSE(pool.word(3).latched());
  pe.evict(3);
  hand(operation(Operation::Kind::get, 3, 16, 1003));
  const auto get = pe.host.answers(2).at(1);
  EXPECT_EQ(get.answer.token, 103U);
  EXPECT_EQ(get.answer.n, 1003U);
  ASSERT_EQ(get.data.size(), 1003U);
  EXPECT_EQ(get.data.front(), std::byte{page_of(3) & 0xff});
  EXPECT_TRUE(std::equal(data.begin(), data.end(), get.data.begin() + 1));
  EXPECT_NE(get.data.back(), std::byte{0x5a});
  pe.ping();
  EXPECT_EQ(state(3), shared) << "a get writes nothing";
  EXPECT_EQ(counted(Stat::page_operations), 2U);
  EXPECT_EQ(latch(3)[1], page_of(3));
}

TEST_F(ForeignTest, AtomicsAnswerTheOldValue) {
  add(3, 40, 5);
  add(3, 40, 6);
  Operation swap = operation(Operation::Kind::amo, 3, 40, 0);
  swap.op = AtomicOp::compare_swap;
  swap.type = AtomicType::u64;
  swap.compare = page_of(3) + 11;
  swap.value = 1;
  hand(swap);
  const auto answers = pe.host.answers(3);
  EXPECT_EQ(answers[0].old(), page_of(3));
  EXPECT_EQ(answers[1].old(), page_of(3) + 5);
  EXPECT_EQ(answers[2].old(), page_of(3) + 11);
  EXPECT_EQ(answers[2].answer.n, 8U);
  EXPECT_EQ(load(3), 1U);
  EXPECT_EQ(state(3), modified);
  EXPECT_FALSE(pool.word(3).latched());
}

TEST_F(ForeignTest, OperationsWaitInOrderForThePage) {
  store(3, 70);
  pe.device->hold(true);
  pe.tell_to_evict(3);
  await("the write", [&] { return pe.device->under_way() == 1; });
  for (std::uint64_t i = 1; i <= 10; ++i) add(3, 40, i);
  hand(operation(Operation::Kind::get, 3, 40, 8));
  pe.ping();
  EXPECT_TRUE(pe.host.answers(0).empty());
  pe.device->hold(false);
  const auto answers = pe.host.answers(11);
  std::uint64_t sum = 70;
  for (std::uint64_t i = 1; i <= 10; sum += i++) EXPECT_EQ(answers[i - 1].old(), sum);
  std::uint64_t got = 0;
  std::memcpy(&got, answers[10].data.data(), sizeof got);
  EXPECT_EQ(got, sum);
}

// Whether the page had better stay where it is: somebody else has used it since the last operation of that
// node.
TEST_F(ForeignTest, AnswersSayWhetherOthersUseThePage) {
  add(3, 40, 1);  // the first
  add(3, 40, 1);
  EXPECT_EQ(pe.host.answers(2).at(1).answer.contended, 0U) << "nobody else";
  load(3);
  add(3, 40, 1);
  EXPECT_EQ(pe.host.answers(3).at(2).answer.contended, 1U) << "a thread of this node";
  add(3, 40, 1);
  EXPECT_EQ(pe.host.answers(4).at(3).answer.contended, 0U);
  Operation get = operation(Operation::Kind::get, 3, 40, 8);
  get.pe = 0;
  hand(get);
  EXPECT_EQ(pe.host.answers(5).at(4).answer.contended, 1U) << "another node's operation";
}

class OverwriteTest : public PagerTest {
 protected:
  void overwrite(PageNumber page, PageNumber last) const {
    Asked(pool, 0, 0, RangeCommand::overwrite, page, last).wait();
  }
};

TEST_F(OverwriteTest, WhatNobodyHasIsNotRead) {
  overwrite(3, 5);
  store(3, 70);
  EXPECT_EQ(latch(3)[6], 0U) << "nor what was there before";
  EXPECT_EQ(load(4), 0U);
  EXPECT_EQ(pe.count(Kind::read), 0);
  EXPECT_EQ(load(2), page_of(2));
  EXPECT_EQ(load(5), page_of(5));
  pe.evict(4);
  EXPECT_EQ(load(4), 0U) << "it is as it was seen";
  pe.evict(3);
  EXPECT_EQ(load(3), 70U) << "it has been written since";
  EXPECT_EQ(pe.count(Kind::read, 3), 1);
}

TEST_F(OverwriteTest, WhatIsInMemoryStays) {
  store(3, 70);
  EXPECT_EQ(load(4), page_of(4));
  overwrite(3, 5);
  EXPECT_EQ(load(3), 70U);
  EXPECT_EQ(load(4), page_of(4));
  pe.evict(3);
  EXPECT_EQ(load(3), 70U);
}

TEST_F(OverwriteTest, WaitsForWhatIsLeaving) {
  store(3, 70);
  pe.device->hold(true);
  pe.tell_to_evict(3);
  await("the write", [&] { return pe.device->under_way() == 1; });
  const Asked asked(pool, 0, 0, RangeCommand::overwrite, 3, 4);
  for (int i = 0; i < 100; ++i) pe.ping();
  EXPECT_FALSE(asked.done());
  pe.device->hold(false);
  asked.wait();
  EXPECT_EQ(load(3), 0U);
  EXPECT_EQ(pe.count(Kind::read, 3), 1) << "before it was written";
}

TEST_F(OverwriteTest, WhatIsInMemoryLeavesLast) {
  for (PageNumber page = 0; page < kPoolFrames; ++page) store(page, 70 + page);
  overwrite(0, 1);
  for (PageNumber page = kPoolFrames; page < kPoolFrames + 4; ++page) store(page, 70 + page);
  EXPECT_NE(state(0), invalid);
  EXPECT_EQ(state(1), invalid);
}

class DropTest : public PagerTest {
 protected:
  Asked drop(PageNumber page, PageNumber last) const {
    return Asked(pool, 0, 0, RangeCommand::drop, page, last);
  }
};

TEST_F(DropTest, ForgetsWithoutWriting) {
  for (PageNumber page = 2; page <= 6; ++page) store(page, 70);
  pe.ask(PageRequest::Kind::map, 4, Access::write).wait();
  const std::uint64_t occupied = pe.device->bytes_occupied();
  drop(3, 6).wait();
  EXPECT_EQ(pe.count(Kind::write), 0);
  EXPECT_EQ(pe.device->bytes_occupied(), occupied - 3 * kPageBytes);
  EXPECT_EQ(pe.host.mappings().back(), (Mapping{Mapping::none, 4, kNoFrame, 0}));
  EXPECT_EQ(pool.head().free.size, kPoolFrames - 2);
  for (PageNumber page = 3; page < 6; ++page) {
    EXPECT_EQ(state(page), invalid);
    EXPECT_EQ(load(page), 0U) << "a page that was never written";
  }
  EXPECT_EQ(load(2), 70U);
  EXPECT_EQ(load(6), 70U);
}

TEST_F(DropTest, WaitsForWhoIsCopying) {
  for (PageNumber page = 3; page < 6; ++page) store(page, 70);
  {
    const Latch here = latch(4);
    const Asked asked = drop(3, 6);
    for (int i = 0; i < 100; ++i) pe.ping();
    EXPECT_FALSE(asked.done());
    EXPECT_EQ(here[5], 70U);
    EXPECT_EQ(pool.word(4).frame(), here.frame());
    await("sleep", [] { return sleeps(pager_thread()); });  // nobody tells it of the end of a copy
    pool.word(4).unlatch();
    asked.wait();
    pool.word(4).open(exclusive, here.frame(), 1);  // for the end of `here`
  }
  pool.word(4).clear();
  EXPECT_EQ(pe.count(Kind::write), 0);
  EXPECT_EQ(load(4), 0U);
}

TEST_F(DropTest, WaitsForWhatIsUnderWay) {
  store(3, 70);
  pe.device->hold(true);
  pe.tell_to_evict(3);
  await("the write", [&] { return pe.device->under_way() == 1; });
  const Asked loading = pe.ask(PageRequest::Kind::latch, 4);
  const Asked asked = drop(3, 6);
  for (int i = 0; i < 100; ++i) pe.ping();
  EXPECT_FALSE(asked.done());
  pe.device->hold(false);
  EXPECT_EQ(word_in(pool, loading.wait().frame, 5), page_of(4));
  pool.word(4).unlatch();
  asked.wait();
  EXPECT_EQ(load(3), 0U);
  EXPECT_EQ(load(4), 0U);
}

TEST_F(PagerTest, SaysWhetherThereIsRoom) {
  Asked(pool, 0, 0, RangeCommand::drop, 8, kSegmentPages).wait();
  EXPECT_EQ(pe.device->bytes_occupied(), 8 * kPageBytes);
  pe.device->limit_room(12 * kPageBytes);
  EXPECT_TRUE(pe.room(8, 12));
  EXPECT_EQ(pe.device->bytes_occupied(), 12 * kPageBytes);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(pe.room(20, 22));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::MatchesRegex("atoll: cannot make room for 8192 bytes at offset 81920 .*\n"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_TRUE(pe.room(8, 12)) << "what has room has it still";
  EXPECT_EQ(load(20), 0U) << "it goes on";
}

// What is under way elsewhere holds nothing up.
TEST_F(PagerTest, RoomIsMadeWhenNoneOfItsPagesIsUnderWay) {
  pe.device->hold(true);
  const Asked loading = pe.ask(PageRequest::Kind::latch, 5);
  await("the read", [&] { return pe.device->under_way() == 1; });
  EXPECT_TRUE(pe.room(0, 5));
  EXPECT_TRUE(pe.room(6, 9));
  const Asked room(pool, 0, 0, RangeCommand::room, 5, 6);
  for (int i = 0; i < 100; ++i) pe.ping();
  EXPECT_FALSE(room.done());
  pe.device->hold(false);
  EXPECT_FALSE(room.wait().failed);
  loading.wait();
  pool.word(5).unlatch();
}

// Pages that are asked for before anybody needs them.
class AheadTest : public PagerTest {
 protected:
  void bring(PageNumber page) const {
    pool.requests_of(0).queue.post_hint({page, RequestQueue::What::bring});
  }
};

TEST_F(AheadTest, APageThatCannotBeReadIsLeftUntilItIsNeeded) {
  for (int round = 0; round < 2 * static_cast<int>(kPoolFrames); ++round) {
    pe.device->fail(Kind::read, 1, EIO, 100);
    bring(5);
    await("the read that fails", [&] { return pe.count(Kind::read) == round + 1; });
    await("its frame", [&] { return free_frames(pool) == kPoolFrames; });
  }
  EXPECT_EQ(state(5), invalid);
  EXPECT_EQ(load(5), page_of(5));
}

TEST_F(AheadTest, WhoNeedsThePageMeanwhileHasItReadAgain) {
  pe.device->hold(true);
  pe.device->fail(Kind::read, 1, EIO, 100);
  bring(5);
  await("the read that fails", [&] { return pe.device->under_way() == 1; });
  const Asked asked = pe.ask(PageRequest::Kind::latch, 5);
  pe.ping();
  pe.device->hold(false);
  EXPECT_EQ(word_in(pool, asked.wait().frame, 5), page_of(5));
  pool.word(5).unlatch();
  EXPECT_EQ(free_frames(pool), kPoolFrames - 1);
}

TEST_F(PagerTest, StopsWithTransfersAndWishesUnderWay) {
  store(3, 70);
  pe.device->hold(true);
  pe.tell_to_evict(3);
  const Asked asked = pe.ask(PageRequest::Kind::latch, 4);
  await("both transfers", [&] { return pe.device->under_way() == 2; });
  pe.pager->stop();
  pe.pager->stop();
  EXPECT_TRUE(asked.done()) << "nobody waits for ever";
}

// Pages that leave are written, which takes a while: not all of them go because one is wanted.
TEST(PageCacheRoomTest, NoOtherPageIsAskedToLeaveWhileOneIsWritten) {
  const PoolMemory memory(shape_of(1));
  const Pool& pool = memory.pool;
  Pe pe(pool);
  for (PageNumber page = 0; page < kPoolFrames; ++page) Latch(pool, 0, page, Access::write)[5] = page;
  pe.host.clock.stop();
  pe.device->hold(true);
  const Asked one = pe.ask(PageRequest::Kind::latch, 40);
  const auto expect_writes = [&](std::size_t n) {
    await("writes", [&] { return pe.device->under_way() >= n; });
    for (int i = 0; i < 10; ++i) {
      pe.host.clock.advance(std::chrono::milliseconds(10));
      pe.ping();
    }
    EXPECT_EQ(pe.device->under_way(), n);
  };
  expect_writes(1);
  const Asked another = pe.ask(PageRequest::Kind::latch, 50);
  expect_writes(2);
  pe.device->hold(false);
  for (const Asked* asked : {&one, &another}) asked->wait();
  pool.word(40).unlatch();
  pool.word(50).unlatch();
}

}  // namespace
}  // namespace shm::nvm

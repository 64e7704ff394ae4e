// SPDX-License-Identifier: BSD-3-Clause
// Pages move while the system is at work on files: making room, giving it back, making an object durable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include "pager_fixture.hpp"
#include "store_fixture.hpp"

namespace shm::nvm {
namespace {

class PagerCallsTest : public ::testing::Test {
 protected:
  static constexpr PageNumber kFirst = 20, kLast = 24;  // of a named object, and of ranges

  explicit PagerCallsTest(const TestDeviceOptions& options = {}) : pe(pool, 0, options) {}
  ~PagerCallsTest() override {
    if (pe.pager != nullptr) pe.device->hold_calls(false);
    if (file != nullptr) file->hold_calls(false);
  }
  Asked command(RangeCommand command, Store* object = nullptr, std::uint64_t number = 0) const {
    return Asked(pool, 0, 0,
                 [&](PageRequest& request) { fill_in(request, command, kFirst, kLast, object, number); });
  }
  Asked ask(PageNumber page, Access access = Access::read) const {
    return pe.ask(PageRequest::Kind::latch, page, access);
  }
  std::uint64_t load(PageNumber page) const { return Latch(pool, 0, page, Access::read)[5]; }
  void store(PageNumber page, std::uint64_t value) const { Latch(pool, 0, page, Access::write)[5] = value; }
  /// A new object, in which all is zero but page `marked`.
  Store* make_object(PageNumber marked = 0, const std::function<void()>& close = nullptr) {
    const Identity object = test_object(kLast - kFirst);
    auto made = std::make_unique<TestDevice>(TestDeviceOptions{.size = file_bytes(object), .close = close});
    file = made.get();
    auto store = expect_store(Store::make(std::move(made), "here", object));
    EXPECT_TRUE(store->begin_at(0).ok());
    if (marked != 0) {
      EXPECT_EQ(write_block(*store, marked - kFirst, 7), 0);
    }
    return store.release();
  }
  /// `asked` waits for a call of the device, and the page comes meanwhile.
  void expect_others_get_on(const TestDevice& device, const Asked& asked, PageNumber page) const {
    await("the call", [&] { return device.calls_held() == 1; });
    EXPECT_EQ(load(page), page_of(page));
    EXPECT_FALSE(asked.done());
  }

  PoolMemory memory{shape_of(1)};
  const Pool& pool = memory.pool;
  Pe pe;
  TestDevice* file = nullptr;  // of the object
};

TEST_F(PagerCallsTest, WhileRoomIsMade) {
  pe.device->hold_calls(true);
  const Asked room = command(RangeCommand::room);
  expect_others_get_on(*pe.device, room, 3);
  const Asked within = ask(kLast - 1);
  expect_others_get_on(*pe.device, room, 4);
  EXPECT_FALSE(within.done()) << "the file is being changed there";
  EXPECT_EQ(pe.device->under_way(), 0U);
  pe.device->hold_calls(false);
  EXPECT_FALSE(room.wait().failed);
  EXPECT_EQ(word_in(pool, within.wait().frame, 5), page_of(kLast - 1));
  pool.word(kLast - 1).unlatch();
}

TEST_F(PagerCallsTest, OneThatTakesLongIsNamedToWhoAsks) {
  answer_wait_questions(0, 1, 0, "");
  pe.device->hold_calls(true);
  const Asked room = command(RangeCommand::room);
  await("a second", [] {
    return answer_of_this_process().find("the NVM heap waits for its device") != std::string::npos;
  });
  pe.device->hold_calls(false);
  EXPECT_FALSE(room.wait().failed);
  await("the pager",
        [] { return answer_of_this_process().find("no thread waits in a call") != std::string::npos; });
}

TEST_F(PagerCallsTest, WhileRoomIsGivenBack) {
  store(kFirst, 7);
  pe.device->hold_calls(true);
  const Asked drop = command(RangeCommand::drop);
  expect_others_get_on(*pe.device, drop, 3);
  pe.device->hold_calls(false);
  drop.wait();
  EXPECT_EQ(load(kFirst), 0U);
}

// Pages beside those where the system is at work need not wait for it to lose their contents.
TEST_F(PagerCallsTest, OnlyPagesThereAreDroppedLater) {
  for (const PageNumber page : {kFirst - 1, kFirst, kLast - 1, kLast}) store(page, 7);
  pe.device->hold_calls(true);
  const Asked room = command(RangeCommand::room);
  await("the call", [&] { return pe.device->calls_held() == 1; });
  std::deque<Asked> drops;
  const PageNumber starts[] = {kFirst - 1, kLast - 1, kFirst - 2, kLast};
  for (const PageNumber first : starts) drops.emplace_back(pool, 0, 0, RangeCommand::drop, first, first + 2);
  for (const PageNumber page : {kFirst - 1, kLast})
    await("the end of a page", [&] { return pool.word(page).state() == PageState::invalid; });
  for (int i = 0; i < 10; ++i) pe.ping();
  for (const PageNumber page : {kFirst, kLast - 1}) EXPECT_EQ(pool.word(page).state(), PageState::modified);
  pe.device->hold_calls(false);
  EXPECT_FALSE(room.wait().failed);
  for (const Asked& drop : drops) drop.wait();
  for (const PageNumber page : {kFirst, kLast - 1}) EXPECT_EQ(load(page), 0U);
}

// Who comes while the pages become the object's sees the object.
TEST_F(PagerCallsTest, WhileAnObjectTakesThePlace) {
  store(kFirst + 1, 7);
  Store* object = make_object(kFirst + 1);
  pe.device->hold_calls(true);
  const Asked attach = command(RangeCommand::attach, object);
  expect_others_get_on(*pe.device, attach, 3);
  const Asked within = ask(kFirst + 1);
  expect_others_get_on(*pe.device, attach, 4);
  EXPECT_FALSE(within.done());
  pe.device->hold_calls(false);
  attach.wait();
  EXPECT_TRUE(block_holds(pool.bytes(within.wait().frame), 7));
  pool.word(kFirst + 1).unlatch();
}

TEST_F(PagerCallsTest, WhileAnObjectIsClosed) {
  std::atomic<bool> closes{false}, may_close{false};
  command(RangeCommand::attach, make_object(0,
                                            [&] {
                                              closes = true;
                                              may_close.wait(false);
                                            }))
      .wait();
  file = nullptr;
  const Asked drop = command(RangeCommand::drop);
  await("the end of the object", [&] { return closes.load(); });
  const Asked within = ask(kFirst + 1);
  EXPECT_EQ(load(3), page_of(3));
  EXPECT_FALSE(drop.done());
  EXPECT_FALSE(within.done());
  may_close = true;
  may_close.notify_one();
  drop.wait();
  EXPECT_EQ(word_in(pool, within.wait().frame, 5), 0U);
  pool.word(kFirst + 1).unlatch();
}

class SharedRoundsTest : public PagerCallsTest {
 protected:
  SharedRoundsTest() : PagerCallsTest({.never_blocks = true}) {}
};

TEST_F(SharedRoundsTest, EndWithAnObjectWhoseDeviceBlocks) {
  EXPECT_TRUE(pe.pager->shares_rounds());
  command(RangeCommand::attach, make_object(kFirst + 1)).wait();
  const Asked asked = ask(kFirst + 1);
  EXPECT_FALSE(pe.pager->shares_rounds());
  EXPECT_TRUE(block_holds(pool.bytes(asked.wait().frame), 7));
  pool.word(kFirst + 1).unlatch();
}

TEST_F(PagerCallsTest, WhileAnObjectIsMadeDurable) {
  command(RangeCommand::attach, make_object()).wait();
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    store(kFirst, 100 + epoch);
    file->hold_calls(true);
    const Asked persist = command(RangeCommand::persist, nullptr, epoch);
    expect_others_get_on(*file, persist, 2 * epoch);
    const Asked within = ask(kFirst + 1);
    expect_others_get_on(*file, persist, 2 * epoch + 1);
    EXPECT_EQ(load(kFirst), 100 + epoch) << "it is in memory";
    file->hold_calls(false);
    persist.wait();
    EXPECT_EQ(word_in(pool, within.wait().frame, 5), 0U);
    pool.word(kFirst + 1).unlatch();
    pe.evict(kFirst + 1);

    file->hold_calls(true);
    const Asked settle = command(RangeCommand::settle, nullptr, epoch);
    expect_others_get_on(*file, settle, 30 + epoch);
    file->hold_calls(false);
    settle.wait();
  }
}

// Of several callers each hears of his own call.
TEST_F(PagerCallsTest, OneCallAfterTheOther) {
  Asked(pool, 0, 0, RangeCommand::drop, 40, 42).wait();
  pe.device->limit_room(0);
  pe.device->hold_calls(true);
  const Asked none(pool, 0, 0, RangeCommand::room, 40, 42), some = command(RangeCommand::room);
  await("the call", [&] { return pe.device->calls_held() == 1; });
  ::testing::internal::CaptureStderr();
  pe.device->hold_calls(false);
  EXPECT_TRUE(none.wait().failed);
  EXPECT_FALSE(some.wait().failed);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::StartsWith("atoll: cannot make room"));
}

long naps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  long naps = -1;
  for (std::string word; status >> word;) {
    if (word == "voluntary_ctxt_switches:") status >> naps;
  }
  return naps;
}

// It is told of the end of the call, and need not look.
TEST_F(PagerCallsTest, ThePagerSleepsMeanwhile) {
  pe.device->hold_calls(true);
  const Asked room = command(RangeCommand::room);
  await("the call", [&] { return pe.device->calls_held() == 1; });
  const pid_t thread = pager_thread();
  await("sleep", [&] { return sleeps(thread); });
  const long before = naps_of(thread);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(naps_of(thread), before + 2);
  pe.device->hold_calls(false);
  room.wait();
}

// A call may end at any moment, also while the pager falls asleep.
TEST_F(PagerCallsTest, NoEndOfACallIsMissed) {
  for (int round = 0; round < 5000; ++round) {
    pe.device->slow_down_calls(std::chrono::nanoseconds(round * 10));
    command(RangeCommand::room).wait();
  }
}

TEST_F(PagerCallsTest, TheEndOfThePagerWaitsForTheCallThatIsBeingMade) {
  pe.device->hold_calls(true);
  const Asked room = command(RangeCommand::room), drop(pool, 0, 0, RangeCommand::drop, 40, 42);
  await("the call", [&] { return pe.device->calls_held() == 1; });
  pe.pager->stop();
  EXPECT_TRUE(room.done() && drop.done()) << "nobody waits for ever";
  EXPECT_EQ(pe.device->calls_held(), 1);
  std::thread later([&] { pe.device->hold_calls(false); });
  pe.pager.reset();
  later.join();
}

}  // namespace
}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
// How threads ask a pager, and how it learns of that: queues, hints and tickets of pages/requests.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <set>
#include <thread>
#include <vector>

#include "pages/pool.hpp"
#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

bool post(RequestQueue& inbox, PageNumber page) { return inbox.post_hint({page, RequestQueue::What::evict}); }
bool take(RequestQueue& inbox, PageNumber& page) {
  RequestQueue::Hint hint;
  if (!inbox.take_hint(hint)) return false;
  page = hint.page;
  return true;
}

using Clock = std::chrono::steady_clock;

TEST(RequestId, SaysWhatItWasMadeOf) {
  const RequestId id = request_id(123456, 63);
  EXPECT_EQ(node_rank_of(id), 123456);
  EXPECT_EQ(slot_of(id), 63U);
  EXPECT_NE(request_id(0, 0), 0U) << "which says that there is none";
}

PoolShape small_shape(int node_size = 1) { return {kPageBytes, 16, 64, node_size, node_size}; }

class RequestQueueTest : public ::testing::Test {
 protected:
  PoolMemory memory{small_shape()};
  RequestQueue& inbox{memory.pool.requests_of(0).queue};
};

TEST_F(RequestQueueTest, HandsOutInOrderOverManyLaps) {
  PageNumber page = 0;
  EXPECT_TRUE(inbox.empty());
  EXPECT_FALSE(take(inbox, page));
  std::uint64_t posted = 0, taken = 0;
  while (posted < 5 * RequestQueue::kHints) {
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(post(inbox, posted++));
    EXPECT_FALSE(inbox.empty());
    for (int i = 0; i < (posted % 3000 == 0 ? 1100 : 950) && take(inbox, page); ++i) ASSERT_EQ(page, taken++);
  }
  for (; take(inbox, page); ++taken) ASSERT_EQ(page, taken);
  EXPECT_EQ(taken, posted);
  EXPECT_TRUE(inbox.empty());
}

TEST_F(RequestQueueTest, RefusesWhatItHasNoRoomFor) {
  PageNumber page = 0;
  for (std::uint64_t lap = 0; lap < 3; ++lap) {
    SCOPED_TRACE(lap);
    for (std::uint64_t i = 0; i < RequestQueue::kHints; ++i) ASSERT_TRUE(post(inbox, i));
    EXPECT_FALSE(post(inbox, 7));
    ASSERT_TRUE(take(inbox, page));
    EXPECT_EQ(page, 0U);
    EXPECT_TRUE(post(inbox, RequestQueue::kHints));
    EXPECT_FALSE(post(inbox, 7));
    for (std::uint64_t i = 1; i <= RequestQueue::kHints; ++i) {
      ASSERT_TRUE(take(inbox, page));
      ASSERT_EQ(page, i) << "a refused hint lies here";
    }
    EXPECT_FALSE(take(inbox, page));
  }
}

// What is posted faster than it is taken: the inbox is full at times, and goes round several times.
TEST_F(RequestQueueTest, ManyProducersLoseNothingAndKeepTheirOrder) {
  constexpr std::uint64_t kProducers = 4, kEach = 3 * RequestQueue::kHints;
  std::atomic<bool> stop{false};
  std::vector<std::thread> producers;
  for (std::uint64_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (std::uint64_t i = 0; i < kEach && !stop.load();)
        post(inbox, p << 32 | i) ? void(++i) : void(sched_yield());
    });
  }
  std::array<std::uint64_t, kProducers> next{};
  std::uint64_t taken = 0;
  bool ordered = true;
  const auto limit = deadline();
  for (PageNumber page = 0; ordered && taken < kProducers * kEach && Clock::now() < limit;) {
    if (!take(inbox, page)) continue;
    const std::uint64_t producer = page >> 32;
    ordered = producer < kProducers && next[producer]++ == (page & 0xffffffff);
    ++taken;
  }
  stop.store(true);
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(ordered) << "after " << taken;
  EXPECT_EQ(taken, kProducers * kEach);
  EXPECT_TRUE(inbox.empty());
}

constexpr long kVeryLong = 10'000'000;  // microseconds: who sleeps so long was not woken

// Sleeps if there is nothing; returns whether it was woken in time.
bool sleep_for_note(RequestQueue& inbox) {
  const auto start = Clock::now();
  const std::uint32_t mark = inbox.listen();
  if (inbox.empty()) inbox.sleep(mark, kVeryLong);
  inbox.hear();
  return Clock::now() - start < std::chrono::microseconds(kVeryLong);
}

// Each hint comes about when the reader lies down.
TEST_F(RequestQueueTest, ASleepingReaderIsWoken) {
  constexpr std::uint64_t kRounds = 30000;
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> stop{false};
  std::thread producer([&] {
    std::minstd_rand random(1);
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      while (taken.load() < i && !stop.load()) sched_yield();
      for (auto pause = random() / 16 % 100; pause > 0; --pause) cpu_pause();
      post(inbox, i);
    }
  });
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < kRounds && lost == 0;) {
    PageNumber page = 0;
    if (!take(inbox, page)) {
      if (!sleep_for_note(inbox)) ++lost;
      continue;
    }
    ASSERT_EQ(page, i++);
    taken.store(i);
  }
  stop.store(true);
  producer.join();
  EXPECT_EQ(lost, 0U) << "after " << taken.load() << " hints";
}

TEST_F(RequestQueueTest, ARingEndsASleepThatHasNotBegun) {
  const auto start = Clock::now();
  const std::uint32_t mark = inbox.listen();
  inbox.ring();
  inbox.sleep(mark, kVeryLong);
  inbox.hear();
  EXPECT_LT(Clock::now() - start, std::chrono::microseconds(kVeryLong));
  EXPECT_TRUE(inbox.empty());
}

TEST_F(RequestQueueTest, ASleepEndsByItself) {
  const auto start = Clock::now();
  while (Clock::now() - start < std::chrono::milliseconds(5)) {
    const std::uint32_t mark = inbox.listen();
    inbox.sleep(mark, 1500);
    inbox.hear();
  }
  EXPECT_LT(Clock::now() - start, std::chrono::microseconds(kVeryLong));
}

// Of a pager that sleeps on it.
TEST_F(RequestQueueTest, ADoorbellIsRungWhileThePagerListens) {
  const int door = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ASSERT_TRUE(inbox.set_doorbell(door));
  eventfd_t rung = 0;
  inbox.ring();
  EXPECT_NE(eventfd_read(door, &rung), 0) << "the pager is awake";
  static_cast<void>(inbox.listen());
  inbox.ring();
  EXPECT_EQ(eventfd_read(door, &rung), 0);
  inbox.hear();
  inbox.remove_doorbell();
  static_cast<void>(inbox.listen());
  inbox.ring();
  EXPECT_NE(eventfd_read(door, &rung), 0) << "it has gone";
  inbox.hear();
  close(door);
}

TEST_F(RequestQueueTest, ThereAreDoorbellsForSixteenPagersOfAProcess) {
  std::deque<PoolMemory> others;
  for (int i = 0; i < 16; ++i)
    EXPECT_TRUE(others.emplace_back(small_shape()).pool.requests_of(0).queue.set_doorbell(99));
  EXPECT_FALSE(inbox.set_doorbell(99));
  for (PoolMemory& other : others) other.pool.requests_of(0).queue.remove_doorbell();
  EXPECT_TRUE(inbox.set_doorbell(99));
  inbox.remove_doorbell();
}

class TicketTest : public ::testing::Test {
 protected:
  // What a pager does: answers the request of each hint with its own numbers.
  static void answer(PageRequest& request) {
    EXPECT_NE(request.state.load(), PageRequest::kFree);
    EXPECT_NE(request.state.load(), PageRequest::kDone);
    request.frame = static_cast<FrameNumber>(request.page) + 1;
    complete(request);
  }
  // The next request that the PE at `node_rank` has been handed.
  bool take(int node_rank, PageRequest*& request) {
    std::deque<PageRequest*>& taken = taken_[static_cast<std::size_t>(node_rank)];
    if (taken.empty()) {
      for (RequestId id = memory.pool.requests_of(node_rank).queue.take_requests(); id != 0;
           id = taken.front()->next)
        taken.push_front(&memory.pool.requests_of(node_rank_of(id)).slots[slot_of(id)]);
    }
    if (taken.empty()) return false;
    request = taken.front();
    taken.pop_front();
    return true;
  }

  PoolMemory memory{small_shape(2)};

 private:
  std::array<std::deque<PageRequest*>, 2> taken_;
};

TEST_F(TicketTest, BringsARequestToAnotherPeAndItsAnswerBack) {
  std::thread pager([&] {
    PageRequest* request = nullptr;
    await("a request", [&] { return take(1, request); });
    EXPECT_EQ(request->page, 41U);
    answer(*request);
  });
  {
    const Ticket ticket(memory.pool, 0);
    EXPECT_FALSE(ticket.done());
    ticket.request().page = 41;
    ticket.post(1);
    ticket.wait();
    EXPECT_TRUE(ticket.done());
    EXPECT_EQ(ticket.request().frame, 42U);
  }
  pager.join();
  EXPECT_EQ(memory.pool.requests_of(0).used.load(), 0U);
  EXPECT_TRUE(memory.pool.requests_of(0).queue.empty());
  const Ticket next(memory.pool, 0);
  EXPECT_FALSE(next.done()) << "an answer was left in the slot";
}

TEST_F(TicketTest, AThreadThatSleepsIsWoken) {
  std::atomic<pid_t> id{0};
  std::atomic<bool> woken{false};
  std::thread waiting([&] {
    const Ticket ticket(memory.pool, 0);
    ticket.post(0);
    id.store(gettid());
    ticket.wait();
    woken.store(true);
  });
  PageRequest* request = nullptr;
  await("a request", [&] { return take(0, request); });
  await("sleep", [&] { return id.load() != 0 && sleeps(id.load()); });
  EXPECT_FALSE(woken.load());
  answer(*request);
  await("the end of the sleep", [&] { return woken.load(); });
  waiting.join();
}

// Its bell is a system call: none where nobody sleeps, one where somebody does.
TEST_F(TicketTest, ABellRingsOnlyForWhoSleeps) {
  const Ticket ticket(memory.pool, 0);
  const auto post_and_take = [&] {
    ticket.post(0);
    PageRequest* request = nullptr;
    EXPECT_TRUE(take(0, request));
  };
  const Ticket* const only = &ticket;
  post_and_take();
  answer(ticket.request());
  EXPECT_EQ(ticket.request().bell.load(), 0U) << "nobody has waited";
  Ticket::sleep({&only, 1}, -1);
  EXPECT_EQ(ticket.request().bell.load(), 0U) << "it was done";
  post_and_take();
  Ticket::sleep({&only, 1}, 1);
  answer(ticket.request());
  EXPECT_EQ(ticket.request().bell.load(), 0U) << "who slept is awake again";
  post_and_take();
  std::atomic<pid_t> id{0};
  std::thread waiting([&] {
    id.store(gettid());
    Ticket::sleep({&only, 1}, -1);
  });
  await("sleep", [&] { return id.load() != 0 && sleeps(id.load()); });
  answer(ticket.request());
  waiting.join();
  EXPECT_EQ(ticket.request().bell.load(), 1U);
}

// And no other thread of the PE.
TEST_F(TicketTest, AnyOfSeveralAnswersWakesTheThreadThatSleepsForThem) {
  const Ticket others(memory.pool, 0);
  others.post(0);
  std::atomic<pid_t> id{0};
  std::thread other([&] {
    id.store(gettid());
    others.wait();
  });
  await("sleep", [&] { return id.load() != 0 && sleeps(id.load()); });
  for (std::size_t which = 0; which < 3; ++which) {
    const Ticket first(memory.pool, 0), second(memory.pool, 0), third(memory.pool, 0);
    const std::array<const Ticket*, 3> all{&first, &second, &third};
    for (const Ticket* ticket : all) ticket->post(0);
    std::atomic<pid_t> sleeper{0};
    std::thread waiting([&] {
      sleeper.store(gettid());
      Ticket::sleep(all, -1);
    });
    await("sleep", [&] { return sleeper.load() != 0 && sleeps(sleeper.load()); });
    complete(all.at(which)->request());
    waiting.join();
    EXPECT_EQ(first.request().bell.load(), which + 1);
    for (const Ticket* ticket : all) {
      if (!ticket->done()) complete(ticket->request());
    }
    EXPECT_EQ(first.request().bell.load(), which + 1) << "it is awake";
  }
  EXPECT_EQ(others.request().bell.load(), 0U);
  complete(others.request());
  other.join();
}

// The answer comes at any moment of falling asleep.
TEST_F(TicketTest, NoAnswerIsMissedOnTheWayToSleep) {
  constexpr std::uint32_t kRounds = 20000;
  std::atomic<PageRequest*> asked{nullptr};
  std::atomic<bool> stop{false};
  std::thread pager([&] {
    std::minstd_rand random(1);
    while (!stop.load()) {
      PageRequest* request = asked.exchange(nullptr);
      if (request == nullptr) {
        sched_yield();
        continue;
      }
      for (auto pause = random() / 16 % 100; pause > 0; --pause) cpu_pause();
      complete(*request);
    }
  });
  const Ticket left(memory.pool, 0);  // not answered
  left.post(0);
  unsigned lost = 0;
  for (std::uint32_t i = 0; i < kRounds && lost == 0; ++i) {
    const Ticket ticket(memory.pool, 0);
    ticket.post(0);
    asked.store(&ticket.request());
    const std::array<const Ticket*, 2> both{&left, &ticket};
    const auto start = Clock::now();
    while (!ticket.done()) Ticket::sleep(both, kVeryLong);
    lost += Clock::now() - start >= std::chrono::microseconds(kVeryLong) ? 1U : 0U;
  }
  EXPECT_EQ(lost, 0U);
  stop.store(true);
  pager.join();
}

TEST_F(TicketTest, GivesEachWaitingThreadASlotOfItsOwn) {
  std::set<PageRequest*> requests;
  std::deque<Ticket> tickets;
  for (unsigned i = 0; i < PeRequests::kSlots; ++i)
    requests.insert(&tickets.emplace_back(memory.pool, 0).request());
  EXPECT_EQ(requests.size(), PeRequests::kSlots);
  EXPECT_EQ(memory.pool.requests_of(0).used.load(), ~std::uint64_t{0});
  PageRequest* first = &tickets.front().request();
  tickets.pop_front();
  EXPECT_EQ(&Ticket(memory.pool, 0).request(), first);
}

// The pager answers nothing before all slots are taken: then some threads wait for a slot.
TEST_F(TicketTest, MoreThreadsThanSlotsAllGetTheirAnswers) {
  constexpr unsigned kThreads = PeRequests::kSlots + 16, kRounds = 20;
  std::atomic<unsigned> made{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < kRounds; ++i) {
        const Ticket ticket(memory.pool, 0);
        made.fetch_add(1);
        ticket.request().page = t * kRounds + i;
        ticket.post(0);
        ticket.wait();
        if (ticket.request().frame != t * kRounds + i + 1) wrong.fetch_add(1);
      }
    });
  }
  std::vector<PageRequest*> first(PeRequests::kSlots);
  for (PageRequest*& request : first) await("all slots", [&] { return take(0, request); });
  EXPECT_EQ(made.load(), PeRequests::kSlots);
  EXPECT_TRUE(memory.pool.requests_of(0).queue.empty());
  for (PageRequest* request : first) answer(*request);
  for (unsigned i = PeRequests::kSlots; i < kThreads * kRounds; ++i) {
    PageRequest* request = nullptr;
    await("a request", [&] { return take(0, request); });
    answer(*request);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0U);
  EXPECT_EQ(memory.pool.requests_of(0).used.load(), 0U);
}

}  // namespace
}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
#include "pages/replacement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <thread>
#include <vector>

#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

using enum PageState;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr FrameNumber kFrames = 16;
constexpr std::uint64_t kPages = 64;

class ReplacementTest : public ::testing::Test {
 protected:
  // A page enters a free frame, which has its number if they enter in order.
  FrameNumber enter(PageNumber page, PageState state) {
    const FrameNumber frame = policy.take_free();
    EXPECT_NE(frame, kNoFrame);
    pool.word(page).open(state, frame);
    policy.enter(frame, page);
    return frame;
  }
  void fill(PageState state) {
    for (PageNumber page = 0; page < kFrames; ++page) ASSERT_EQ(enter(page, state), page);
  }
  void leave(FrameNumber frame) {
    policy.leave(frame);
    policy.give_free(frame);
  }
  void touch(FrameNumber frame) { pool.frame(frame).touched.store(1); }

  // A queue from its first frame to its last, if its links are in order.
  std::vector<FrameNumber> listed(const FrameQueue& queue) const {
    std::vector<FrameNumber> frames;
    FrameNumber before = kNoFrame;
    for (FrameNumber at = queue.first; at != kNoFrame && frames.size() <= kFrames; at = pool.frame(at).next) {
      EXPECT_EQ(pool.frame(at).prev, before);
      frames.push_back(before = at);
    }
    EXPECT_EQ(queue.last, before);
    EXPECT_EQ(queue.size, frames.size());
    return frames;
  }
  std::vector<FrameNumber> lru() const { return listed(pool.head().lru); }
  std::vector<FrameNumber> kept() const { return listed(pool.head().kept); }
  std::vector<FrameNumber> victims(std::size_t n) {
    std::vector<FrameNumber> all;
    while (all.size() < n) all.push_back(policy.victim());
    return all;
  }

  PoolMemory memory{{kPageBytes, kFrames, kPages, 1, 1}};
  const Pool& pool = memory.pool;
  Replacement policy{pool, ReplacementKind::vgasnet};
};

TEST_F(ReplacementTest, HandsOutEachFreeFrameOnce) {
  std::set<FrameNumber> taken;
  for (FrameNumber n = 0; n < kFrames; ++n) taken.insert(policy.take_free());
  EXPECT_EQ(taken.size(), kFrames);
  EXPECT_EQ(*taken.rbegin(), kFrames - 1);
  EXPECT_EQ(policy.take_free(), kNoFrame);
  EXPECT_EQ(policy.take_free(), kNoFrame);
  policy.give_free(5);
  policy.give_free(9);
  EXPECT_EQ(pool.head().free.size, 2U);
  std::set<FrameNumber> again{policy.take_free(), policy.take_free()};
  EXPECT_THAT(again, ElementsAre(5, 9));
  EXPECT_EQ(policy.take_free(), kNoFrame);
}

TEST_F(ReplacementTest, AnEmptyPoolHasNoVictim) { EXPECT_EQ(policy.victim(), kNoFrame); }

TEST_F(ReplacementTest, SharedPagesLeaveAtOnceInTheOrderOfComing) {
  fill(shared);
  for (FrameNumber n = 0; n < kFrames; ++n) EXPECT_EQ(policy.victim(), n);
  EXPECT_EQ(policy.victim(), kNoFrame) << "all are leaving";
  EXPECT_TRUE(kept().empty());
}

TEST_F(ReplacementTest, AUsedPageGetsASecondChance) {
  fill(shared);
  touch(0);
  touch(2);
  EXPECT_THAT(victims(3), ElementsAre(1, 3, 4));
  EXPECT_THAT(lru(), ElementsAreArray({2, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5})) << "to the front";
  EXPECT_EQ(pool.frame(0).touched.load(), 0) << "one chance for one use";
  for (const FrameNumber frame : {1U, 3U, 4U}) leave(frame);
  EXPECT_THAT(victims(13), ElementsAreArray({5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 2}));
}

TEST_F(ReplacementTest, APageThatIsAboutToBeUsedLeavesAfterAllOthers) {
  fill(exclusive);
  EXPECT_EQ(policy.victim(), 0);  // by way of `kept`
  policy.refresh(1, 1);           // in `kept`
  policy.refresh(14, 14);
  policy.refresh(0, 0);   // leaves
  policy.refresh(2, 20);  // another page
  const std::vector<FrameNumber> order = victims(kFrames - 1);
  EXPECT_EQ(order.front(), 2);
  EXPECT_THAT(std::vector(order.end() - 2, order.end()), ElementsAre(1, 14));
}

TEST_F(ReplacementTest, AVictimIsNotOfferedTwiceUnlessItIsSpared) {
  fill(shared);
  EXPECT_EQ(policy.victim(), 0U);
  EXPECT_EQ(policy.victim(), 1U);
  policy.spare(0, pool.frame(0).page.load() - 1);
  EXPECT_EQ(lru().front(), 0U);
  for (FrameNumber n = 2; n < kFrames; ++n) EXPECT_EQ(policy.victim(), n);
  EXPECT_EQ(policy.victim(), 0U) << "as if it had just come";
  EXPECT_EQ(policy.victim(), kNoFrame);
}

TEST_F(ReplacementTest, SolePagesAreKeptUntilTheyAreHalfThePool) {
  fill(exclusive);
  pool.word(3).open(modified, 3);
  EXPECT_EQ(policy.victim(), 0U);
  EXPECT_THAT(kept(), ElementsAre(8, 7, 6, 5, 4, 3, 2, 1));
  EXPECT_THAT(lru(), ElementsAre(15, 14, 13, 12, 11, 10, 9));
  leave(0);
  EXPECT_EQ(kept().size(), kFrames / 2) << "not too large any more";
  EXPECT_EQ(policy.victim(), 1U);
  EXPECT_THAT(kept(), ElementsAre(9, 8, 7, 6, 5, 4, 3, 2));
  EXPECT_EQ(policy.victim(), 2U);
  EXPECT_THAT(kept(), ElementsAre(10, 9, 8, 7, 6, 5, 4, 3));
}

TEST_F(ReplacementTest, PagesThatOthersHaveLeaveBeforeSoleOnes) {
  fill(exclusive);
  pool.word(5).open(shared, 5);
  pool.word(7).open(owned, 7);
  EXPECT_EQ(policy.victim(), 5U);
  EXPECT_THAT(kept(), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_EQ(policy.victim(), 7U);
  EXPECT_THAT(kept(), ElementsAre(6, 4, 3, 2, 1, 0));
}

TEST_F(ReplacementTest, AUsedPageLeavesTheQueueOfThoseThatAreKept) {
  fill(exclusive);
  EXPECT_EQ(policy.victim(), 0U);
  leave(0);
  touch(1);
  touch(3);
  // 1 goes to the LRU, which makes room there for 9, and so on.
  EXPECT_EQ(policy.victim(), 2U);
  EXPECT_EQ(lru().front(), 1U);
  EXPECT_THAT(kept(), ElementsAre(10, 9, 8, 7, 6, 5, 4, 3));
}

TEST_F(ReplacementTest, AFewSolePagesLeaveToo) {
  enter(0, exclusive);
  enter(1, modified);
  EXPECT_EQ(policy.victim(), 0U);
  leave(0);
  EXPECT_EQ(policy.victim(), 1U);
  EXPECT_EQ(policy.victim(), kNoFrame);
}

TEST_F(ReplacementTest, APageInheritsNoMarksFromTheOneBefore) {
  const FrameNumber frame = enter(0, shared);
  touch(frame);
  EXPECT_EQ(policy.victim(), frame);
  touch(frame);
  leave(frame);
  EXPECT_EQ(pool.frame(frame).page.load(), 0U);
  EXPECT_EQ(enter(1, shared), frame);
  EXPECT_EQ(pool.frame(frame).page.load(), 2U);
  EXPECT_EQ(enter(2, shared), 1U);
  EXPECT_EQ(policy.victim(), frame);
}

// The picture of replacement.hpp, with frames in plain lists.
class Model {
 public:
  std::deque<FrameNumber> lru, kept;  // the last is at the back
  std::deque<FrameNumber> leaving;
  std::vector<bool> sole, touched;
  std::size_t spared = 0;

  Model() : sole(kFrames), touched(kFrames) {}

  void enter(FrameNumber frame, bool is_sole) {
    sole[frame] = is_sole;
    touched[frame] = false;
    lru.push_front(frame);
  }
  void leave(FrameNumber frame) {
    spared = 0;
    std::erase(lru, frame);
    std::erase(kept, frame);
    std::erase(leaving, frame);
  }
  void spare(FrameNumber frame) {
    if (std::ranges::find(leaving, frame) == leaving.end()) return;
    std::erase(leaving, frame);
    lru.push_front(frame);
    ++spared;
  }
  std::optional<FrameNumber> victim() {
    for (std::size_t looks = 4 * kFrames; looks > 0 && !(lru.empty() && kept.empty()); --looks) {
      const bool from_kept =
          lru.empty() || kept.size() > kFrames / 2 || (spared > lru.size() && !kept.empty());
      std::deque<FrameNumber>& queue = from_kept ? kept : lru;
      const FrameNumber last = queue.back();
      queue.pop_back();
      if (!touched[last] && (from_kept || !sole[last])) {
        leaving.push_back(last);
        return last;
      }
      (touched[last] ? lru : kept).push_front(last);
      touched[last] = false;
    }
    return std::nullopt;
  }
};

class ReplacementAgainstModel : public ReplacementTest {
 protected:
  void step(std::mt19937_64& random) {
    const std::vector<FrameNumber> in = page_of();
    const FrameNumber any = in.empty() ? kNoFrame : in[random() % in.size()];
    const auto what = random() % 16;
    if (what < 5) return enter_any(random);
    if (in.empty()) return;
    if (what < 9) return offer();
    if (what < 12) {
      touch(any);
      model_.touched[any] = true;
    } else if (what < 13) {  // another node gets a copy, or loses it
      model_.sole[any] = random() % 2 == 0;
      pool.word(pool.frame(any).page.load() - 1).open(model_.sole[any] ? exclusive : shared, any);
    } else if (what < 14) {
      policy.spare(any, pool.frame(any).page.load() - 1);
      model_.spare(any);
    } else if (what >= 14) {
      leave_any(any);
    }
  }

  void compare() {
    EXPECT_THAT(lru(), ElementsAreArray(model_.lru));
    EXPECT_THAT(kept(), ElementsAreArray(model_.kept));
    EXPECT_EQ(pool.head().free.size + model_.lru.size() + model_.kept.size() + model_.leaving.size(),
              kFrames);
  }

 private:
  std::vector<FrameNumber> page_of() const {
    std::vector<FrameNumber> all(model_.lru.begin(), model_.lru.end());
    all.insert(all.end(), model_.kept.begin(), model_.kept.end());
    all.insert(all.end(), model_.leaving.begin(), model_.leaving.end());
    return all;
  }
  void enter_any(std::mt19937_64& random) {
    const FrameNumber frame = policy.take_free();
    EXPECT_EQ(frame == kNoFrame, page_of().size() == kFrames);
    if (frame == kNoFrame) return;
    const PageState states[] = {shared, owned, exclusive, modified};
    const PageState state = states[random() % 4];
    const PageNumber page = frame + kFrames * (random() % (kPages / kFrames));
    pool.word(page).open(state, frame);
    policy.enter(frame, page);
    model_.enter(frame, permits(state, Access::write));
  }
  void leave_any(FrameNumber frame) {
    pool.word(pool.frame(frame).page.load() - 1).clear();
    leave(frame);
    model_.leave(frame);
  }
  // Where most frames leave already, there may be a victim or not.
  void offer() {
    Model after = model_;
    const std::optional<FrameNumber> expected = after.victim();
    if (!expected) return;
    EXPECT_EQ(policy.victim(), *expected);
    model_ = after;
  }

  Model model_;
};

TEST_F(ReplacementAgainstModel, RandomOperationsAgree) {
  std::mt19937_64 random(seed_of_run());
  for (int i = 0; i < 50000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    step(random);
    compare();
  }
}

class TwoQueuesTest : public ReplacementTest {
 protected:
  // Brings the page; who is in the way leaves.
  void bring(PageNumber page) {
    if (pool.word(page).state() != PageState::invalid) return;
    FrameNumber frame = two.take_free();
    if (frame == kNoFrame) {
      frame = two.victim();
      pool.word(pool.frame(frame).page.load() - 1).clear();
      two.leave(frame);
    }
    ++loads;
    two.enter(frame, page);
    pool.word(page).open(PageState::exclusive, frame);
  }
  Replacement two{pool, ReplacementKind::two_queues};
  int loads = 0;
};

TEST_F(TwoQueuesTest, AScanLeavesMostOfThePoolInPlace) {
  constexpr PageNumber kData = 4 * kFrames;
  static_assert(kData <= kPages);
  for (int round = 0; round < 3; ++round) {
    for (PageNumber page = 0; page < kData; ++page) bring(page);
  }
  loads = 0;
  for (PageNumber page = 0; page < kData; ++page) bring(page);
  EXPECT_LT(loads, static_cast<int>(kData - kFrames / 2)) << "part of the data stays";
}

TEST_F(TwoQueuesTest, WhatIsUsedAgainReplacesWhatWasThereBefore) {
  for (PageNumber page = 0; page < kFrames; ++page) bring(page);
  for (int round = 0; round < 6; ++round) {
    for (PageNumber page = 0; page < kFrames * 3 / 4; ++page) bring(kFrames + page);
  }
  loads = 0;
  for (PageNumber page = 0; page < kFrames * 3 / 4; ++page) bring(kFrames + page);
  EXPECT_EQ(loads, 0) << "the new working set is in memory";
}

TEST_F(TwoQueuesTest, WhatWasBroughtAheadPassesOnceMore) {
  for (PageNumber page = 0; page < 2 * kFrames; ++page) bring(page);
  const FrameNumber last = pool.head().fifo.last;
  pool.frame(last).touched.store(kAhead);
  EXPECT_NE(two.victim(), last);
  EXPECT_EQ(pool.head().fifo.first, last);
}

TEST_F(TwoQueuesTest, APageOnTrialStaysIfItIsUsedAndElseLeaves) {
  for (PageNumber page = 0; page < 2 * kFrames; ++page) bring(page);
  const FrameNumber used = two.victim(), unused = two.victim();
  const PageNumber page = pool.frame(used).page.load() - 1;
  two.put_on_trial(used, page + 1);  // another page
  EXPECT_EQ(pool.head().trial.size, 0U);
  two.put_on_trial(used, page);
  two.put_on_trial(unused, pool.frame(unused).page.load() - 1);
  EXPECT_THAT(listed(pool.head().trial), ElementsAre(unused, used));
  two.recall(used, page + 1);  // another page
  EXPECT_EQ(pool.head().trial.size, 2U);
  two.recall(used, page);
  EXPECT_EQ(pool.head().lru.first, used);
  // Two of 16 frames may be on trial; the third makes the oldest leave.
  for (int i = 0; i < 2; ++i) {
    const FrameNumber next = two.victim();
    ASSERT_NE(next, unused) << i;
    two.put_on_trial(next, pool.frame(next).page.load() - 1);
  }
  EXPECT_EQ(two.victim(), unused);
}

TEST_F(TwoQueuesTest, WhereAllPagesAreOnTrialTheOldestLeaves) {
  for (PageNumber page = 0; page < 2; ++page) bring(page);
  for (PageNumber page = 0; page < 2; ++page) {
    const FrameNumber next = two.victim();
    two.put_on_trial(next, pool.frame(next).page.load() - 1);
  }
  EXPECT_EQ(two.victim(), 0U);
  EXPECT_EQ(two.victim(), 1U);
  EXPECT_EQ(two.victim(), kNoFrame);
}

// Whether it was used once or often while it was new: only what comes back stays.
TEST_F(TwoQueuesTest, WhatIsUsedOnlyWhileItIsNewPassesThrough) {
  for (PageNumber page = 0; page < 2 * kFrames; ++page) bring(page);
  for (const std::uint8_t how : {kTouched, kOperated}) {
    const FrameNumber last = pool.head().fifo.last;
    pool.word(pool.frame(last).page.load() - 1).open(PageState::shared, last);
    pool.frame(last).touched.store(how);
    EXPECT_EQ(two.victim(), last);
    two.spare(last, pool.frame(last).page.load() - 1);
    bring(2 * kFrames + how);  // another new one in its place
  }
}

// What another node takes a copy of makes room for what nobody else has.
TEST_F(TwoQueuesTest, CopiesThatOthersTakeAddToTheShareOfSolePages) {
  for (PageNumber page = 0; page < kFrames; ++page) bring(page);
  EXPECT_EQ(pool.head().kept_share, 0U);
  two.share(0);
  EXPECT_EQ(pool.head().kept_share, 8U);
  pool.word(0).open(PageState::shared, 0);
  two.share(0);
  EXPECT_EQ(pool.head().kept_share, 8U) << "others had it before";
  two.mark_last_copy(0);
  two.share(0);
  EXPECT_EQ(pool.head().kept_share, kFrames - kFrames / 8) << "it was the last copy again";
  EXPECT_EQ(two.victim(), 0U) << "copies that others have leave first";
  EXPECT_TRUE(kept().empty());
  EXPECT_NE(two.victim(), kNoFrame);
  EXPECT_EQ(kept().size(), kFrames - kFrames / 8);
}

TEST_F(TwoQueuesTest, TheShareOfSolePagesIsNeverAllOfThePool) {
  bring(0);
  for (FrameNumber n = 0; n < 2 * kFrames; ++n) two.share(0);
  EXPECT_EQ(pool.head().kept_share, kFrames - kFrames / 8);
}

TEST_F(TwoQueuesTest, APageThatComesBackSoonTakesAFrameFromSolePages) {
  for (PageNumber page = 0; page < kFrames; ++page) bring(page);
  two.share(0);
  bring(kFrames);
  const auto gone =
      std::ranges::find_if(std::views::iota(PageNumber{0}, PageNumber{kFrames}),
                           [&](PageNumber page) { return pool.word(page).state() == PageState::invalid; });
  bring(*gone);
  EXPECT_EQ(pool.head().kept_share, 7U);
}

// Pagers share the queues: a frame has one user at a time, and none gets lost.
TEST_F(ReplacementTest, FramesHaveOneUserAtATime) {
  constexpr unsigned kThreads = 4;
  std::vector<std::atomic<int>> users(kFrames);
  std::atomic<int> broken{0}, evicted{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(t + 1);
      Replacement mine(pool, ReplacementKind::vgasnet);
      for (int i = 0; i < 20000; ++i) {
        FrameNumber frame = mine.take_free();
        if (frame == kNoFrame) {
          frame = mine.victim();
          if (frame == kNoFrame) continue;
          if (random() / 16 % 4 == 0) {
            mine.spare(frame, pool.frame(frame).page.load() - 1);
            continue;
          }
          mine.leave(frame);
          evicted.fetch_add(1);
        }
        broken += users[frame].fetch_add(1);
        pool.word(frame).open(random() / 16 % 2 == 0 ? exclusive : shared, frame);
        broken += users[frame].fetch_sub(1) - 1;
        mine.enter(frame, frame);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken.load(), 0);
  EXPECT_GT(evicted.load(), 0);
  EXPECT_EQ(lru().size() + kept().size() + pool.head().free.size, kFrames);
}

}  // namespace
}  // namespace shm::pages

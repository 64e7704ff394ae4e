// SPDX-License-Identifier: BSD-3-Clause
// Pagers with more pages than frames and many who want them, against a model.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

// A thread's accesses to random pages of all PEs of the pool, each checked.  Word 0 of a page stays
// original; of the others each worker has one.
class CrowdWorker {
 public:
  CrowdWorker(const Pool& pool, int node_rank, std::size_t word, std::uint64_t seed)
      : pool_(pool), node_rank_(node_rank), word_(word), random_(seed + word) {
    const auto pages = kSegmentPages * static_cast<std::uint64_t>(pool.shape().node_size);
    for (PageNumber page = 0; page < pages; ++page) expected_.push_back(page_of(page));
  }

  // Returns how much was found that should not be there.
  int run(int accesses) {
    for (int i = 0; i < accesses && wrong_ == 0; ++i) {
      const PageNumber page = random_() % expected_.size(), other = random_() % expected_.size();
      const bool writes = random_() % 3 == 0;
      const Latch latch(pool_, node_rank_, page, writes ? Access::write : Access::read);
      check(page, latch);
      if (writes) latch[word_] = ++expected_[page];
      if (random_() % 4 == 0 && other != page) check(other, Latch(pool_, node_rank_, other, Access::read));
      check(page, latch);
    }
    return wrong_;
  }

  // All pages, once more.
  int check_all() {
    for (PageNumber page = 0; page < expected_.size(); ++page)
      check(page, Latch(pool_, node_rank_, page, Access::read));
    return wrong_;
  }

 private:
  void check(PageNumber page, const Latch& latch) {
    if (latch[0] != page_of(page) || latch[word_] != expected_[page]) ++wrong_;
  }

  const Pool& pool_;
  const int node_rank_;
  const std::size_t word_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> expected_;  // in the word of this worker
  int wrong_ = 0;
};

constexpr int kAccesses = 5000;  // of each worker

// Threads of the PEs of a node with random pages of all of them, and operations of other nodes.
class Crowd {
 public:
  explicit Crowd(int pes) : memory_(shape_of(pes)), seed_(seed_of_run()) {
    for (int me = 0; me < pes; ++me)
      pes_.emplace_back(memory_.pool, me, TestDeviceOptions{.seed = seed_, .lazy_percent = 30}, 2);
  }

  void run(std::size_t threads) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> running;
    std::vector<CrowdWorker> workers;
    for (std::size_t t = 0; t < threads; ++t)
      workers.emplace_back(memory_.pool, static_cast<int>(t % pes_.size()), t + 2, seed_);
    for (CrowdWorker& worker : workers) running.emplace_back([&] { wrong += worker.run(kAccesses); });
    add_from_far();
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(wrong.load(), 0);
    for (CrowdWorker& worker : workers) EXPECT_EQ(worker.check_all(), 0);
    check_what_came_from_far();
    for (const Pe& pe : pes_) EXPECT_GT(pe.count(Kind::write), 0);
    // What is read ahead, or leaves, still has one.
    await("all frames to be in a queue, or free", [&] {
      PoolHead& head = memory_.pool.head();
      const std::scoped_lock guard(head.lock);
      return head.lru.size + head.fifo.size + head.kept.size + head.free.size == kPoolFrames;
    });
  }

 private:
  static constexpr std::uint64_t kAdds = 500;

  // Adds to word 1 of random pages.
  void add_from_far() {
    std::mt19937_64 random(seed_);
    added_.assign(pes_.size() * kSegmentPages, 0);
    for (std::uint64_t i = 0; i < kAdds; ++i) {
      Operation add{};
      add.pe = kStranger;
      add.page = random() % added_.size();
      add.offset = 8;
      add.kind = Operation::Kind::amo;
      add.op = AtomicOp::add;
      add.type = AtomicType::u64;
      add.value = random() % 100;
      added_[add.page] += add.value;
      Pe& home = pes_[add.page / kSegmentPages];
      home.pager->hand(reinterpret_cast<const std::byte*>(&add), sizeof add);
    }
    await("all answers", [&] {
      std::size_t answers = 0;
      for (const Pe& pe : pes_) answers += pe.host.count_answers();
      return answers == kAdds;
    });
  }
  void check_what_came_from_far() const {
    for (PageNumber page = 0; page < added_.size(); ++page)
      EXPECT_EQ(Latch(memory_.pool, 0, page, Access::read)[1], page_of(page) + added_[page]) << page;
  }

  PoolMemory memory_;
  const std::uint64_t seed_;
  std::deque<Pe> pes_;
  std::vector<std::uint64_t> added_;  // to each page
};

TEST(PagerCrowd, ManyThreadsAndMorePagesThanFrames) { Crowd(1).run(4); }

TEST(PagerCrowd, PagersOfTwoPesCompeteForFrames) { Crowd(2).run(4); }

TEST(PagerPair, APagerGetsTheFramesOfAnother) {
  const PoolMemory memory(shape_of(2));
  const Pool& pool = memory.pool;
  const Pe first(pool, 0), second(pool, 1);
  for (PageNumber page = 0; page < kPoolFrames; ++page) Latch(pool, 0, page, Access::write)[1] = page;
  EXPECT_EQ(pool.head().free.size, 0U);
  for (std::uint64_t i = 0; i < kPoolFrames; ++i)
    EXPECT_EQ(Latch(pool, 0, second.number(i), Access::read)[1], page_of(second.number(i)));
  EXPECT_GT(first.count(Kind::write), 0);
  EXPECT_EQ(second.count(Kind::write), 0);
  for (PageNumber page = 0; page < kPoolFrames; ++page)
    EXPECT_EQ(Latch(pool, 1, page, Access::read)[1], page) << "asked for by the other PE";
}

// As in a job: waits must end across processes too.
TEST(PagerPair, InProcessesOfTheirOwn) {
  struct Meeting {
    std::atomic<int> started, finished;
  };
  const PoolMemory memory(shape_of(2));
  auto& meeting = test::shared_object<Meeting>();
  const std::uint64_t seed = seed_of_run();
  test::run_processes(
      2,
      [&](int me) {
        const Pe pe(memory.pool, me);
        CrowdWorker worker(memory.pool, me, static_cast<std::size_t>(me) + 1, seed);
        ++meeting.started;
        await("the other PE", [&] { return meeting.started.load() == 2; });
        EXPECT_EQ(worker.run(kAccesses), 0);
        EXPECT_EQ(worker.check_all(), 0);
        ++meeting.finished;
        await("the other PE", [&] { return meeting.finished.load() == 2; });
        return true;
      },
      30);
}

}  // namespace
}  // namespace shm::nvm

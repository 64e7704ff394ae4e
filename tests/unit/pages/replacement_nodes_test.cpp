// SPDX-License-Identifier: BSD-3-Clause
// Replacement on several nodes that read the same pages: how many are read from the device.
#include "pages/replacement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

// Nodes that read pages of one home: what nobody has comes from its device, all else from each other.
class Cluster {
 public:
  explicit Cluster(int nodes) {
    for (int n = 0; n < nodes; ++n) nodes_.push_back(std::make_unique<Node>());
  }
  void get(int n, PageNumber page) {
    Node& node = *nodes_[static_cast<std::size_t>(n)];
    PageWord& word = node.pool.word(page);
    ++gets_;
    if (word.state() != PageState::invalid) {
      node.pool.frame(word.frame()).touched.store(kTouched);
      return;
    }
    const std::vector<int> holders = holders_of(page);
    reads_ += holders.empty();
    for (const int holder : holders) {
      Node& other = *nodes_[static_cast<std::size_t>(holder)];
      const FrameNumber frame = other.pool.word(page).frame();
      other.policy.share(frame);
      other.pool.word(page).open(PageState::shared, frame);
    }
    const FrameNumber frame = free_frame(n);
    node.policy.enter(frame, page);
    word.open(holders.empty() ? PageState::exclusive : PageState::shared, frame);
  }
  /// From the device, of all gets so far.
  double reads_per_get() const { return static_cast<double>(reads_) / gets_; }
  void reset() { reads_ = gets_ = 0; }

 private:
  struct Node {
    PoolMemory memory{{kPageBytes, kClusterFrames, kClusterPages, 1, 1}};
    const Pool& pool = memory.pool;
    Replacement policy{pool, ReplacementKind::two_queues};
  };
  std::vector<int> holders_of(PageNumber page) const {
    std::vector<int> all;
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      if (nodes_[static_cast<std::size_t>(n)]->pool.word(page).state() != PageState::invalid)
        all.push_back(n);
    }
    return all;
  }
  FrameNumber free_frame(int n) {
    Node& node = *nodes_[static_cast<std::size_t>(n)];
    FrameNumber frame = node.policy.take_free();
    if (frame != kNoFrame) return frame;
    frame = node.policy.victim();
    const PageNumber page = node.pool.frame(frame).page.load() - 1;
    node.pool.word(page).clear();
    node.policy.leave(frame);
    if (const std::vector<int> left = holders_of(page); left.size() == 1) {
      Node& last = *nodes_[static_cast<std::size_t>(left.front())];
      last.policy.mark_last_copy(last.pool.word(page).frame());
    }
    return frame;
  }

 public:
  static constexpr FrameNumber kClusterFrames = 64;
  static constexpr PageNumber kClusterPages = std::uint64_t{16} * kClusterFrames;

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  int reads_ = 0, gets_ = 0;
};

// Each reads 4 times what it has memory for, in an order of its own; again and again.
double reads_per_random_get(int readers, int passes, std::mt19937_64& random) {
  Cluster cluster(readers);
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<std::vector<PageNumber>> orders(static_cast<std::size_t>(readers));
    for (std::vector<PageNumber>& order : orders) {
      for (PageNumber page = 0; page < 4 * Cluster::kClusterFrames; ++page) order.push_back(page);
      std::ranges::shuffle(order, random);
    }
    cluster.reset();
    for (std::size_t i = 0; i < orders[0].size(); ++i) {
      for (int n = 0; n < readers; ++n) cluster.get(n, orders[static_cast<std::size_t>(n)][i]);
    }
  }
  return cluster.reads_per_get();
}

// The mean of so many runs that the dice do not matter.
double reads_per_random_get(int readers, int passes) {
  constexpr int kRuns = 20;
  std::mt19937_64 random(seed_of_run());
  double sum = 0;
  for (int run = 0; run < kRuns; ++run) sum += reads_per_random_get(readers, passes, random);
  return sum / kRuns;
}

// Each page has to be read once: 1 / readers of the gets in the first pass.
TEST(TwoQueuesOfSeveralNodes, ReadFromTheDeviceOnlyWhatFitsNowhere) {
  EXPECT_LT(reads_per_random_get(2, 1), 0.80);
  EXPECT_LT(reads_per_random_get(4, 1), 0.36);
  EXPECT_LT(reads_per_random_get(8, 1), 0.14);
  EXPECT_LT(reads_per_random_get(2, 3), 0.70);
  EXPECT_LT(reads_per_random_get(4, 3), 0.20);
  EXPECT_LT(reads_per_random_get(8, 3), 0.02);
}

// Pools are full of pages that came back soon again and again, so nothing is kept for others; then all read
// the same.
TEST(TwoQueuesOfSeveralNodes, LearnWithinOnePass) {
  constexpr int kReaders = 4;
  double reads = 0;
  std::mt19937_64 random(seed_of_run());
  constexpr int kRuns = 20;
  for (int run = 0; run < kRuns; ++run) {
    Cluster cluster(kReaders);
    constexpr PageNumber kData = 4 * Cluster::kClusterFrames;
    for (int round = 0; round < 8; ++round) {
      for (int n = 0; n < kReaders; ++n) {
        for (PageNumber page = 0; page < Cluster::kClusterFrames; ++page)
          cluster.get(n, kData + static_cast<PageNumber>(2 * n + round / 4) * Cluster::kClusterFrames + page);
      }
    }
    cluster.reset();
    std::vector<std::vector<PageNumber>> orders(kReaders);
    for (std::vector<PageNumber>& order : orders) {
      for (PageNumber page = 0; page < kData; ++page) order.push_back(page);
      std::ranges::shuffle(order, random);
    }
    for (std::size_t i = 0; i < kData; ++i) {
      for (int n = 0; n < kReaders; ++n) cluster.get(n, orders[static_cast<std::size_t>(n)][i]);
    }
    reads += cluster.reads_per_get();
  }
  EXPECT_LT(reads / kRuns, 0.45);
}

// What a node has in long use, beside data that it reads with another one from their beginning to their end.
TEST(TwoQueuesOfSeveralNodes, ResistScansOfSeveral) {
  Cluster cluster(2);
  std::mt19937_64 random(seed_of_run());
  constexpr PageNumber kHot = Cluster::kClusterFrames / 2, kScanned = 8 * Cluster::kClusterFrames;
  for (PageNumber i = 0; i < 4 * kScanned; ++i) {
    for (int n = 0; n < 2; ++n) {
      cluster.get(n, static_cast<PageNumber>(n) * kHot + random() % kHot);
      cluster.get(n, 2 * kHot + (i + static_cast<PageNumber>(n) * 10) % kScanned);
    }
  }
  cluster.reset();
  for (PageNumber page = 0; page < kHot; ++page) cluster.get(0, page);
  EXPECT_LT(cluster.reads_per_get(), 0.01);
}

// A node that reads much that nobody else wants keeps what it has in long use.
TEST(TwoQueuesOfSeveralNodes, ResistScans) {
  Cluster cluster(2);
  std::mt19937_64 random(seed_of_run());
  constexpr PageNumber kHot = Cluster::kClusterFrames / 2, kScanned = 8 * Cluster::kClusterFrames;
  for (PageNumber i = 0; i < 4 * kScanned; ++i) {
    cluster.get(0, random() % kHot);
    cluster.get(0, kHot + i % kScanned);
  }
  cluster.reset();
  for (PageNumber page = 0; page < kHot; ++page) cluster.get(0, page);
  EXPECT_LT(cluster.reads_per_get(), 0.1) << "a third would have left as least recently used";
}

}  // namespace
}  // namespace shm::pages

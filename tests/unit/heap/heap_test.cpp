// SPDX-License-Identifier: BSD-3-Clause
#include "heap/heap.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace shm {
namespace {

constexpr std::size_t kLimit = std::size_t{16} << 20;
constexpr std::size_t kRange = 2 * kLimit;
constexpr std::size_t kPage = 4096;

class HeapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* at =
        mmap(nullptr, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    base = static_cast<std::byte*>(at);
    madvise(base, kRange, MADV_NOHUGEPAGE);  // or one touched byte makes 512 pages resident
    auto made = HeapAllocator::create(base, kRange, kLimit);
    ASSERT_TRUE(made.ok()) << made.status().text();
    heap = std::move(made.value());
  }
  void TearDown() override {
    heap.reset();
    munmap(base, kRange);
  }

  std::size_t resident_pages() const {
    std::vector<unsigned char> pages(kRange / kPage);
    EXPECT_EQ(mincore(base, kRange, pages.data()), 0);
    std::size_t count = 0;
    for (unsigned char page : pages) count += page & 1U;
    return count;
  }

  // Allocates blocks of `size` until there is no room.
  std::vector<std::size_t> exhaust(std::size_t size) {
    std::vector<std::size_t> blocks;
    while (const auto block = heap->allocate(size, 16)) blocks.push_back(*block);
    return blocks;
  }

  std::byte* base = nullptr;
  std::unique_ptr<HeapAllocator> heap;
};

TEST_F(HeapTest, AlignsAsAsked) {
  for (std::size_t alignment = 16; alignment <= (std::size_t{1} << 20); alignment *= 2) {
    for (std::size_t size : {std::size_t{1}, std::size_t{100}, alignment, alignment + 1}) {
      const auto block = heap->allocate(size, alignment);
      ASSERT_TRUE(block.has_value()) << size << " bytes at " << alignment;
      EXPECT_EQ((reinterpret_cast<std::uintptr_t>(base) + *block) % std::min(alignment, kPage), 0U);
      EXPECT_EQ(*block % 16, 0U);
      heap->release(*block);
    }
  }
}

TEST_F(HeapTest, TouchesNoPageOfItsOwnAccord) {
  for (std::size_t size : {8, 64, 1000, 5000, 70000, 1 << 20}) {
    const auto block = heap->allocate(size, 16);
    ASSERT_TRUE(block.has_value());
    if (size > 1000) heap->release(*block);
  }
  EXPECT_EQ(resident_pages(), 0U) << "metadata in the heap, or memory committed before it is used";
}

TEST_F(HeapTest, GivesOutTheWholeLimitInOneBlock) {
  const auto block = heap->allocate(kLimit, 16);
  ASSERT_TRUE(block.has_value());
  EXPECT_LE(*block + kLimit, kRange);
  EXPECT_FALSE(heap->allocate(1, 16).has_value()) << "the limit is a limit";
  heap->release(*block);
  EXPECT_TRUE(heap->allocate(kLimit, 16).has_value());
}

TEST_F(HeapTest, StaysUsableAfterExhaustion) {
  for (std::size_t size : {std::size_t{48}, std::size_t{3000}, std::size_t{100000}, kLimit / 3}) {
    const std::vector<std::size_t> blocks = exhaust(size);
    EXPECT_LE(blocks.size() * size, kLimit);
    EXPECT_GE(blocks.size() * size, kLimit / 2) << "too much was lost to fragmentation, size " << size;
    EXPECT_EQ(heap->bytes_in_use(), blocks.size() * size);
    for (std::size_t block : blocks) heap->release(block);
    EXPECT_EQ(heap->bytes_in_use(), 0U);
  }
}

TEST_F(HeapTest, RefusesSizesThatOverflow) {
  for (std::size_t size : {kLimit + 1, SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2}) {
    EXPECT_FALSE(heap->allocate(size, 16).has_value()) << size;
  }
  const auto block = heap->allocate(100, 16);
  EXPECT_FALSE(heap->resize(*block, SIZE_MAX));
  EXPECT_EQ(heap->size_at(*block), 100U);
}

TEST_F(HeapTest, GrowsInPlaceWhileTheLimitLetsIt) {
  const auto block = heap->allocate(kLimit / 2, kPage);
  ASSERT_TRUE(block.has_value());
  EXPECT_FALSE(heap->resize(*block, kLimit + 1)) << "there is room behind it, but not that much is allowed";
  EXPECT_EQ(heap->size_at(*block), kLimit / 2);
  ASSERT_TRUE(heap->resize(*block, kLimit));
  EXPECT_EQ(heap->bytes_in_use(), kLimit);
  EXPECT_FALSE(heap->allocate(1, 16).has_value()) << "the limit counts what has grown";
  ASSERT_TRUE(heap->resize(*block, kLimit - 100));
  EXPECT_TRUE(heap->allocate(100, 16).has_value()) << "and what has shrunk";
}

// Addresses of which some are aligned, to be a heap's range.
class HeapRange : public ::testing::Test {
 protected:
  static constexpr std::size_t kAlignment = std::size_t{2} << 20;

  void SetUp() override {
    at_ = mmap(nullptr, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(at_, MAP_FAILED);
    aligned = (reinterpret_cast<std::uintptr_t>(at_) + kAlignment - 1) / kAlignment * kAlignment;
  }
  ~HeapRange() override {
    heap.reset();
    munmap(at_, kRange);
  }
  void create(std::uintptr_t start, std::uintptr_t end) {
    auto made = HeapAllocator::create(reinterpret_cast<std::byte*>(start), end - start, end - start);
    ASSERT_TRUE(made.ok());
    heap = std::move(made.value());
  }

  std::uintptr_t aligned = 0;
  std::unique_ptr<HeapAllocator> heap;

 private:
  void* at_ = nullptr;
};

// The range has no more than the block, what its alignment skips, and a page that the allocator adds: so it
// is not cut out of more.
TEST_F(HeapRange, IsCarvedAsAligned) {
  const std::uintptr_t start = aligned + 2 * kPage, end = aligned + 2 * kAlignment + kPage;
  ASSERT_NO_FATAL_FAILURE(create(start, end));
  const auto block = heap->allocate(kAlignment, kAlignment);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(start + *block, aligned + kAlignment);
}

// What is aligned may begin behind the end of the range.
TEST_F(HeapRange, HasNoRoomBehindItsEnd) {
  const std::uintptr_t start = aligned + kPage, end = aligned + kAlignment / 2;
  ASSERT_NO_FATAL_FAILURE(create(start, end));
  EXPECT_FALSE(heap->allocate(2 * kPage, kAlignment).has_value());
  EXPECT_EQ(heap->bytes_in_use(), 0U);
  const auto block = heap->allocate(2 * kPage, kPage);
  ASSERT_TRUE(block.has_value());
  EXPECT_LE(start + *block + 2 * kPage, end);
}

TEST_F(HeapTest, KnowsStartsOfBlocksOnly) {
  const auto block = heap->allocate(100, 16);
  EXPECT_EQ(heap->size_at(*block), 100U);
  EXPECT_FALSE(heap->size_at(*block + 16).has_value());
  heap->release(*block);
  EXPECT_FALSE(heap->size_at(*block).has_value());
}

// One after the other, as programs do that start the library again and again: none takes anything along.
TEST_F(HeapTest, ComesAndGoesMoreOftenThanThereAreArenas) {
  for (int i = 0; i < 5000; ++i) {
    heap.reset();
    auto made = HeapAllocator::create(base, kRange, kLimit);
    ASSERT_TRUE(made.ok()) << i << ": " << made.status().text();
    heap = std::move(made.value());
  }
  EXPECT_TRUE(heap->allocate(100, 16).has_value());
}

TEST_F(HeapTest, TwoHeapsDoNotMix) {
  void* at =
      mmap(nullptr, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  auto other = HeapAllocator::create(static_cast<std::byte*>(at), kRange, kLimit);
  ASSERT_TRUE(other.ok());
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(*heap->allocate(1000, 16), kRange);
    EXPECT_LT(*other.value()->allocate(1000, 16), kRange);
  }
  other.value().reset();
  munmap(at, kRange);
}

// Random operations against a list of what is allocated.  Each block is filled with its number, so that
// overlaps and blocks that lose their contents show.
class Model {
 public:
  Model(HeapAllocator& heap, std::byte* base) : heap_(heap), base_(base) {}

  void step() {
    const unsigned choice = random_() % 4;
    if (choice < 2 || blocks_.empty()) return allocate();
    auto block = blocks_.begin();
    std::advance(block, random_() % blocks_.size());
    if (choice == 2) return release(block);
    resize(block);
  }

  std::size_t bytes() const { return bytes_; }
  bool empty() const { return blocks_.empty(); }
  void release_all() {
    while (!blocks_.empty()) release(blocks_.begin());
  }

 private:
  struct Block {
    std::size_t size;
    unsigned char fill;
  };
  using Blocks = std::map<std::size_t, Block>;

  std::size_t random_size() {
    static constexpr std::size_t kMost[] = {16, 200, 5000, 300000};
    return 1 + random_() % kMost[random_() % 4];
  }

  void allocate() {
    const std::size_t size = random_size();
    const std::size_t alignment = std::size_t{16} << (random_() % 5);
    const auto offset = heap_.allocate(size, alignment);
    if (!offset) {
      EXPECT_GT(bytes_ + size, kLimit / 2) << "exhausted with little in use";
      return;
    }
    const auto next = blocks_.upper_bound(*offset);
    EXPECT_TRUE(next == blocks_.end() || *offset + size <= next->first) << "overlaps the next block";
    EXPECT_TRUE(next == blocks_.begin() || std::prev(next)->first + std::prev(next)->second.size <= *offset);
    EXPECT_LE(*offset + size, kRange);
    EXPECT_EQ(*offset % alignment, 0U);
    const auto fill = static_cast<unsigned char>(random_());
    std::memset(base_ + *offset, fill, size);
    blocks_[*offset] = {size, fill};
    bytes_ += size;
  }

  void verify(Blocks::iterator block) const {
    EXPECT_EQ(heap_.size_at(block->first), block->second.size);
    const auto fill = std::byte{block->second.fill};
    EXPECT_EQ(base_[block->first], fill);
    EXPECT_EQ(base_[block->first + block->second.size / 2], fill);
    EXPECT_EQ(base_[block->first + block->second.size - 1], fill);
  }

  void release(Blocks::iterator block) {
    verify(block);
    heap_.release(block->first);
    bytes_ -= block->second.size;
    blocks_.erase(block);
  }

  void resize(Blocks::iterator block) {
    verify(block);
    const std::size_t size = random_size();
    if (!heap_.resize(block->first, size)) return;
    bytes_ = bytes_ - block->second.size + size;
    block->second.size = size;
    const auto next = std::next(block);
    EXPECT_TRUE(next == blocks_.end() || block->first + size <= next->first) << "grew into the next block";
    std::memset(base_ + block->first, block->second.fill, size);
  }

  HeapAllocator& heap_;
  std::byte* base_;
  Blocks blocks_;
  std::size_t bytes_ = 0;
  std::mt19937 random_{12345};
};

TEST_F(HeapTest, AgreesWithAModel) {
  Model model(*heap, base);
  for (int i = 0; i < 30000; ++i) {
    model.step();
    ASSERT_EQ(heap->bytes_in_use(), model.bytes());
    ASSERT_FALSE(HasFailure()) << "step " << i;
  }
  model.release_all();
  EXPECT_EQ(heap->bytes_in_use(), 0U);
}

}  // namespace
}  // namespace shm

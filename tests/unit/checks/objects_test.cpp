// SPDX-License-Identifier: BSD-3-Clause
#include "objects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace checks {
namespace {

constexpr std::uintptr_t kHeap = 0x100000, kPaged = 0x900000, kVariables = 0x500000;
constexpr std::size_t kSize = 0x10000;
constexpr Deed kMade{"shmem_malloc", 11}, kFreed{"shmem_free", 22};

class ObjectsOfJob : public testing::Test {
 protected:
  void begin(std::vector<Variable> variables = {}) {
    shm::CheckedJob job{};
    job.memory.range = {kHeap, kSize};
    job.paged.range = {kPaged, kSize};
    job.variables = {kVariables, kSize};
    objects.begin(job, std::move(variables));
  }
  Finding::What look(std::uintptr_t at, std::size_t n) const { return objects.look(at, n).what; }

  Objects objects;
};

TEST_F(ObjectsOfJob, ABlockHoldsWhatBeginsAndEndsInIt) {
  begin();
  objects.add(kHeap + 64, 100, kMade);
  EXPECT_EQ(look(kHeap + 64, 100), Finding::fine);
  EXPECT_EQ(look(kHeap + 163, 1), Finding::fine);
  EXPECT_EQ(look(kHeap + 64, 101), Finding::past_end);
  EXPECT_EQ(look(kHeap + 163, 2), Finding::past_end);
  EXPECT_EQ(look(kHeap + 100, SIZE_MAX), Finding::past_end);
  EXPECT_EQ(look(kHeap + 164, 1), Finding::between);
  EXPECT_EQ(look(kHeap + 63, 1), Finding::between);
  EXPECT_EQ(objects.look(kHeap + 63, 1).object.size, 0U) << "there is none before";
  EXPECT_EQ(objects.look(kHeap + 170, 1).object.base, kHeap + 64);
  EXPECT_EQ(look(kHeap - 1, 1), Finding::elsewhere);
  EXPECT_EQ(look(kHeap + kSize, 1), Finding::elsewhere);
}

TEST_F(ObjectsOfJob, BothHeapsHaveBlocks) {
  begin();
  objects.add(kPaged, 10, kMade);
  EXPECT_EQ(look(kPaged, 10), Finding::fine);
  EXPECT_EQ(look(kPaged, 11), Finding::past_end);
  EXPECT_EQ(look(kHeap, 1), Finding::between);
  objects.add(kHeap + kSize - 8, 8, kMade);
  EXPECT_EQ(objects.look(kPaged + 100, 1).object.base, kPaged);
  EXPECT_EQ(objects.used({kHeap, kSize}), 8U);
  EXPECT_EQ(objects.used({kPaged, kSize}), 10U);
}

TEST_F(ObjectsOfJob, AFreedBlockIsRememberedUntilItsPlaceIsTaken) {
  begin();
  objects.add(kHeap, 100, kMade);
  EXPECT_TRUE(objects.is_block(kHeap));
  objects.remove(kHeap, kFreed);
  EXPECT_FALSE(objects.is_block(kHeap));
  const Finding finding = objects.look(kHeap + 99, 1);
  EXPECT_EQ(finding.what, Finding::freed);
  EXPECT_EQ(finding.object.made.place, kMade.place);
  EXPECT_STREQ(finding.object.freed.call, "shmem_free");
  EXPECT_EQ(finding.object.freed.place, kFreed.place);
  EXPECT_EQ(objects.used({kHeap, kSize}), 0U);
  objects.add(kHeap + 40, 20, kMade);  // in the middle of it
  EXPECT_EQ(look(kHeap, 1), Finding::between);
  EXPECT_EQ(look(kHeap + 40, 20), Finding::fine);
  objects.add(kHeap, 10, kMade);
  objects.remove(kHeap, kFreed);
  objects.add(kHeap, 10, kMade);
  EXPECT_EQ(look(kHeap, 10), Finding::fine);
}

TEST_F(ObjectsOfJob, ABlockMayGetAnotherSize) {
  begin();
  objects.add(kHeap, 100, kMade);
  EXPECT_EQ(look(kHeap, 100), Finding::fine);
  objects.add(kHeap, 50, kMade);
  EXPECT_EQ(look(kHeap, 100), Finding::past_end) << "what was found before is not remembered";
  objects.add(kHeap, 200, kMade);
  EXPECT_EQ(look(kHeap, 200), Finding::fine);
}

TEST_F(ObjectsOfJob, NothingStaysFromOneJobToTheNext) {
  begin();
  objects.add(kHeap, 100, kMade);
  EXPECT_EQ(look(kHeap, 100), Finding::fine);
  begin();
  EXPECT_EQ(look(kHeap, 100), Finding::between);
}

TEST_F(ObjectsOfJob, VariablesAreKnownByTheirSymbols) {
  begin({{kVariables + 16, 32, "a"}, {kVariables + 64, 8, "b"}});
  EXPECT_EQ(look(kVariables + 16, 32), Finding::fine);
  EXPECT_EQ(look(kVariables + 40, 9), Finding::past_end);
  EXPECT_STREQ(objects.look(kVariables + 40, 9).object.variable, "a");
  EXPECT_EQ(look(kVariables + 48, 16), Finding::fine) << "a variable of which no symbol is left";
  EXPECT_EQ(look(kVariables + 48, 17), Finding::into);
  EXPECT_STREQ(objects.look(kVariables + 48, 17).object.variable, "b");
  EXPECT_EQ(look(kVariables, 16), Finding::fine);
  EXPECT_EQ(look(kVariables, 17), Finding::into);
  EXPECT_EQ(look(kVariables + 72, kSize - 72), Finding::fine);
  EXPECT_EQ(look(kVariables + 72, kSize - 71), Finding::elsewhere) << "which the library refuses";
}

TEST_F(ObjectsOfJob, WithoutSymbolsVariablesAreOneObject) {
  begin();
  EXPECT_EQ(look(kVariables, kSize), Finding::fine);
  EXPECT_EQ(look(kVariables + 1, kSize), Finding::elsewhere);
}

TEST_F(ObjectsOfJob, OnlySoManyFreedBlocksAreRemembered) {
  begin();
  constexpr std::size_t kMany = 65536 + 1;
  shm::CheckedJob job{};
  job.memory.range = {kHeap, 16 * kMany};
  objects.begin(job, {});
  for (std::size_t i = 0; i < kMany; ++i) {
    objects.add(kHeap + 16 * i, 16, kMade);
    objects.remove(kHeap + 16 * i, kFreed);
  }
  EXPECT_EQ(look(kHeap, 1), Finding::between);
  EXPECT_EQ(look(kHeap + 16, 1), Finding::freed);
}

// Against a byte for each byte of the heap.
TEST_F(ObjectsOfJob, RandomBlocks) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::size_t kBytes = 512;
  begin();
  std::vector<int> owner(kBytes, 0);  // 0: never, -k: freed, k: block k
  std::map<int, std::pair<std::size_t, std::size_t>> live;
  for (int step = 1; step <= 2000; ++step) {
    const std::size_t at = random() % kBytes, n = 1 + random() % 40;
    const bool room = at + n <= kBytes &&
                      std::all_of(owner.begin() + static_cast<long>(at),
                                  owner.begin() + static_cast<long>(at + n), [](int of) { return of <= 0; });
    if (room && random() % 2 == 0) {
      // What was freed there is forgotten as a whole.
      for (std::size_t i = at; i < at + n; ++i)
        if (const int gone = owner[i]; gone < 0) std::ranges::replace(owner, gone, 0);
      std::fill_n(owner.begin() + static_cast<long>(at), n, step);
      live[step] = {at, n};
      objects.add(kHeap + at, n, kMade);
    } else if (!live.empty()) {
      const auto chosen = std::next(live.begin(), static_cast<long>(random() % live.size()));
      std::ranges::replace(owner, chosen->first, -chosen->first);
      objects.remove(kHeap + chosen->second.first, kFreed);
      live.erase(chosen);
    }
    const std::size_t from = random() % kBytes, length = 1 + random() % 40;
    const int of = owner[from];
    const bool whole =
        from + length <= kBytes &&
        std::all_of(owner.begin() + static_cast<long>(from), owner.begin() + static_cast<long>(from + length),
                    [of](int each) { return each == of; });
    const Finding::What expected = of == 0  ? Finding::between
                                   : of < 0 ? Finding::freed
                                   : whole  ? Finding::fine
                                            : Finding::past_end;
    ASSERT_EQ(look(kHeap + from, length), expected) << "step " << step;
  }
}

TEST_F(ObjectsOfJob, ThreadsLookWhileBlocksComeAndGo) {
  begin();
  objects.add(kHeap, 64, kMade);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        wrong += look(kHeap, 64) != Finding::fine;
        const Finding::What other = look(kHeap + 128, 8);
        wrong += other != Finding::fine && other != Finding::freed && other != Finding::between;
      }
    });
  }
  for (int i = 0; i < 1000; ++i) {
    objects.add(kHeap + 128, 8, kMade);
    objects.remove(kHeap + 128, kFreed);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace checks

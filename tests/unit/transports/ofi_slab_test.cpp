// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/slab.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>
#include <set>
#include <vector>

namespace shm::ofi {
namespace {

TEST(Slab, HandsOutEachRecordOnceUntilItIsGivenBack) {
  Slab slab(40, 10);
  std::set<void*> taken;
  while (void* record = slab.take()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(record) % 64, 0u);
    EXPECT_TRUE(taken.insert(record).second);
  }
  EXPECT_EQ(taken.size(), 10u);
  EXPECT_TRUE(slab.exhausted());
  slab.give(*taken.begin());
  EXPECT_FALSE(slab.exhausted());
  EXPECT_EQ(slab.take(), *taken.begin());
  EXPECT_EQ(slab.take(), nullptr);
  EXPECT_EQ(slab.in_use(), 10u);
}

TEST(Slab, RandomUseKeepsItsInvariants) {
  constexpr std::size_t kCount = 100;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  Slab slab(200, kCount);
  std::vector<void*> taken;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2) {
      void* record = slab.take();
      EXPECT_EQ(record == nullptr, taken.size() == kCount);
      if (record != nullptr) {
        *static_cast<std::size_t*>(record) = taken.size();
        taken.push_back(record);
      }
    } else if (!taken.empty()) {
      EXPECT_EQ(*static_cast<std::size_t*>(taken.back()), taken.size() - 1);  // nobody else wrote to it
      slab.give(taken.back());
      taken.pop_back();
    }
    ASSERT_EQ(slab.in_use(), taken.size());
  }
}

TEST(Slab, UntouchedRecordsTakeNoMemory) {
  constexpr std::size_t kPages = 1000;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  Slab slab(page, kPages);
  for (int i = 0; i < 50; ++i) {
    void* record = slab.take();
    *static_cast<char*>(record) = 1;
    slab.give(record);
  }
  std::vector<unsigned char> resident(kPages);
  ASSERT_EQ(mincore(slab.base(), slab.bytes(), resident.data()), 0);
  int pages = 0;
  for (unsigned char flag : resident) pages += flag & 1;
  EXPECT_LE(pages, 16);  // one record's, and what the kernel maps around it
}

}  // namespace
}  // namespace shm::ofi

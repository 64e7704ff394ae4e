// SPDX-License-Identifier: BSD-3-Clause
// What is made of the variables of the heap on NVM.
#include "nvm/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "transfers.hpp"

namespace shm::nvm {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kKiB = 1024, kGiB = std::size_t{1} << 30;

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() {
    env.nvm_dir = folder.path();
    env.nvm_cooperative = true;
    env.nvm_remote_ops = true;
  }
  Options read() const {
    auto options = Options::read(env, kHeap);
    EXPECT_TRUE(options.ok()) << options.status().text();
    return options.value();
  }
  std::size_t page_of_a_cache(std::size_t bytes) {
    env.nvm_cache = bytes;
    return read().page_bytes;
  }

  static constexpr std::size_t kHeap = 200 * kMiB;  // in memory
  const Folder folder;
  Env env;
};

TEST_F(OptionsTest, WhereNothingIsSet) {
  const Options options = read();
  EXPECT_TRUE(options.wanted());
  EXPECT_FALSE(options.is_default);
  EXPECT_EQ(options.user_bytes, 4 * kHeap);
  EXPECT_EQ(options.cache_bytes, kHeap / 2);
  EXPECT_FALSE(options.cache_asked);
  EXPECT_EQ(options.page_bytes, 256 * kKiB);
  EXPECT_EQ(options.engine, IoEngine::automatic);
  EXPECT_EQ(options.replacement, ReplacementKind::two_queues);
  EXPECT_TRUE(options.cooperative);
  EXPECT_TRUE(options.remote_ops);
  EXPECT_EQ(options.shape(4, 8).frames, 400U);
  EXPECT_EQ(options.other_size(options.shape(64, 64)), "") << "of a cache that nobody asked for";
  EXPECT_EQ(options.segment_bytes(), 4 * kHeap + 2 * kHeap + 8 * kMiB);
  env.nvm_size = 3 * kMiB;
  env.heap = "nvm:" + folder.path().string();
  EXPECT_EQ(read().user_bytes, 4 * kHeap) << "that of the other kind of heap";
  env.heap.clear();
  env.nvm_dir.clear();
  EXPECT_FALSE(read().wanted());
}

TEST_F(OptionsTest, AreThoseThatAreSet) {
  env.nvm_size = 3 * kMiB;
  env.nvm_cache = 5 * kMiB;
  env.nvm_page = 16 * kKiB;
  env.nvm_engine = "sync";
  env.nvm_policy = "vgasnet";
  env.nvm_cooperative = false;
  env.nvm_ahead = 3;
  env.symmetric_size = 7 * kMiB;  // of the heap in memory
  Options options = read();
  EXPECT_EQ(options.user_bytes, 3 * kMiB);
  EXPECT_EQ(options.cache_bytes, 5 * kMiB);
  EXPECT_TRUE(options.cache_asked);
  EXPECT_EQ(options.page_bytes, 16 * kKiB);
  EXPECT_EQ(options.engine, IoEngine::sync);
  EXPECT_EQ(options.replacement, ReplacementKind::vgasnet);
  EXPECT_FALSE(options.cooperative);
  EXPECT_TRUE(options.remote_ops) << "each is set alone";
  EXPECT_EQ(options.ahead(1000), 3U);
  env.heap = "nvm:" + folder.path().string();
  env.nvm_engine = "uring";
  env.nvm_remote_ops = false;
  options = read();
  EXPECT_FALSE(options.remote_ops);
  EXPECT_TRUE(options.is_default);
  EXPECT_EQ(options.user_bytes, 7 * kMiB);
  EXPECT_EQ(options.engine, IoEngine::uring);
}

TEST_F(OptionsTest, PagesGrowWhereAPoolWouldHaveTooMany) {
  EXPECT_EQ(page_of_a_cache(4 * kGiB), 256 * kKiB) << "16384 of them";
  EXPECT_EQ(page_of_a_cache(4 * kGiB + 256 * kKiB), 512 * kKiB);
  EXPECT_EQ(page_of_a_cache(64 * kGiB), 4 * kMiB);
  EXPECT_EQ(page_of_a_cache(8192 * kGiB), 64 * kMiB) << "no further";
  env.nvm_page = 16 * kKiB;
  EXPECT_EQ(page_of_a_cache(64 * kGiB), 16 * kKiB) << "as it is set";
}

TEST_F(OptionsTest, PagesArePowersOfTwoOf64MiBAtMost) {
  for (const std::uint64_t good : {4 * kKiB, 64 * kKiB, std::size_t{64 * kMiB}}) {
    env.nvm_page = good;
    if (good >= static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
      EXPECT_EQ(read().page_bytes, good);
    }
  }
  for (const std::uint64_t bad : {std::size_t{0}, 2 * kKiB, 96 * kKiB, std::size_t{128 * kMiB}}) {
    env.nvm_page = bad;
    EXPECT_THAT(Options::read(env, kHeap).status().text(),
                HasSubstr("SHMEM_NVM_PAGE is " + std::to_string(bad) + " bytes; allowed are powers of two"));
  }
}

// What a segment spans and how its pages are numbered.
TEST_F(OptionsTest, SegmentsAreWholePagesAndMore) {
  env.nvm_size = 5 * kMiB + 1;
  env.nvm_page = 4 * kKiB;
  EXPECT_EQ(read().segment_bytes(), 16 * kMiB) << "half as much again, 8 MiB, and 2 MiB pages of the machine";
  EXPECT_EQ(read().shape(4, 8).segment_pages, 16 * kMiB / (4 * kKiB));
  EXPECT_EQ(read().shape(4, 8).node_size, 4);
  EXPECT_EQ(read().shape(4, 8).job_size, 8);
  env.nvm_page = 64 * kMiB;
  EXPECT_EQ(read().segment_bytes(), 64 * kMiB);
}

TEST_F(OptionsTest, FoldersThatAreOfNoUse) {
  env.nvm_dir = "/nowhere";
  EXPECT_EQ(Options::read(env, kHeap).status().text(), "SHMEM_NVM_DIR: /nowhere: No such file or directory");
  env.heap = "nvm:/";
  if (geteuid() != 0) {  // that one may make files everywhere
    EXPECT_EQ(Options::read(env, kHeap).status().text(),
              "SHMEM_HEAP: no files can be made in /: Permission denied");
  }
}

TEST_F(OptionsTest, ReadAheadIsAPartOfThePool) {
  EXPECT_EQ(read().ahead(10000), 16U) << "4 MiB";
  EXPECT_EQ(read().ahead(64), 4U);
  env.nvm_ahead = 1000;
  EXPECT_EQ(read().ahead(64), 4U) << "whatever is asked for";
  env.nvm_ahead = 0;
  EXPECT_EQ(read().ahead(10000), 0U);
  env.nvm_ahead.reset();
  env.nvm_page = 4 * kKiB;
  EXPECT_EQ(read().ahead(10000), 32U);
  env.nvm_page = 64 * kMiB;
  EXPECT_EQ(read().ahead(10000), 2U);
}

}  // namespace
}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
#include "heap/node_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "processes.hpp"
#include "sanitized.hpp"
#include "transports/registry.hpp"

namespace shm {
namespace {

using ::testing::HasSubstr;
constexpr std::size_t kStride = std::size_t{4} << 20;

volatile long variable = 1;  // symmetric in these tests

// The node of process `index`; all processes of a test pass the same key.
Result<std::unique_ptr<NodeMemory>> make_node(Mapper& mapper, const std::string& key, int index, int size,
                                              std::size_t stride = kStride, double timeout = 20) {
  return NodeMemory::create(mapper, {key, index, size, timeout}, {size, size + 3, stride});
}

class NodeMemoryTest : public ::testing::TestWithParam<const char*> {};

TEST_P(NodeMemoryTest, SharesHeapsAndVariables) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(3, [&](int me) {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = make_node(*mapper, key, me, 3);
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (!made.ok()) return false;
    NodeMemory& node = *made.value();
    const int next = (me + 1) % 3;
    EXPECT_EQ(*node.heap(me), std::byte{0});
    variable = 10 + me;
    std::memset(node.heap(next) + kStride - 8, 'a' + me, 8);
    EXPECT_TRUE(node.wait_for_all().ok());
    EXPECT_EQ(node.heap(me)[kStride - 1], std::byte(static_cast<unsigned char>('a' + (me + 2) % 3)));
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(&variable) - node.own_statics().base;
    EXPECT_EQ(*reinterpret_cast<volatile long*>(node.statics(next) + offset), 10 + next);
    EXPECT_EQ(node.control(next).record.static_layout, node.own_statics().layout);
    EXPECT_NE(node.control(next).pid, getpid());
    EXPECT_EQ(node.record(5).leader, 0) << "records of the whole job start as zeros";
    return node.wait_for_all().ok();
  });
}

// What starts the library may be a thread of a program whose others store to variables meanwhile.
TEST_P(NodeMemoryTest, LeavesTheVariablesOfAJobOfOneWhereTheyAre) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(1, [&](int) {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = NodeMemory::create(*mapper, {key, 0, 1, 20}, {1, 1, kStride});
    if (!made.ok()) return false;
    const NodeMemory& node = *made.value();
    variable = 77;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(&variable) - node.own_statics().base;
    EXPECT_NE(*reinterpret_cast<volatile long*>(node.statics(0) + offset), 77);
    return true;
  });
}

TEST_P(NodeMemoryTest, DiscardsAHeapFromAnOffsetOn) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(2, [&](int me) {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = make_node(*mapper, key, me, 2);
    if (!made.ok()) return false;
    NodeMemory& node = *made.value();
    std::memset(node.heap(me), 1, kStride);
    if (!node.wait_for_all().ok()) return false;
    if (me == 0) node.empty_heap(8192, NodeMemory::Pages::given_back);
    if (!node.wait_for_all().ok()) return false;
    EXPECT_EQ(node.heap(0)[8191], std::byte{1});
    EXPECT_EQ(node.heap(0)[8192], std::byte{0});
    EXPECT_EQ(node.heap(0)[kStride - 1], std::byte{0});
    EXPECT_EQ(node.heap(1)[kStride - 1], std::byte{1}) << "the neighbour's heap stays";
    return node.wait_for_all().ok();
  });
}

// The physical address of this process's page, which somebody may have noted; 0: the system does not say.
std::uint64_t frame_of(const std::byte* page) {
  std::ifstream map("/proc/self/pagemap", std::ios::binary);
  map.seekg(static_cast<std::streamoff>(reinterpret_cast<std::uintptr_t>(page) / 4096 * 8));
  std::uint64_t entry = 0;
  map.read(reinterpret_cast<char*>(&entry), sizeof entry);
  return entry & ((std::uint64_t{1} << 55) - 1);
}

// A network that has pinned pages reads and writes these, whatever becomes of the file.
TEST_P(NodeMemoryTest, EmptiesAHeapWhosePagesMustStay) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(1, [&](int me) {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = make_node(*mapper, key, me, 1);
    if (!made.ok()) return false;
    const NodeMemory& node = *made.value();
    std::byte* heap = node.heap(0);
    std::memset(heap, 1, 16384);
    std::memset(heap + kStride - 100, 1, 100);
    const std::uint64_t frame = frame_of(heap + 12288);
    node.empty_heap(8192, NodeMemory::Pages::kept);
    EXPECT_EQ(heap[8191], std::byte{1});
    for (const std::size_t at : {std::size_t{8192}, std::size_t{16383}, kStride - 100, kStride - 1})
      EXPECT_EQ(heap[at], std::byte{0}) << at;
    unsigned char resident[2] = {};
    EXPECT_EQ(mincore(heap + 8192, 8192, resident), 0);
    EXPECT_EQ(resident[0] & resident[1] & 1, 1) << "the pages are there still";
    EXPECT_EQ(frame_of(heap + 12288), frame);
    return true;
  });
}

constexpr bool kCountsFaults = !test::kSanitized;  // whose faults are those of its own memory, too

long page_faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST_P(NodeMemoryTest, MapsWhatPeersHaveTouched) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(2, [&](int me) {
    constexpr std::size_t kTouched = kStride / 2, kPage = 4096;
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = make_node(*mapper, key, me, 2);
    if (!made.ok()) return false;
    NodeMemory& node = *made.value();
    EXPECT_EQ(node.map_touched(0, kStride, kStride), 0u);
    if (!node.wait_for_all().ok()) return false;
    std::memset(node.heap(me) + kPage, 1, kTouched);
    std::memset(node.heap(me) + kTouched + 4 * kPage, 1, 2 * kPage);
    if (!node.wait_for_all().ok()) return false;
    EXPECT_EQ(node.map_touched(0, kTouched, kPage), kPage) << "no more than the limit";
    EXPECT_EQ(node.map_touched(0, kStride, kTouched + kPage), kTouched + kPage) << "of both ranges together";
    EXPECT_EQ(node.map_touched(0, kStride, kStride), kTouched + 2 * kPage) << "nothing but what is touched";
    EXPECT_EQ(node.map_touched(kTouched + kPage, kPage, kStride), 0u) << "what is touched comes later";
    EXPECT_EQ(node.map_touched(kTouched + 3 * kPage, 2 * kPage, kStride), kPage) << "and goes on further";
    EXPECT_EQ(node.map_touched(kTouched + 5 * kPage, kStride / 4, kStride), kPage) << "it began before";
    const long before = page_faults();
    for (std::size_t at = kPage; at < kPage + kTouched; at += kPage) node.heap(1 - me)[at] = std::byte{2};
    if (kCountsFaults) {
      EXPECT_LT(page_faults() - before, 20) << "of " << kTouched / kPage;
    }
    return node.wait_for_all().ok();
  });
}

TEST_P(NodeMemoryTest, RefusesDifferentSizes) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(2, [&](int me) {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = make_node(*mapper, key, me, 2, me == 0 ? kStride : 2 * kStride);
    EXPECT_FALSE(made.ok());
    EXPECT_THAT(made.status().text(), HasSubstr("SHMEM_SYMMETRIC_SIZE"));
    return true;
  });
}

TEST_P(NodeMemoryTest, NamesThePeThatDoesNotCome) {
  const std::string key = test::unique_key("node_memory");
  test::run_process([&] {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = make_node(*mapper, key, 0, 2, kStride, 0.3);
    EXPECT_FALSE(made.ok());
    EXPECT_THAT(made.status().text(),
                HasSubstr("PE 1 of this node did not come to set-up step 1 within SHMEM_INIT_TIMEOUT"));
    return true;
  });
}

// It has given the others the file, and then died.
TEST_P(NodeMemoryTest, NamesTheFirstPeThatDoesNotSizeTheFile) {
  const std::string key = test::unique_key("node_memory");
  test::run_process([&] {
    const std::unique_ptr<Mapper> first = make_mapper(GetParam()), second = make_mapper(GetParam());
    if (!first->open({key, 0, 2, 20}).ok()) return false;
    auto made = make_node(*second, key, 1, 2, kStride, 0.3);
    EXPECT_FALSE(made.ok());
    EXPECT_THAT(made.status().text(),
                HasSubstr("the first PE of this node did not size its memory within SHMEM_INIT_TIMEOUT"));
    return true;
  });
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// What follows limits the address space, which sanitizers need for themselves.

// From now on this process may map `more` bytes in addition to what it has.
void limit_address_space(std::size_t more) {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{bytes, bytes};
  EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

// No file of this process may grow beyond that: by default a signal would end it.
void limit_files(std::size_t bytes) {
  const rlimit limit{bytes, bytes};
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// One PE of three is refused something.  It says what; the others do not wait for it until the time is over.
void expect_failure_of_one(const char* mapper_name, const NodeShape& shape, int failing,
                           const std::function<void()>& limit, const char* text) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(3, [&](int me) {
    const std::unique_ptr<Mapper> mapper = make_mapper(mapper_name);
    if (me == failing) limit();
    constexpr double kFarTooLong = 600;
    auto made = NodeMemory::create(*mapper, {key, me, 3, kFarTooLong}, shape);
    if (me == failing) {
      EXPECT_FALSE(made.ok());
      EXPECT_THAT(made.status().text(), HasSubstr(text));
      return true;
    }
    // It may have failed before the others needed it, or after: then they notice at their next step.
    const Status status = made.ok() ? made.value()->wait_for_all() : made.status();
    EXPECT_THAT(status.text(), HasSubstr("another PE of this node could not set up its memory"));
    return true;
  });
}

constexpr std::size_t kRoom = std::size_t{64} << 20;  // for stacks, heaps and what the C library maps

TEST_P(NodeMemoryTest, TellsTheOthersThatHeapsCannotBeMapped) {
  expect_failure_of_one(
      GetParam(), {3, 3, std::size_t{1} << 30}, 1, [] { limit_address_space(std::size_t{1} << 30); },
      "cannot map the symmetric heaps of this node (lower SHMEM_SYMMETRIC_SIZE?)");
}

TEST_P(NodeMemoryTest, TellsTheOthersThatThePeersVariablesCannotBeMapped) {
  constexpr std::size_t kHeaps = kRoom + kLargestAlignment + 3 * kStride;
  ASSERT_GT(3 * find_statics().size, kHeaps) << "the test needs large variables, which statics_test.cpp has";
  expect_failure_of_one(
      GetParam(), {3, 3, kStride}, 2, [] { limit_address_space(kHeaps); }, "cannot map the peers' variables");
}

TEST_P(NodeMemoryTest, TellsTheOthersThatThePoolCannotBeMapped) {
  expect_failure_of_one(
      GetParam(), {3, 3, kStride, std::size_t{4} << 30}, 1,
      [] { limit_address_space(kRoom + kLargestAlignment + 3 * kStride + 3 * find_statics().size); },
      "cannot map the pool of the NVM heap (lower SHMEM_NVM_CACHE?)");
}

TEST_P(NodeMemoryTest, TellsTheOthersThatTheFileCannotGrow) {
  expect_failure_of_one(
      GetParam(), {3, 3, std::size_t{1} << 30}, 0, [] { limit_files(std::size_t{1} << 30); },
      "cannot size the symmetric heap (lower SHMEM_SYMMETRIC_SIZE?): File too large; no file of this process "
      "may be larger than 1 GiB (ulimit -f)");
}

TEST_P(NodeMemoryTest, SaysThatNotEvenTheControlBlockFits) {
  const std::string key = test::unique_key("node_memory");
  test::run_process([&] {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    limit_files(4096);
    auto made = make_node(*mapper, key, 0, 1);
    EXPECT_FALSE(made.ok());
    EXPECT_THAT(made.status().text(), HasSubstr("cannot size the node's memory: File too large; no file of "
                                                "this process may be larger than 4 KiB (ulimit -f)"));
    return true;
  });
}
#endif

// The variable that differs, by the name that was set, and not one that follows from it.
TEST_P(NodeMemoryTest, RefusesDifferentHeaps) {
  struct Case {
    NodeShape first, second;
    const char* alias;
    const char* says;
  };
  // What a segment has for the program, and by itself; the whole is rounded up, so it may be the same.
  const Case cases[] = {
      {{2, 2, kStride, 0, 0, 1}, {2, 2, 2 * kStride, 0, 0, 2}, nullptr, "SHMEM_SYMMETRIC_SIZE differs"},
      {{2, 2, kStride, 0, 0, 1},
       {2, 2, 2 * kStride, 0, 0, 2},
       "XT_SYMMETRIC_HEAP_SIZE",
       "XT_SYMMETRIC_HEAP_SIZE differs"},
      {{2, 2, 2 * kStride, 0, kStride, 1},
       {2, 2, 4 * kStride, 0, 2 * kStride, 2},
       nullptr,
       "SHMEM_SYMMETRIC_SIZE differs"},
      {{2, 2, 2 * kStride, 0, kStride, 1},
       {2, 2, 2 * kStride, 0, kStride, 2},
       nullptr,
       "SHMEM_SYMMETRIC_SIZE differs"},
      {{2, 2, 2 * kStride, 0, kStride, 1},
       {2, 2, 3 * kStride, 0, 2 * kStride, 1},
       nullptr,
       "SHMEM_KV_TEAM_SIZE differs"},
      {{2, 2, 2 * kStride, 0, kStride, 1},
       {2, 2, 2 * kStride, 0, kStride / 2, 1},
       nullptr,
       "SHMEM_KV_TEAM_SIZE differs"}};
  for (const Case& each : cases) {
    const std::string key = test::unique_key("node_memory");
    test::run_processes(2, [&](int me) {
      if (each.alias != nullptr) setenv(each.alias, "1g", 1);
      const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
      auto made = NodeMemory::create(*mapper, {key, me, 2, 20}, me == 0 ? each.first : each.second);
      EXPECT_FALSE(made.ok());
      EXPECT_THAT(made.status().text(), ::testing::StartsWith(each.says));
      return true;
    });
  }
}

TEST_P(NodeMemoryTest, RefusesDifferentPools) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(2, [&](int me) {
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = NodeMemory::create(*mapper, {key, me, 2, 20}, {2, 2, kStride, me == 0 ? 0 : kStride});
    EXPECT_FALSE(made.ok());
    EXPECT_THAT(made.status().text(), HasSubstr("variables of the NVM heap differ"));
    return true;
  });
}

TEST_P(NodeMemoryTest, HasAPoolBehindTheHeapsThatCanBeMappedAgainAndDiscarded) {
  const std::string key = test::unique_key("node_memory");
  test::run_processes(2, [&](int me) {
    constexpr std::size_t kPage = 4096;
    const std::unique_ptr<Mapper> mapper = make_mapper(GetParam());
    auto made = NodeMemory::create(*mapper, {key, me, 2, 20}, {2, 2, kStride, kStride});
    if (!made.ok()) return false;
    NodeMemory& node = *made.value();
    if (me == 0) std::memset(node.pool(), 7, kStride);
    if (!node.wait_for_all().ok()) return false;
    EXPECT_EQ(node.pool()[kStride - 1], std::byte{7});
    EXPECT_EQ(node.heap(1)[kStride - 1], std::byte{0}) << "they do not overlap";
    auto* at = static_cast<std::byte*>(mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_TRUE(node.map_pool_also(kPage, kPage, at, false));
    EXPECT_EQ(at[0], std::byte{7});
    if (!node.wait_for_all().ok()) return false;
    if (me == 1) node.pool()[kPage] = std::byte{8};
    if (!node.wait_for_all().ok()) return false;
    EXPECT_EQ(at[0], std::byte{8}) << "the same memory";
    if (!node.wait_for_all().ok()) return false;
    if (me == 0) node.empty_pool(NodeMemory::Pages::given_back);
    if (!node.wait_for_all().ok()) return false;
    EXPECT_EQ(node.pool()[0], std::byte{0});
    EXPECT_EQ(at[0], std::byte{0});
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(Mappers, NodeMemoryTest, ::testing::Values("memfd", "posix"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace shm

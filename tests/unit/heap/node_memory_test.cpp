// SPDX-License-Identifier: BSD-3-Clause
#include "heap/node_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "processes.hpp"
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
    EXPECT_EQ(node.slot(next).record.static_layout, node.own_statics().layout);
    EXPECT_NE(node.slot(next).pid, getpid());
    EXPECT_EQ(node.record(5).leader, 0) << "records of the whole job start as zeros";
    return node.wait_for_all().ok();
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
    if (me == 0) node.discard_heap(8192);
    if (!node.wait_for_all().ok()) return false;
    EXPECT_EQ(node.heap(0)[8191], std::byte{1});
    EXPECT_EQ(node.heap(0)[8192], std::byte{0});
    EXPECT_EQ(node.heap(0)[kStride - 1], std::byte{0});
    EXPECT_EQ(node.heap(1)[kStride - 1], std::byte{1}) << "the neighbour's heap stays";
    return node.wait_for_all().ok();
  });
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kCountsFaults = false;  // others than those of the sanitizer's own memory
#else
constexpr bool kCountsFaults = true;
#endif

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
    if (!node.wait_for_all().ok()) return false;
    EXPECT_EQ(node.map_touched(0, kTouched, kPage), kPage) << "no more than the limit";
    EXPECT_EQ(node.map_touched(0, kStride, kStride), kTouched) << "nothing but what is touched";
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
    EXPECT_THAT(made.status().text(), HasSubstr("PE 1"));
    EXPECT_THAT(made.status().text(), HasSubstr("SHMEM_INIT_TIMEOUT"));
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(Mappers, NodeMemoryTest, ::testing::Values("memfd", "posix"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace shm

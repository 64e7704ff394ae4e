// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/memory.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <string>

#include "../shared_pages.hpp"
#include "base/fatal.hpp"
#include "base/huge_pages.hpp"
#include "base/human.hpp"
#include "fabric_faults.hpp"
#include "fabric_job.hpp"

namespace shm::ofi {
namespace {

using test::FabricCall;
using test::FabricFaults;
using test::FabricJob;
using test::LoopPe;
using test::SharedPages;

TEST(OfiAddress, SurvivesTheExchange) {
  std::vector<std::byte> name(28, std::byte{9});
  PeerAddress address{name, {}, {0x2000, 5, 99}, 0x1234567890abcdef};
  address.segments[0] = {0x1000, 77, 1u << 30};
  address.segments[1] = {0, ~0ull, 8};
  Result<std::vector<std::byte>> bytes = encode_address(address);
  ASSERT_TRUE(bytes.ok());
  EXPECT_LE(bytes.value().size(), kMaxAddress);
  Result<PeerAddress> back = decode_address(bytes.value());
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(
      std::equal(name.begin(), name.end(), back.value().endpoint.begin(), back.value().endpoint.end()));
  for (std::size_t i = 0; i < kSegments; ++i) {
    EXPECT_EQ(back.value().segments[i].base, address.segments[i].base);
    EXPECT_EQ(back.value().segments[i].key, address.segments[i].key);
    EXPECT_EQ(back.value().segments[i].size, address.segments[i].size);
  }
  EXPECT_EQ(back.value().inbox.base, 0x2000u);
  EXPECT_EQ(back.value().inbox.key, 5u);
  EXPECT_EQ(back.value().inbox.size, 99u);
  EXPECT_EQ(back.value().cookie, 0x1234567890abcdef);
}

TEST(OfiAddress, WhatIsNotOneIsRefused) {
  constexpr std::size_t kHead = 136, kLongest = kMaxAddress - kHead;
  std::vector<std::byte> name(kLongest + 1, std::byte{1});
  EXPECT_EQ(encode_address({name, {}, {}}).status().text(),
            "libfabric: the provider's endpoint address of 97 bytes is longer than Atoll can exchange");
  name.resize(kLongest);
  EXPECT_EQ(encode_address({name, {}, {}}).value().size(), kMaxAddress);
  name.clear();
  std::vector<std::byte> bytes = std::move(encode_address({name, {}, {}}).value());
  EXPECT_TRUE(decode_address(bytes).ok());
  EXPECT_EQ(decode_address(std::span(bytes).first(kHead - 1)).status().text(),
            "libfabric: the peer's address is too short");
  name.resize(16);
  bytes = std::move(encode_address({name, {}, {}}).value());
  EXPECT_EQ(decode_address(std::span(bytes).first(bytes.size() - 1)).status().text(),
            "libfabric: the peer's address is cut");
  bytes[0] = std::byte{99};
  EXPECT_EQ(decode_address(bytes).status().text(), "libfabric: the peer runs another version of Atoll");
}

class OfiMemory : public ::testing::Test {
 protected:
  void open(std::uint64_t mr_mode) {
    faults.mr_mode = mr_mode;
    endpoint = std::move(Endpoint::open(test::loopback()).value());
    memory.emplace(*endpoint);
  }

  FabricFaults faults;
  std::unique_ptr<Endpoint> endpoint;
  std::optional<Memory> memory;
  std::array<std::byte, 4096> bytes{};
};

TEST_F(OfiMemory, SegmentsAreNamedByOffset) {
  open(0);
  ASSERT_TRUE(memory->add_segment(SegmentId::statics, bytes.data(), bytes.size()).ok());
  const RemoteSegment& segment = memory->segments()[static_cast<std::size_t>(SegmentId::statics)];
  EXPECT_EQ(segment.base, 0u);
  EXPECT_EQ(segment.size, bytes.size());
  EXPECT_EQ(memory->segments()[0].size, 0u);
  EXPECT_EQ(memory->local({SegmentId::statics, 5}), bytes.data() + 5);
  ASSERT_TRUE(memory->add_segment(SegmentId::heap, bytes.data(), 0).ok());
  EXPECT_EQ(faults.count(FabricCall::mr_reg), 1);
}

// Where registering pins the pool, it is on huge pages before.
TEST_F(OfiMemory, ThePoolIsLaidOutBeforeItIsPinned) {
  const SharedPages as_it_is, pool, heap;
  lay_out_on_huge_pages(as_it_is.at(), SharedPages::kBytes);
  if (as_it_is.huge_bytes() == 0) GTEST_SKIP() << "this system has no huge pages for shared memory";
  EXPECT_EQ(as_it_is.huge_bytes(), SharedPages::kBytes);
  open(FI_MR_ALLOCATED);
  ASSERT_TRUE(memory->add_segment(SegmentId::pool, pool.at(), SharedPages::kBytes).ok());
  ASSERT_TRUE(memory->add_segment(SegmentId::heap, heap.at(), SharedPages::kBytes).ok());
  EXPECT_EQ(pool.huge_bytes(), SharedPages::kBytes);
  EXPECT_EQ(heap.huge_bytes(), 0U);
}

// Elsewhere it takes up no memory that is not used.
TEST_F(OfiMemory, ThePoolIsLeftAsItIsWhereItIsNotPinned) {
  const SharedPages pool;
  open(0);
  ASSERT_TRUE(memory->add_segment(SegmentId::pool, pool.at(), SharedPages::kBytes).ok());
  std::vector<unsigned char> resident(SharedPages::kBytes / 4096);
  ASSERT_EQ(mincore(pool.at(), SharedPages::kBytes, resident.data()), 0);
  EXPECT_EQ(std::ranges::count(resident, 0), static_cast<long>(resident.size()));
}

TEST_F(OfiMemory, KeepsItsPagesWhereTheProviderPinsThem) {
  open(0);
  EXPECT_FALSE(memory->pins());
  memory.reset();
  open(FI_MR_ALLOCATED);
  EXPECT_TRUE(memory->pins());
}

TEST_F(OfiMemory, SegmentsAreNamedByAddressWhereTheProviderWantsThat) {
  open(FI_MR_VIRT_ADDR);
  EXPECT_EQ(memory->expose(bytes.data(), bytes.size()).value().base,
            reinterpret_cast<std::uint64_t>(bytes.data()));
}

TEST_F(OfiMemory, EachRegistrationHasAKeyOfItsOwnAndIsClosed) {
  open(0);
  const std::uint64_t first = memory->expose(bytes.data(), 100).value().key;
  EXPECT_NE(memory->expose(bytes.data(), 100).value().key, first);
  memory.reset();
  EXPECT_EQ(faults.count(FabricCall::mr_close), 2);
}

TEST_F(OfiMemory, RegistrationsAreBoundToTheEndpointWhereTheProviderWantsThat) {
  open(FI_MR_ENDPOINT);
  EXPECT_TRUE(memory->expose(bytes.data(), bytes.size()).ok());
  EXPECT_EQ(faults.count(FabricCall::mr_bind), 1);
  EXPECT_EQ(faults.count(FabricCall::mr_enable), 1);
  for (const FabricCall call : {FabricCall::mr_reg, FabricCall::mr_bind, FabricCall::mr_enable}) {
    faults.fail(call, -FI_ENOMEM);
    EXPECT_EQ(memory->add_segment(SegmentId::heap, bytes.data(), bytes.size()).text(),
              "libfabric: cannot register 4096 bytes: Cannot allocate memory");
  }
  EXPECT_EQ(faults.count(FabricCall::mr_close), 2) << "what cannot be used is closed";
}

TEST_F(OfiMemory, AProviderThatCannotPinNamesTheLimit) {
  open(FI_MR_ALLOCATED);
  rlimit before{};
  getrlimit(RLIMIT_MEMLOCK, &before);
  faults.fail(FabricCall::mr_reg, -FI_ENOMEM);
  const std::string said = memory->add_segment(SegmentId::heap, bytes.data(), bytes.size()).text();
  if (before.rlim_max != RLIM_INFINITY) {
    EXPECT_NE(said.find("; this process may lock " + human_bytes(static_cast<double>(before.rlim_max)) +
                        " (ulimit -l)"),
              std::string::npos)
        << said << ": the soft limit has been raised";
  }
}

TEST_F(OfiMemory, LocalMemoryNeedsNoDescriptorUnlessTheProviderWantsOne) {
  open(0);
  fid_mr* temporary = nullptr;
  EXPECT_TRUE(memory->add_pool(bytes.data(), bytes.size()).ok());
  EXPECT_EQ(memory->descriptor(bytes.data(), 8, &temporary), nullptr);
  EXPECT_EQ(temporary, nullptr);
  EXPECT_EQ(faults.count(FabricCall::mr_reg), 0);
}

TEST_F(OfiMemory, WhatLiesInAPoolIsNotRegisteredAgain) {
  open(FI_MR_LOCAL);
  fid_mr* temporary = nullptr;
  const auto registered = [&](const std::byte* at, std::size_t n) {
    const long before = faults.count(FabricCall::mr_reg);
    memory->descriptor(at, n, &temporary);
    if (temporary != nullptr) fi_close(&std::exchange(temporary, nullptr)->fid);
    return faults.count(FabricCall::mr_reg) - before;
  };
  ASSERT_TRUE(memory->add_pool(bytes.data() + 100, 1000).ok());
  EXPECT_EQ(registered(bytes.data() + 100, 1000), 0);
  EXPECT_EQ(registered(bytes.data() + 1099, 1), 0);
  EXPECT_EQ(registered(bytes.data() + 99, 10), 1);
  EXPECT_EQ(registered(bytes.data() + 1000, 101), 1);
  faults.fail(FabricCall::mr_reg, -FI_ENOMEM);
  EXPECT_FALSE(memory->add_pool(bytes.data(), 8).ok());
}

TEST_F(OfiMemory, AFurtherEndpointHasTheSameSegmentsAsLocalMemory) {
  open(FI_MR_LOCAL);
  const std::unique_ptr<Endpoint> another = std::move(endpoint->open_another().value());
  Memory further(*another);
  ASSERT_TRUE(memory->add_segment(SegmentId::heap, bytes.data(), bytes.size()).ok());
  const long before = faults.count(FabricCall::mr_reg);
  ASSERT_TRUE(further.share(*memory).ok());
  EXPECT_EQ(faults.count(FabricCall::mr_reg) - before, 1) << "segments that there are";
  EXPECT_EQ(further.local({SegmentId::heap, 3}), bytes.data() + 3);
  fid_mr* temporary = nullptr;
  EXPECT_NE(further.descriptor(bytes.data(), 8, &temporary), nullptr);
  EXPECT_EQ(temporary, nullptr);
  faults.fail(FabricCall::mr_reg, -FI_ENOMEM);
  EXPECT_FALSE(Memory(*another).share(*memory).ok());
}

// A whole network over a provider that wants local memory registered.
TEST(OfiLocalMemory, IsRegisteredForOneOperationAndThenClosed) {
  FabricFaults faults;
  faults.mr_mode = FI_MR_LOCAL;
  FabricJob job(2, 64, [](int, std::uint16_t, const std::byte*, std::size_t) {});
  job.meet();
  LoopPe& pe = job.pes[0];
  const long before = faults.count(FabricCall::mr_reg);
  const std::uint64_t value = 7;
  std::uint64_t got = 0;
  pe.ops().put(pe.channel, 1, LoopPe::word(1), &value, 8, false, nullptr);
  job.quiet(pe);
  pe.ops().get(pe.channel, 1, &got, LoopPe::word(1), 8, nullptr);
  job.quiet(pe);
  EXPECT_EQ(got, 7u);
  EXPECT_EQ(faults.count(FabricCall::mr_reg) - before, 2);
  EXPECT_EQ(faults.count(FabricCall::mr_close), 2);
  pe.ops().put(pe.channel, 1, LoopPe::word(2), pe.heap.data(), 8, false, nullptr);
  pe.ops().put(pe.channel, 1, LoopPe::word(3), &value, 8, true, nullptr);
  pe.ops().amo(pe.channel, 1, LoopPe::word(3), AtomicOp::add, AtomicType::u64, &value, nullptr, &got,
               nullptr);
  pe.ops().send(pe.channel, 1, 1, &value, 8);
  job.quiet(pe);
  EXPECT_EQ(faults.count(FabricCall::mr_reg) - before, 2)
      << "heap, records and buffers are registered already";
}

TEST(OfiLocalMemoryDeath, CannotBeRegistered) {
  FabricFaults faults;
  faults.mr_mode = FI_MR_LOCAL;
  FabricJob job(2, 64, [](int, std::uint16_t, const std::byte*, std::size_t) {});
  job.meet();
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  EXPECT_EXIT(faults.fail(FabricCall::mr_reg, -FI_ENOMEM);
              pe.ops().put(pe.channel, 1, LoopPe::word(1), &value, 8, false, nullptr),
              ::testing::ExitedWithCode(kErrorExit), "cannot register 8 bytes");
}

}  // namespace
}  // namespace shm::ofi

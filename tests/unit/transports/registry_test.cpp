// SPDX-License-Identifier: BSD-3-Clause
// Which network a job gets for its settings.
#include "transports/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fatal.hpp"
#include "fabric_faults.hpp"
#include "nic/nic_network.hpp"
#include "ofi/network.hpp"

namespace shm::test {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

NetworkOptions settings(const std::string& amo) {
  return {.provider = "tcp;ofi_rxm", .one_host = true, .amo = amo};
}

std::string description(const NetworkOptions& options) {
  Result<std::unique_ptr<Network>> network = make_network(options);
  return network.ok() ? network.value()->describe() : network.status().text();
}

TEST(Registry, AtomicsAreExecutedByWhomTheUserWantsOrTheProviderIsBestWith) {
  EXPECT_EQ(description(settings("auto")), "libfabric tcp;ofi_rxm, small operations packed");
  EXPECT_EQ(description(settings("offload")), "libfabric tcp;ofi_rxm, small operations packed");
  EXPECT_EQ(description(settings("native")), "libfabric tcp;ofi_rxm, native atomics");
}

TEST(Registry, WhatTravelsInPacketsIsWhatTheUserWantsOrSuitsTheProvider) {
  const auto packed = [](const std::string& amo, const std::string& pack) {
    NetworkOptions options = settings(amo);
    options.pack = pack;
    return description(options);
  };
  EXPECT_THAT(packed("auto", "auto"), EndsWith(", small operations packed"));
  EXPECT_THAT(packed("auto", "all"), EndsWith(", small operations packed"));
  EXPECT_THAT(packed("offload", "all"), EndsWith(", small operations packed"));
  EXPECT_THAT(packed("auto", "atomics"), EndsWith(", atomics offloaded"));
  EXPECT_THAT(packed("auto", "off"), EndsWith(", native atomics"));
  EXPECT_THAT(packed("native", "off"), EndsWith(", native atomics"));
  EXPECT_THAT(packed("native", "all"),
              StartsWith("SHMEM_AMO=native and SHMEM_PACK=all exclude each other: "));
  EXPECT_THAT(packed("native", "atomics"), StartsWith("SHMEM_AMO=native and SHMEM_PACK=atomics exclude "));
  EXPECT_THAT(packed("offload", "off"), StartsWith("SHMEM_AMO=offload and SHMEM_PACK=off exclude "));
}

TEST(Registry, FaultsAreMadeWhereTheyAreAskedFor) {
  NetworkOptions options = settings("native");
  EXPECT_THAT(description(options), StartsWith("libfabric "));
  options.faults = 7;
  EXPECT_THAT(description(options), StartsWith("faulty libfabric "));
}

// A network of two PEs of one node, both of which are this process.
class OneNode {
 public:
  explicit OneNode(const NetworkOptions& options) : network_(std::move(make_network(options).value())) {
    EXPECT_TRUE(network_->add_segment(SegmentId::heap, heap_, sizeof heap_).ok());
    address_ = network_->address().value();
    const auto lookup = +[](int) { return std::span<const std::byte>(address_); };
    EXPECT_TRUE(network_->connect(0, 2, lookup, ignore).ok());
    NodeMap map;
    map.members.resize(1);
    for (int pe = 0; pe < 2; ++pe) {
      map.add(0);
      map.segments.push_back({NodeMap::Segment{heap_, sizeof heap_}, {}});
      map.shared_slots.push_back(slots_[pe]);
    }
    network_->join_node(map);
  }

  bool shares_atomics() const { return nic().shares(); }
  /// With as many channels for threads, each of which is used.
  int endpoints(int channels) const {
    std::vector<Channel*> all;
    for (int i = 0; i < channels; ++i) {
      Channel* channel = all.emplace_back(network_->open_channel(ChannelUse::parallel));
      channel->ops->put(channel, 0, {SegmentId::heap, 0}, heap_, 1, true, nullptr);
    }
    for (Channel* channel : all) network_->close_channel(channel);
    return static_cast<const ofi::FabricNetwork&>(nic().inner()).lanes().engines();
  }

 private:
  static void ignore(int, std::uint16_t, const std::byte*, std::size_t) {}
  const nic::NicNetwork& nic() const { return static_cast<const nic::NicNetwork&>(*network_); }

  static inline std::vector<std::byte> address_;
  std::byte heap_[64] = {};
  alignas(64) std::byte slots_[2][kSharedSlotsBytes] = {};
  std::unique_ptr<Network> network_;
};

TEST(Registry, PesThatOutnumberTheCoresShareTheirAtomics) {
  NetworkOptions options = settings("auto");
  EXPECT_FALSE(OneNode(options).shares_atomics());
  options.crowded = true;
  EXPECT_TRUE(OneNode(options).shares_atomics());
}

TEST(Registry, ThreadsHaveAsManyEndpointsAsTheUserWants) {
  NetworkOptions options = settings("auto");
  EXPECT_EQ(OneNode(options).endpoints(3), 1);
  options.context_endpoints = 2;
  EXPECT_EQ(OneNode(options).endpoints(3), 1 + 2);
}

// Whatever other interfaces there are.
TEST(Registry, PesOfOneHostUseItsLoopback) {
  FabricFaults faults;
  EXPECT_TRUE(make_network(settings("auto")).ok());
  EXPECT_THAT(faults.opened, StartsWith("127."));
}

TEST(Registry, AProviderThatIsNotThereIsAnError) {
  NetworkOptions options = settings("auto");
  options.provider = "nosuch";
  EXPECT_THAT(description(options), StartsWith("no libfabric provider (nosuch: "));
}

// The first number is that of lines, the second that of atomics on a line.
TEST(RegistryDeath, SizesOfTheMshrFileArriveInTheirOrder) {
  NetworkOptions options = settings("auto");
  options.mshrs = 2000;
  options.subentries = 3;
  EXPECT_EXIT(description(options), ::testing::ExitedWithCode(kErrorExit),
              "an MSHR file of 2000 entries of 3\n");
}

}  // namespace
}  // namespace shm::test

// SPDX-License-Identifier: BSD-3-Clause
// Which network a job gets for its settings.
#include "transports/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fatal.hpp"

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
  EXPECT_EQ(description(settings("auto")), "libfabric tcp;ofi_rxm, atomics offloaded");
  EXPECT_EQ(description(settings("offload")), "libfabric tcp;ofi_rxm, atomics offloaded");
  EXPECT_EQ(description(settings("native")), "libfabric tcp;ofi_rxm, native atomics");
}

TEST(Registry, FaultsAreMadeWhereTheyAreAskedFor) {
  NetworkOptions options = settings("native");
  EXPECT_THAT(description(options), StartsWith("libfabric "));
  options.faults = 7;
  EXPECT_THAT(description(options), StartsWith("faulty libfabric "));
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

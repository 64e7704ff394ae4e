// SPDX-License-Identifier: BSD-3-Clause
#include "remote/leases.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "remote/wire.hpp"

namespace shm::remote {
namespace {

constexpr std::uint64_t kGrain = kLeaseGrain;

TEST(Leases, AreLentWhereTheyFitFirst) {
  Leases leases(8 * kGrain + 17);
  EXPECT_EQ(leases.bytes(), 8 * kGrain);
  EXPECT_EQ(leases.lend(0, 2 * kGrain), 0u);
  EXPECT_EQ(leases.lend(1, 2 * kGrain), 2 * kGrain);
  EXPECT_EQ(leases.lend(0, 4 * kGrain), 4 * kGrain);
  EXPECT_EQ(leases.free(), 0u);
  EXPECT_EQ(leases.lend(0, kGrain), std::nullopt);
  EXPECT_TRUE(leases.take_back(1, {2 * kGrain, 2 * kGrain}));
  EXPECT_EQ(leases.lend(1, 3 * kGrain), std::nullopt);
  EXPECT_EQ(leases.lend(1, kGrain), 2 * kGrain);
  EXPECT_EQ(leases.lend(0, kGrain), 3 * kGrain);
}

TEST(Leases, OfNoSizeOrAnOddOneAreRefused) {
  Leases leases(4 * kGrain);
  EXPECT_EQ(leases.lend(0, 0), std::nullopt);
  EXPECT_EQ(leases.lend(0, kGrain + 1), std::nullopt);
  EXPECT_EQ(leases.lend(0, ~std::uint64_t{0} / kGrain * kGrain), std::nullopt);
  EXPECT_EQ(leases.free(), 4 * kGrain);
}

TEST(Leases, AreTakenBackFromTheirOwnerOnly) {
  Leases leases(16 * kGrain);
  ASSERT_EQ(leases.lend(0, 4 * kGrain), 0u);
  ASSERT_EQ(leases.lend(1, 4 * kGrain), 4 * kGrain);
  const std::uint64_t far = ~std::uint64_t{0} / kGrain * kGrain;
  for (const Leases::Range range : {Leases::Range{4 * kGrain, kGrain},
                                    {0, 5 * kGrain},
                                    {8 * kGrain, kGrain},
                                    {0, 0},
                                    {1, kGrain},
                                    {0, kGrain + 1},
                                    {far, kGrain},
                                    {kGrain, far}})
    EXPECT_FALSE(leases.take_back(0, range)) << range.offset << " " << range.bytes;
  EXPECT_EQ(leases.free(), 8 * kGrain);
  EXPECT_TRUE(leases.take_back(0, {kGrain, 2 * kGrain}));  // out of the middle
  EXPECT_EQ(leases.lent_to(0), (std::vector<Leases::Range>{{0, kGrain}, {3 * kGrain, kGrain}}));
  EXPECT_FALSE(leases.take_back(0, {kGrain, kGrain}));
  EXPECT_EQ(leases.free(), 10 * kGrain);
}

TEST(Leases, KnowWhatIsWhose) {
  Leases leases(16 * kGrain);
  ASSERT_EQ(leases.lend(0, 4 * kGrain), 0u);
  ASSERT_EQ(leases.lend(1, 4 * kGrain), 4 * kGrain);
  for (const Leases::Range range : {Leases::Range{0, 4 * kGrain}, {5, 1}, {4 * kGrain - 1, 1}})
    EXPECT_TRUE(leases.lent_to(0, range)) << range.offset << " " << range.bytes;
  for (const Leases::Range range : {Leases::Range{0, 0},
                                    {0, 4 * kGrain + 1},
                                    {4 * kGrain, 1},
                                    {8 * kGrain, 1},
                                    {1, ~std::uint64_t{0}},
                                    {~std::uint64_t{0}, 1}})
    EXPECT_FALSE(leases.lent_to(0, range)) << range.offset << " " << range.bytes;
}

TEST(Leases, AllOfAPeAreTakenBackAtOnce) {
  Leases leases(16 * kGrain);
  ASSERT_TRUE(leases.lend(0, kGrain) && leases.lend(1, kGrain) && leases.lend(0, 2 * kGrain));
  EXPECT_EQ(leases.take_back_all(0), (std::vector<Leases::Range>{{0, kGrain}, {2 * kGrain, 2 * kGrain}}));
  EXPECT_TRUE(leases.lent_to(0).empty());
  EXPECT_EQ(leases.lent_to(1).size(), 1u);
  EXPECT_EQ(leases.free(), 15 * kGrain);
}

// A table of owners, grain by grain.
class ModelOfLeases {
 public:
  explicit ModelOfLeases(std::size_t grains) : owner_(grains, -1) {}
  std::optional<std::uint64_t> lend(int pe, std::uint64_t grains) {
    for (std::size_t at = 0; at + grains <= owner_.size(); ++at) {
      if (!all(at, grains, -1)) continue;
      std::fill_n(owner_.begin() + static_cast<std::ptrdiff_t>(at), grains, pe);
      return at * kGrain;
    }
    return std::nullopt;
  }
  bool all(std::size_t at, std::uint64_t grains, int pe) const {
    if (at + grains > owner_.size()) return false;
    return std::count(owner_.begin() + static_cast<std::ptrdiff_t>(at),
                      owner_.begin() + static_cast<std::ptrdiff_t>(at + grains),
                      pe) == static_cast<std::ptrdiff_t>(grains);
  }
  void take_back(std::size_t at, std::uint64_t grains) {
    std::fill_n(owner_.begin() + static_cast<std::ptrdiff_t>(at), grains, -1);
  }
  std::uint64_t free() const {
    return static_cast<std::uint64_t>(std::count(owner_.begin(), owner_.end(), -1)) * kGrain;
  }

 private:
  std::vector<int> owner_;
};

TEST(Leases, AgreeWithAModel) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::size_t kGrains = 64;
  Leases leases(kGrains * kGrain);
  ModelOfLeases model(kGrains);
  std::vector<std::pair<int, Leases::Range>> held;
  for (int step = 0; step < 4000; ++step) {
    const int pe = static_cast<int>(random() % 3);
    if (random() % 2 == 0) {
      const std::uint64_t grains = 1 + random() % 9;
      const std::optional<std::uint64_t> offset = leases.lend(pe, grains * kGrain);
      ASSERT_EQ(offset, model.lend(pe, grains));
      if (offset) held.push_back({pe, {*offset, grains * kGrain}});
    } else if (!held.empty()) {
      const std::size_t which = random() % held.size();
      const auto [owner, range] = held[which];
      EXPECT_FALSE(leases.take_back(owner + 1, range));
      ASSERT_TRUE(leases.take_back(owner, range));
      model.take_back(range.offset / kGrain, range.bytes / kGrain);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_EQ(leases.free(), model.free());
  }
}

}  // namespace
}  // namespace shm::remote

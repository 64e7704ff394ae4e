// SPDX-License-Identifier: BSD-3-Clause
#include "kv/hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace shm::kv {
namespace {

std::uint64_t identity(const void* key, std::size_t) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, key, sizeof bits);
  return bits;
}

// Keys that are counted up, hashed by themselves: the worst that programs do.
std::vector<std::uint64_t> hashes(KeyHash user) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t key = 0; key < 100000; ++key) all.push_back(hash_of(user, &key, sizeof key));
  return all;
}

TEST(HashTest, SpreadsKeysOverPesGroupsAndTags) {
  for (const UserHash user : {UserHash{nullptr}, UserHash{identity}}) {
    std::array<int, 7> pes{};
    std::array<int, 100> groups{};
    std::array<int, 256> tags{};
    for (const std::uint64_t hash : hashes(user)) {
      ++pes[static_cast<std::size_t>(pe_of(hash, 7))];
      ++groups[group_of(hash, 100)];
      ++tags[tag_of(hash)];
    }
    EXPECT_GT(*std::ranges::min_element(pes), 100000 / 7 - 800);
    EXPECT_LT(*std::ranges::max_element(pes), 100000 / 7 + 800);
    EXPECT_GT(*std::ranges::min_element(groups), 800);
    EXPECT_LT(*std::ranges::max_element(groups), 1200);
    EXPECT_EQ(tags[0], 0) << "free slots have that";
    EXPECT_GT(*std::min_element(tags.begin() + 1, tags.end()), 250);
  }
}

TEST(HashTest, KeysOfOnePeDifferInGroupAndTag) {
  std::set<std::pair<std::uint64_t, int>> seen;
  int keys = 0;
  for (const std::uint64_t hash : hashes(nullptr)) {
    if (pe_of(hash, 100) != 17) continue;
    ++keys;
    seen.insert({group_of(hash, 1000), tag_of(hash)});
  }
  EXPECT_GT(seen.size(), static_cast<std::size_t>(keys) * 99 / 100);
}

TEST(HashTest, KeepsDifferentResultsOfTheProgramsFunctionApart) {
  std::vector<std::uint64_t> all = hashes({identity, true});
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

// Where they go to is the program's business; where they are there, not.
TEST(HashTest, OneResultForAllKeysCostsNothingOnTheirPe) {
  const auto constant = [](const void*, std::size_t) -> std::uint64_t { return 42; };
  std::set<int> pes;
  std::set<std::uint64_t> all;
  for (const std::uint64_t hash : hashes(KeyHash(constant))) {
    pes.insert(pe_of(hash, 1000));
    all.insert(hash);
  }
  EXPECT_EQ(pes.size(), 1U);
  EXPECT_GT(all.size(), 99000U) << "of 2^40";
  for (const std::uint64_t hash : hashes({constant, true})) EXPECT_EQ(hash, hash_of({constant, true}, "", 0));
}

}  // namespace
}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
#include "repeats.hpp"

#include <gtest/gtest.h>

namespace oshrun {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;
const Repeats::Clock::time_point kStart{};

std::string line(int pe, const std::string& text) {
  return "atoll: PE " + std::to_string(pe) + " of 4 on h: " + text + "\n";
}

TEST(Repeats, OneOfTheSamePassesAndTheOthersAreNamed) {
  Repeats repeats({4});
  EXPECT_EQ(repeats.first_of(2, line(2, "shmem_init: no"), kStart), line(2, "shmem_init: no"));
  for (int pe : {0, 3, 0}) EXPECT_EQ(repeats.first_of(pe, line(pe, "shmem_init: no"), kStart), "");
  EXPECT_EQ(repeats.summary(Repeats::Clock::time_point::max()),
            Lines{"oshrun: PE 0, 3 said the same as PE 2"});
  EXPECT_EQ(repeats.summary(Repeats::Clock::time_point::max()), Lines{});
}

TEST(Repeats, LinesWithoutANameAreTheSameToo) {
  Repeats repeats({4});
  EXPECT_EQ(repeats.first_of(0, "atoll: shmem_init: X=1\n", kStart), "atoll: shmem_init: X=1\n");
  EXPECT_EQ(repeats.first_of(1, "atoll: shmem_init: X=1\n", kStart), "");
}

TEST(Repeats, MemoryServersHaveNamesOfTheirOwn) {
  Repeats repeats({2, 3});
  EXPECT_EQ(repeats.first_of(1, "atoll: PE 1 of 2 on h: x\n", kStart), "atoll: PE 1 of 2 on h: x\n");
  for (int server : {0, 1, 2})
    EXPECT_EQ(
        repeats.first_of(2 + server, "atoll: memory server " + std::to_string(server) + " on h: x\n", kStart),
        "");
  EXPECT_EQ(repeats.first_of(0, "atoll: PE 0 of 2 on h: x\n", kStart), "");
  EXPECT_EQ(repeats.summary(Repeats::Clock::time_point::max()),
            Lines{"oshrun: PE 0 and memory server 0-2 said the same as PE 1"});
}

TEST(Repeats, WhatDiffersOrIsNotTheLibrarysPasses) {
  Repeats repeats({4});
  for (int pe = 0; pe < 3; ++pe) {
    const std::string own = line(pe, "PE " + std::to_string(pe) + " is wrong");
    EXPECT_EQ(repeats.first_of(pe, own, kStart), own);
    for (const char* text : {"usage: x\n", "\n", "atoll: unfinished", "an atoll: \n"})
      EXPECT_EQ(repeats.first_of(pe, text, kStart), text);
  }
  EXPECT_EQ(repeats.summary(Repeats::Clock::time_point::max()), Lines{});
}

TEST(Repeats, AddressesAreEachProcesssOwn) {
  Repeats repeats({4});
  const std::string first = line(0, "shmem_free: 0x7f00a0 of 0x10 is no block");
  EXPECT_EQ(repeats.first_of(0, first, kStart), first);
  EXPECT_EQ(repeats.first_of(1, line(1, "shmem_free: 0x1 of 0xabc is no block"), kStart), "");
  const std::string other = line(2, "shmem_free: 0x7f00a0 of 10 is no block");
  EXPECT_EQ(repeats.first_of(2, other, kStart), other);
}

TEST(Repeats, NumbersThatAreNotWhoSaysItMatter) {
  Repeats repeats({4});
  for (int pe = 0; pe < 3; ++pe) {
    const std::string own = "atoll: PE " + std::to_string(pe) + ": x\n";
    EXPECT_EQ(repeats.first_of(pe, own, kStart), own);
  }
}

TEST(Repeats, OnePeMayRepeatItself) {
  Repeats repeats({4});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(repeats.first_of(1, line(1, "again"), kStart), line(1, "again"));
  EXPECT_EQ(repeats.summary(Repeats::Clock::time_point::max()), Lines{});
}

TEST(Repeats, OnlyTheRepeatedLinesOfATextAreTaken) {
  Repeats repeats({4});
  repeats.first_of(0, line(0, "a"), kStart);
  EXPECT_EQ(repeats.first_of(1, "x\n" + line(1, "a") + line(1, "b") + "y", kStart),
            "x\n" + line(1, "b") + "y");
}

TEST(Repeats, WhatWasSaidIsForgotten) {
  Repeats repeats({4});
  EXPECT_FALSE(repeats.deadline().has_value());
  repeats.first_of(0, line(0, "a"), kStart);
  repeats.first_of(1, line(1, "a"), kStart + 50ms);
  ASSERT_EQ(repeats.deadline(), kStart + Repeats::kTogether);
  EXPECT_EQ(repeats.summary(kStart + 200ms), Lines{});
  EXPECT_EQ(repeats.summary(*repeats.deadline()), Lines{"oshrun: PE 1 said the same as PE 0"});
  EXPECT_EQ(repeats.first_of(1, line(1, "a"), kStart + 3s), line(1, "a"));
}

}  // namespace
}  // namespace oshrun

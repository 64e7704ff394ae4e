// SPDX-License-Identifier: BSD-3-Clause
#include "variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace checks {

long variable_of_the_test[5] = {1};

namespace {

constexpr shm::CheckedRange kRange{1000, 1000};

std::string text_of(const std::vector<Variable>& all) {
  std::string text;
  for (const Variable& each : all)
    text += each.name + "@" + std::to_string(each.base) + "+" + std::to_string(each.size) + " ";
  return text;
}

TEST(Variables, AreSortedAndApart) {
  EXPECT_EQ(text_of(apart({{1100, 10, "b"}, {1000, 10, "a"}}, kRange)), "a@1000+10 b@1100+10 ");
}

TEST(Variables, OneThatIsInAnotherIsThatOne) {
  EXPECT_EQ(text_of(apart({{1010, 10, "member"}, {1000, 100, "whole"}, {1000, 4, "first"}}, kRange)),
            "whole@1000+100 ");
}

TEST(Variables, OfTwoNamesForOneOneIsLeft) {
  EXPECT_EQ(text_of(apart({{1000, 8, "b"}, {1000, 8, "a"}}, kRange)), "a@1000+8 ");
}

TEST(Variables, ThoseThatOverlapBecomeOne) {
  EXPECT_EQ(text_of(apart({{1000, 20, "a"}, {1010, 20, "b"}}, kRange)), "a@1000+30 ");
}

TEST(Variables, WithoutASizeOneEndsWhereTheNextBegins) {
  EXPECT_EQ(text_of(apart({{1000, 0, "asm"}, {1040, 8, "a"}, {1900, 0, "last"}}, kRange)),
            "asm@1000+40 a@1040+8 last@1900+100 ");
  EXPECT_EQ(text_of(apart({{1000, 0, "label"}, {1000, 8, "a"}}, kRange)), "a@1000+8 ");
}

TEST(Variables, OnlyThoseOfTheRangeCount) {
  EXPECT_EQ(
      text_of(apart({{900, 8, "before"}, {1996, 8, "out"}, {2000, 8, "behind"}, {1992, 8, "last"}}, kRange)),
      "last@1992+8 ");
}

TEST(Variables, OfTheProgramAreFoundInItsFile) {
  const auto here = reinterpret_cast<std::uintptr_t>(&variable_of_the_test);
  const std::vector<Variable> found = variables_of_program({here - 4096, 8192});
  const auto own = std::ranges::find(found, here, &Variable::base);
  ASSERT_NE(own, found.end());
  EXPECT_EQ(own->size, sizeof variable_of_the_test);
  EXPECT_THAT(own->name, testing::HasSubstr("variable_of_the_test"));
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i - 1].end(), found[i].base);
}

}  // namespace
}  // namespace checks

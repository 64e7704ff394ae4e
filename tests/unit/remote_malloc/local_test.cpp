// SPDX-License-Identifier: BSD-3-Clause
#include "local.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "next.hpp"

namespace remote_malloc {
namespace {

TEST(NextDeath, AFunctionThatNobodyHasEndsTheProcessWithALine) {
  EXPECT_EXIT(find_next("no_such_function_anywhere"), testing::ExitedWithCode(1),
              "no library behind this one has no_such_function_anywhere");
}

TEST(Next, IsTheDefinitionBehindThisOne) {
  EXPECT_NE(find_next("malloc"), reinterpret_cast<void*>(&malloc));
  EXPECT_FALSE(finding_next());
}

}  // namespace
}  // namespace remote_malloc

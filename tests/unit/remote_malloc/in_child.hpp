// SPDX-License-Identifier: BSD-3-Clause
// Checks in the child of a death test, where gtest's own say nothing: one that fails ends it and names its
// line.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace remote_malloc {

inline void require_in_child(bool good, int line) {
  if (good) return;
  dprintf(STDERR_FILENO, "line %d\n", line);
  _exit(1);
}
#define REQUIRE_IN_CHILD(...) require_in_child((__VA_ARGS__), __LINE__)

/// Whose children begin anew, as Atoll starts once in a process.
class InChild : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

}  // namespace remote_malloc

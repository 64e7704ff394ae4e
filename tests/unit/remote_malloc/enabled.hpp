// SPDX-License-Identifier: BSD-3-Clause
// Tests for which allocations of this process from kLimit on are remote.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "blocks.hpp"
#include "end.hpp"
#include "paged_memory.hpp"
#include "start.hpp"

namespace remote_malloc {

constexpr std::size_t kLimit = std::size_t{128} << 10;

class Enabled : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static bool done = false;
    if (done) return;
    done = true;
    end_with_process();
    enable(kLimit, false);
  }
};

inline bool is_remote(const void* block) { return blocks::contains(block); }

}  // namespace remote_malloc

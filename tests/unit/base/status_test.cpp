// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace shm {
namespace {

TEST(Status, IsSuccessOrASentence) {
  EXPECT_TRUE(Status().ok());
  const Status status = Status::error("install libfabric1");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.text(), "install libfabric1");
}

TEST(Result, HoldsAValueThatOnlyMoves) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*std::move(result.value()), 7);
}

TEST(Result, HoldsTheReasonForHavingNone) {
  const Result<int> result(Status::error("no"));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().text(), "no");
}

}  // namespace
}  // namespace shm

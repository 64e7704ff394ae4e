// SPDX-License-Identifier: BSD-3-Clause
// Changes that depend on what is there when the lock is held.
#include <gtest/gtest.h>

#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

TEST(ShardTelling, WhatIsToBeRemovedIsAskedAgainUnderTheLock) {
  const OneShard one(make_layout(8, 8, 100, 1, false));
  ASSERT_EQ(one.put("key", "stays"), SHMEMX_KV_OK);
  std::string seen;
  const Predicate predicate{[](const void*, std::size_t, const void* value, std::size_t n, void* context) {
                              static_cast<std::string*>(context)->assign(static_cast<const char*>(value), n);
                              return n == 5 ? 0 : 1;
                            },
                            &seen};
  const std::string text = "key";
  const KvRequest request{.op = KvOp::remove_if, .key = one.key(text), .expected = &predicate};
  ValueRoom none;
  EXPECT_EQ(one.shard.execute(request, none, kUnlimited), SHMEMX_KV_MISMATCH);
  EXPECT_EQ(seen, "stays");
  EXPECT_EQ(one.shard.elements(), 1U);
  ASSERT_EQ(one.put("key", "goes"), SHMEMX_KV_OK);
  EXPECT_EQ(one.shard.execute(request, none, kUnlimited), SHMEMX_KV_OK);
  EXPECT_EQ(one.shard.execute(request, none, kUnlimited), SHMEMX_KV_NOT_FOUND);
  EXPECT_EQ(one.shard.elements(), 0U);
}

}  // namespace
}  // namespace shm::kv

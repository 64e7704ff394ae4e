// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "boot/boot.hpp"

namespace shm {
namespace {

TEST(SingleBoot, IsAJobOfOne) {
  const std::unique_ptr<Boot> boot = make_single_boot();
  ASSERT_TRUE(boot->join(Env()).ok());
  const Job& job = boot->job();
  EXPECT_EQ(job.rank, 0);
  EXPECT_EQ(job.size, 1);
  EXPECT_THAT(job.node_pes, ::testing::ElementsAre(0));
  EXPECT_TRUE(job.one_host);
  EXPECT_FALSE(job.host.empty());
  EXPECT_TRUE(boot->barrier().ok());
  boot->leave();
}

TEST(SingleBoot, ReadsWhatItPublished) {
  const std::unique_ptr<Boot> boot = make_single_boot();
  ASSERT_TRUE(boot->join(Env()).ok());
  const std::vector<std::byte> mine = {std::byte{1}, std::byte{0}, std::byte{255}};
  ASSERT_TRUE(boot->exchange(mine).ok());
  EXPECT_EQ(boot->fetch(0).value(), mine);
}

// Nobody else would say it.
TEST(SingleBoot, SaysASuspicionAtOnce) {
  const std::unique_ptr<Boot> boot = make_single_boot();
  ASSERT_TRUE(boot->join(Env()).ok());
  ::testing::internal::CaptureStderr();
  boot->abort(1, "it is lost\n");
  boot->abort(1, nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "it is lost\n");
}

TEST(SingleBoot, HasATokenThatNobodyKnows) {
  const std::unique_ptr<Boot> one = make_single_boot(), other = make_single_boot();
  ASSERT_TRUE(one->join(Env()).ok() && other->join(Env()).ok());
  EXPECT_NE(one->node_token().value(), other->node_token().value());
}

TEST(SingleBoot, HasAJobIdOfItsOwn) {
  const std::unique_ptr<Boot> one = make_single_boot(), other = make_single_boot();
  ASSERT_TRUE(one->join(Env()).ok());
  ASSERT_TRUE(other->join(Env()).ok());
  EXPECT_NE(one->job().id, other->job().id);
}

}  // namespace
}  // namespace shm

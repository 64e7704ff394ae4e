// SPDX-License-Identifier: BSD-3-Clause
// Only what needs no server; the rest is tested by every job that oshrun starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "boot/boot.hpp"
#include "environment.hpp"
#include "processes.hpp"

namespace shm {
namespace {

using ::testing::HasSubstr;

// In a process of its own: PMIx keeps what it has seen.
void expect_refusal(bool with_rank) {
  test::run_process([with_rank] {
    setenv("PMIX_NAMESPACE", "gone", 1);
    if (with_rank) {
      setenv("PMIX_RANK", "0", 1);
    } else {
      unsetenv("PMIX_RANK");
    }
    Result<std::unique_ptr<Boot>> boot = make_boot();
    if (!boot.ok()) return false;
    const Status status = boot.value()->join(Env());
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.text(), HasSubstr("PMIX_NAMESPACE"));
    EXPECT_THAT(status.text(), HasSubstr("oshrun"));
    boot.value()->leave();  // must not touch a PMIx that never started
    return true;
  });
}

TEST(PmixBoot, SaysSoWhenItsServerIsGone) { expect_refusal(true); }
TEST(PmixBoot, SaysSoWhenTheEnvironmentIsIncomplete) { expect_refusal(false); }

}  // namespace
}  // namespace shm

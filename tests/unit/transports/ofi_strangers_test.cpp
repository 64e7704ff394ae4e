// SPDX-License-Identifier: BSD-3-Clause
// Messages that no PE of the job has sent (docs/security.md): here PE 0 sends them past its engine.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "fabric_faults.hpp"
#include "fabric_job.hpp"

namespace shm::test {
namespace {

constexpr std::uint16_t kText = 2;

std::vector<std::uint64_t> heard;
void hear(int, std::uint16_t, const std::byte* message, std::size_t n) {
  std::uint64_t text = 0;
  if (n >= sizeof text) std::memcpy(&text, message, sizeof text);
  heard.push_back(text);
}

class OfiStrangers : public ::testing::Test {
 protected:
  OfiStrangers() : job(2, 8, hear) {
    job.meet();
    heard.clear();
    answer(1, 77);
    while (heard.empty()) job.poll_all();
    heard.clear();
    take_stats();
  }
  static std::uint64_t refused() {
    return detail::stat_counters[static_cast<std::size_t>(Stat::refused_messages)].load();
  }
  // The ordinary way: it is too long for the inbox.
  void answer(int to, std::uint64_t text) {
    std::vector<std::byte> bytes(2000);
    std::memcpy(bytes.data(), &text, sizeof text);
    job.pes[0].ops().send(job.pes[0].channel, to, kText, bytes.data(), bytes.size());
  }

  FabricFaults faults;
  FabricJob job;
};

// The cookie is what a message is known by: who says all else right is still a stranger.
TEST_F(OfiStrangers, AreNotHeard) {
  const std::uint64_t cookie = job.engine(1).cookie();
  EXPECT_NE(cookie, 0u);
  EXPECT_NE(cookie, job.engine(0).cookie());
  EXPECT_EQ(cookie, job.engine(0).peer(1).cookie);
  ::testing::internal::CaptureStderr();
  std::uint64_t sent = 0;
  const auto strange = [&](const void* message, std::size_t n) {
    job.send_raw(message, n);
    ++sent;
    while (refused() < sent) job.poll_all();
  };
  strange(nullptr, 0);
  strange("abc", 3);
  for (const std::uint64_t guess :
       {std::uint64_t{0}, cookie ^ 1, cookie ^ std::uint64_t{1} << 63, job.engine(0).cookie()}) {
    const ofi::Envelope forged{guess, {0, kText, 0}};
    strange(&forged, sizeof forged);
    strange(&guess, sizeof guess);
  }
  strange(&cookie, sizeof cookie);  // and nothing behind it
  // More than there are receives: each is posted again.
  for (int i = 0; i < 200; ++i) strange("", 0);
  EXPECT_TRUE(heard.empty());
  answer(1, 77);
  while (heard.empty()) job.poll_all();
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_EQ(refused(), sent);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("a message that no PE of this job can have sent was dropped"), std::string::npos)
      << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

// An error of a receive is a stranger's, too: of one that sends more than fits, say.
TEST_F(OfiStrangers, AReceiveThatFailsIsPostedAgain) {
  // More than there are receives.  The one that takes the message is posted again, and that fails.
  for (std::uint64_t i = 1; i <= 100; ++i) {
    faults.complete_with_error(FabricCall::recv, FI_ETRUNC);
    job.send_raw("abc", 3);
    while (refused() < 2 * i) job.pes[1].net->poll();
  }
  answer(1, 78);
  while (heard.empty()) job.poll_all();
  EXPECT_EQ(heard.size(), 1u);
}

// What only a PE of the job can have sent, and none does.
TEST_F(OfiStrangers, AMessageOfNoPeEndsTheJob) {
  for (const int pe : {-1, 1, 2, 1 << 30}) {
    const ofi::Envelope forged{job.engine(1).cookie(), {pe, kText, 0}};
    EXPECT_EXIT(job.send_raw(&forged, sizeof forged);
                for (int i = 0; i < 100000; ++i) job.poll_all(), ::testing::ExitedWithCode(kErrorExit),
                "a message says that it comes from PE " + std::to_string(pe));
  }
}

}  // namespace
}  // namespace shm::test

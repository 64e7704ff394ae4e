// SPDX-License-Identifier: BSD-3-Clause
#include "wait_inquiry.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace oshrun {
namespace {

using shm::WaitRecord;
using State = PeWaits::State;
constexpr std::chrono::hours kPatience{1};

/// A launcher of a job of three PEs, and what its PEs hear and say.
class Inquiry : public ::testing::Test {
 protected:
  Inquiry() : id_("wait-inquiry-test-" + std::to_string(getpid())) {
    inquiry_.listen(id_, 3, kPatience);
    EXPECT_GE(inquiry_.fd(), 0);
  }

  /// The PE hears questions from here on.
  void listens(int pe) {
    UniqueFd& fd = pes_[pe];
    fd.reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr any{AF_UNIX, {}};
    ASSERT_EQ(bind(fd.get(), &any, sizeof any.sa_family), 0);
    const WaitRecord news = record(pe, WaitRecord::News::listens);
    says(fd.get(), &news, sizeof news);
  }
  /// How many questions it has heard since it was asked this last.
  int heard(int pe) {
    int count = 0;
    char question;
    while (recv(pes_[pe].get(), &question, 1, 0) == 1) ++count;
    return count;
  }

  void says(const void* bytes, std::size_t size) {
    const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM, 0));
    says(fd.get(), bytes, size);
  }
  void says(int fd, const void* bytes, std::size_t size) {
    sockaddr_un address;
    const socklen_t length = shm::wait_report_address(id_.c_str(), address);
    ASSERT_EQ(sendto(fd, bytes, size, 0, reinterpret_cast<sockaddr*>(&address), length),
              static_cast<ssize_t>(size));
    inquiry_.take_answers();
  }
  void says(const WaitRecord& record) { says(&record, sizeof record); }
  static WaitRecord record(int pe, WaitRecord::News news, int waiting = 0, double seconds = 1) {
    WaitRecord result;
    result.pe = pe;
    result.news = news;
    result.waiting = waiting;
    result.seconds = seconds;
    strcpy(result.call, "call");
    return result;
  }
  void present(int pe, int waiting) { says(record(pe, WaitRecord::News::present, waiting)); }
  void waits(int pe, double seconds) { says(record(pe, WaitRecord::News::waits, 0, seconds)); }

  /// All PEs are members of the job.
  void begin() { inquiry_.begin(std::vector<PeWaits>(3)); }

  std::string id_;
  WaitInquiry inquiry_;
  UniqueFd pes_[3];
};

TEST_F(Inquiry, IsDoneWhenAllHaveAnsweredForAllTheirThreads) {
  for (int pe : {0, 1, 2}) listens(pe);
  EXPECT_FALSE(inquiry_.deadline());
  begin();
  EXPECT_TRUE(inquiry_.deadline());
  for (int pe : {0, 1, 2}) EXPECT_EQ(heard(pe), 1) << pe;
  present(0, 0);
  present(1, 2);
  waits(1, 3);
  present(2, 0);
  EXPECT_FALSE(inquiry_.done()) << "a thread of PE 1 has not been heard";
  waits(1, 7);
  EXPECT_TRUE(inquiry_.done());
  const std::vector<PeWaits> pes = inquiry_.finish();
  EXPECT_FALSE(inquiry_.deadline());
  for (int pe : {0, 1, 2}) EXPECT_EQ(pes[static_cast<std::size_t>(pe)].state, State::kPresent) << pe;
  ASSERT_EQ(pes[1].waits.size(), 2u);
  EXPECT_EQ(pes[1].waits[0].seconds, 7) << "the longest first";
}

TEST_F(Inquiry, WaitsForWhoHasHeardIt) {
  listens(1);
  begin();
  EXPECT_FALSE(inquiry_.done());
  present(1, 0);
  EXPECT_TRUE(inquiry_.done()) << "PEs 0 and 2 do not listen";
  const std::vector<PeWaits> pes = inquiry_.finish();
  EXPECT_EQ(pes[0].state, State::kSilent);
  EXPECT_EQ(pes[1].state, State::kPresent);
}

TEST_F(Inquiry, IsDoneAtOnceIfNobodyListens) {
  begin();
  EXPECT_TRUE(inquiry_.done());
}

TEST_F(Inquiry, DoesNotAskWhoHasEnded) {
  for (int pe : {0, 1, 2}) listens(pe);
  std::vector<PeWaits> states(3);
  states[0].state = State::kEnded;
  inquiry_.begin(states);
  EXPECT_EQ(heard(0), 0);
  EXPECT_EQ(heard(1), 1);
  present(1, 0);
  present(2, 0);
  EXPECT_TRUE(inquiry_.done());
  EXPECT_EQ(inquiry_.finish()[0].state, State::kEnded);
}

// They may be in shmem_finalize, which ends after PMIx has been told.
TEST_F(Inquiry, AsksWhoHasFinalizedWhetherItStillWaits) {
  for (int pe : {0, 1}) listens(pe);
  std::vector<PeWaits> states(3);
  for (PeWaits& pe : states) pe.state = State::kFinalized;
  inquiry_.begin(states);
  EXPECT_FALSE(inquiry_.done());
  present(0, 0);
  present(1, 1);
  waits(1, 2);
  EXPECT_TRUE(inquiry_.done());
  const std::vector<PeWaits> pes = inquiry_.finish();
  EXPECT_EQ(pes[0].state, State::kFinalized);
  EXPECT_EQ(pes[1].state, State::kPresent);
  EXPECT_EQ(pes[2].state, State::kFinalized) << "it does not listen any more";
}

TEST_F(Inquiry, HearsAtAnyTimeWhoHasLeftEarly) {
  EXPECT_FALSE(inquiry_.anybody_left_early());
  says(record(2, WaitRecord::News::leaves));
  EXPECT_TRUE(inquiry_.anybody_left_early());
  begin();
  const std::vector<PeWaits> pes = inquiry_.finish();
  EXPECT_FALSE(pes[1].left_early);
  EXPECT_TRUE(pes[2].left_early);
}

TEST_F(Inquiry, TakesNoAnswersWithoutAQuestion) {
  waits(0, 5);
  begin();
  EXPECT_TRUE(inquiry_.finish()[0].waits.empty());
  waits(0, 5);
  begin();
  EXPECT_TRUE(inquiry_.finish()[0].waits.empty());
}

TEST_F(Inquiry, LooksAtNothingElse) {
  listens(0);
  begin();
  says("x", 1);
  WaitRecord other = record(0, WaitRecord::News::present);
  says(&other, sizeof other - 1);
  ++other.layout;
  says(other);
  present(-1, 0);
  present(3, 0);
  EXPECT_FALSE(inquiry_.done());
  present(0, 0);
  EXPECT_TRUE(inquiry_.done());
}

TEST_F(Inquiry, EndsTextsThatHaveNoEnd) {
  begin();
  WaitRecord wait = record(0, WaitRecord::News::waits);
  memset(wait.call, 'a', sizeof wait.call);
  memset(wait.what, 'b', sizeof wait.what);
  says(wait);
  const std::vector<PeWaits> pes = inquiry_.finish();
  ASSERT_EQ(pes[0].waits.size(), 1u);
  EXPECT_EQ(strlen(pes[0].waits[0].call), sizeof wait.call - 1);
  EXPECT_EQ(strlen(pes[0].waits[0].what), sizeof wait.what - 1);
}

}  // namespace
}  // namespace oshrun

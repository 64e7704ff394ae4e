// SPDX-License-Identifier: BSD-3-Clause
// Signs of life, and connections that break while both ends live.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "base/fatal.hpp"
#include "fabric_faults.hpp"
#include "ofi/broken_inject.hpp"
#include "pair.hpp"

namespace shm::test {
namespace {

std::int64_t messages_seen = 0;  // by this process

JobOptions counting(int npes) {
  return {.npes = npes, .sink = [](int, std::uint16_t, const std::byte*, std::size_t) { ++messages_seen; }};
}

void send(Pe& pe, int to, int count) {
  const std::uint64_t word = 1;
  for (int i = 0; i < count; ++i) pe.ops().send(pe.channel, to, 1, &word, sizeof word);
}

// Of `pe`, looked at often, as a thread does that waits.
double silence_of(const Pe& self, int pe) {
  self.net->poll();
  usleep(1000);
  return self.net->silence_of(pe, 1).seconds;
}

// Waits without polling: what comes stays with the system.
void wait_for(const std::atomic<std::int64_t>& word, std::int64_t value) {
  while (word.load() != value) usleep(1000);
}

TEST(OfiLiveness, AnAnswerEndsTheSilence) {
  FabricFaults faults;
  faults.fail_always(FabricCall::read, -FI_EAGAIN);  // which would be another sign
  run_job(counting(2), [](Pe& pe) {
    std::atomic<std::int64_t>& may_answer = shared->words[0];
    if (pe.me == 0) {
      pe.until([&] { return silence_of(pe, 1) > 0.1; });
      may_answer = 1;
      pe.until([&] { return silence_of(pe, 1) == 0; });
    } else {
      wait_for(may_answer, 1);
    }
    pe.barrier();
  });
}

TEST(OfiLiveness, APeThatIsStoppedForSecondsLosesNothing) {
  run_job(counting(2), [](Pe& pe) {
    constexpr int kMessages = 500;
    std::atomic<std::int64_t>& pid = shared->words[0];
    if (pe.me == 1) pid = getpid();
    pe.barrier();
    if (pe.me == 0) {
      send(pe, 1, kMessages);
      kill(static_cast<pid_t>(pid.load()), SIGSTOP);
      pe.until([&] { return silence_of(pe, 1) > 2.5; });
      kill(static_cast<pid_t>(pid.load()), SIGCONT);
      send(pe, 1, kMessages);
      pe.until([&] { return silence_of(pe, 1) == 0; });
    } else {
      pe.until([] { return messages_seen == 2 * kMessages; });
    }
    pe.barrier();
  });
}

TEST(OfiLiveness, WhoStoodStillHimselfHasNotListened) {
  run_job(counting(2), [](Pe& pe) {
    std::atomic<std::int64_t>& may_answer = shared->words[0];
    if (pe.me == 0) {
      pe.until([&] { return silence_of(pe, 1) > 0; });
      const double before = silence_of(pe, 1);
      usleep(2'500'000);
      const double silence = pe.net->silence_of(1, 1).seconds - before;
      EXPECT_GT(silence, 0.5);
      EXPECT_LE(silence, 1.01);
      may_answer = 1;
    } else {
      wait_for(may_answer, 1);
    }
    pe.barrier();
  });
}

// It is asked after the period, and what has passed until then counts; but however long ago the last look
// was, so much is left for an answer.
TEST(OfiLiveness, SilenceBeginsWithTheLastSignOfLife) {
  run_job(counting(2), [](Pe& pe) {
    constexpr double kPeriod = 1;
    std::atomic<std::int64_t>& may_answer = shared->words[0];
    if (pe.me == 0) {
      EXPECT_EQ(pe.net->silence_of(1, kPeriod).seconds, 0);
      for (int look = 0; look < 4; ++look) {
        usleep(50'000);
        EXPECT_EQ(pe.net->silence_of(1, kPeriod).seconds, 0);
      }
      usleep(1'200'000);
      EXPECT_EQ(pe.net->silence_of(1, kPeriod).seconds, kPeriod);
      usleep(100'000);
      EXPECT_GE(pe.net->silence_of(1, kPeriod).seconds, kPeriod + 0.1);
      may_answer = 1;
    } else {
      wait_for(may_answer, 1);
    }
    pe.barrier();
  });
}

TEST(OfiLiveness, TheSilentOneIsNamedAmongAll) {
  run_job(counting(4), [](Pe& pe) {
    std::atomic<std::int64_t>& found = shared->words[0];
    if (pe.me == 2) wait_for(found, 1);
    if (pe.me == 0) {
      Silence silence;
      for (; silence.pe != 2 || silence.seconds < 1.5; usleep(1000)) {
        pe.net->poll();
        silence = pe.net->silence_of(Silence::kAnyPe, 1);
      }
      found = 1;
      pe.until([&] { return silence_of(pe, 2) == 0; });
    }
    pe.barrier();
  });
}

// A connection that breaks takes along what was under way, and rxm makes another without a word.  Here PE 0
// loses what `loses` does while `call` does nothing; then both go on, PE 0 by looking at PE 1 if it
// `listens`.  Returns what is said when PE `who_ends` ends the job.  With `traffic` it goes on with a third
// PE.
std::string end_of_a_job_that_loses(FabricCall call, const std::function<void(Pe&)>& loses, bool listens,
                                    std::size_t who_ends, bool traffic = false) {
  FabricFaults faults;
  testing::internal::CaptureStderr();
  const std::vector<int> statuses = run_processes(counting(traffic ? 3 : 2), [&](Pe& pe) {
    for (int round = 1; round <= 2 && pe.me < 2; ++round) {  // connected, and with a ring
      send(pe, 1 - pe.me, 10);
      pe.until([&] { return messages_seen >= 10 * round; });
    }
    pe.quiet();
    pe.barrier();
    const long before = faults.count(call);
    if (pe.me == 0) {
      faults.fail_always(call, 0);
      loses(pe);
      faults.pass(call);
      EXPECT_GT(faults.count(call), before);
    }
    std::atomic<std::int64_t>& first = shared->words[0];
    if (pe.me == 0) first = getpid();
    pe.barrier();
    for (int looks = 0; looks < 15'000; ++looks) {
      if (pe.me == 0 && listens && silence_of(pe, 1) > 3) _exit(0);  // it has ended
      if (pe.me != 0 && kill(static_cast<pid_t>(first.load()), 0) != 0) _exit(0);
      const std::uint64_t word = 1;
      if (pe.me == 0 && traffic) pe.ops().put(pe.channel, 2, Pe::at(8), &word, sizeof word, true, nullptr);
      pe.net->poll();
      usleep(1000);
    }
    _exit(0);
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(statuses[who_ends], kErrorExit << 8) << text;
  std::printf("%s", text.c_str());
  return text;
}

TEST(OfiLiveness, LostMessagesComeToLight) {
  const std::string text = end_of_a_job_that_loses(
      FabricCall::inject_write, [](Pe& pe) { send(pe, 1, 5); }, true, 1);
  EXPECT_NE(text.find("messages from PE 0 were lost"), std::string::npos) << text;
}

void lose_a_put(Pe& pe) {
  const std::uint64_t word = 1;
  pe.ops().put(pe.channel, 1, Pe::at(0), &word, sizeof word, true, nullptr);
}

TEST(OfiLiveness, LostOperationsComeToLight) {
  const std::string text = end_of_a_job_that_loses(FabricCall::write, lose_a_put, false, 0);
  EXPECT_NE(text.find("1 operations on PE 1 were lost"), std::string::npos) << text;
}

// Other threads, say, have put without an end meanwhile.
TEST(OfiLiveness, LostOperationsComeToLightAmongOthers) {
  const std::string text = end_of_a_job_that_loses(FabricCall::write, lose_a_put, false, 0, true);
  EXPECT_NE(text.find("1 operations on PE 1 were lost"), std::string::npos) << text;
}

// Probes that were answered while nothing was owed say nothing of what is posted later.
TEST(OfiLiveness, WhatWasAnsweredBeforeIsNoLoss) {
  FabricFaults faults;
  run_job(counting(2), [&](Pe& pe) {
    std::atomic<std::int64_t>&asked = shared->words[0], &posted = shared->words[1],
    &silent = shared->words[2];
    const std::uint64_t word = 1;
    pe.ops().put(pe.channel, 1 - pe.me, Pe::at(0), &word, sizeof word, true, nullptr);
    pe.quiet();
    pe.barrier();
    if (pe.me == 0) {
      for (const long before = faults.count(FabricCall::read);
           faults.count(FabricCall::read) < before + 10;) {
        pe.net->poll();
        pe.net->silence_of(1, 0.01);
        usleep(1000);
      }
      asked = 1;
      wait_for(silent, 1);  // PE 1, from now on
      pe.ops().put(pe.channel, 1, Pe::at(0), &word, sizeof word, true, nullptr);
      for (int looks = 0; looks < 1500; ++looks) {
        pe.net->poll();
        usleep(1000);
      }
      posted = 1;
    } else {
      pe.until([&] { return asked == 1; });
      silent = 1;
      wait_for(posted, 1);
    }
    pe.quiet();
    pe.barrier();
  });
}

// libfabric's own code reads where a null pointer points.
TEST(OfiBrokenInject, AFaultInsideLibfabricIsTold) {
  Result<const ofi::Library*> library = ofi::load_library();
  ASSERT_TRUE(library.ok());
  const auto fault_in_libfabric = [&](void (*say)()) {
    ofi::guard_injects(*library.value(), say);
    library.value()->freeinfo(reinterpret_cast<fi_info*>(8));
  };
  EXPECT_EXIT(fault_in_libfabric([] { _exit(7); }), testing::ExitedWithCode(7), "");
  const auto fault_elsewhere = [&] {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's, which would say more
    ofi::guard_injects(*library.value(), [] { _exit(7); });
    *reinterpret_cast<volatile int*>(8) = 1;
  };
  EXPECT_EXIT(fault_elsewhere(), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace shm::test

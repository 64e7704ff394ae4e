// SPDX-License-Identifier: BSD-3-Clause
#include "finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doctor {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;

TEST(Finding, ALimitThatEndsJobsIsBad) {
  EXPECT_EQ(judge_open_files(127).state, State::bad);
  EXPECT_EQ(judge_open_files(128).state, State::good);
  EXPECT_EQ(judge_file_size(100 * kGiB).state, State::bad);
  EXPECT_EQ(judge_file_size({}).state, State::good);
  EXPECT_EQ(judge_memory(kGiB, 255 * kMiB).state, State::bad);
  EXPECT_EQ(judge_memory(kGiB, 256 * kMiB).state, State::good);
}

TEST(Finding, ALimitOfAddressesIsBadOrMakesTheHeapSmaller) {
  EXPECT_EQ(judge_address_space(kGiB - 1).state, State::bad);
  const Finding some = judge_address_space(8 * kGiB);
  EXPECT_EQ(some.state, State::note);
  EXPECT_THAT(some.found, HasSubstr("8 GiB: the default heap is a quarter"));
  EXPECT_THAT(some.remedy, HasSubstr("SHMEM_SYMMETRIC_SIZE"));
  EXPECT_EQ(judge_address_space({}).state, State::good);
}

TEST(Finding, WhatOnlySomeNeedIsANote) {
  EXPECT_EQ(judge_locked_memory(8 * kMiB).state, State::note);
  EXPECT_EQ(judge_locked_memory(64 * kMiB).state, State::good);
  EXPECT_EQ(judge_core_size(0).state, State::note);
  EXPECT_EQ(judge_core_size({}).state, State::good);
  EXPECT_EQ(judge_io_uring(false, "Operation not permitted").state, State::note);
  EXPECT_THAT(judge_io_uring(false, "Operation not permitted").found, HasSubstr("not permitted"));
  EXPECT_EQ(judge_io_uring(true, "").state, State::good);
  EXPECT_EQ(judge_cross_memory(false, "Function not implemented").state, State::note);
  EXPECT_EQ(judge_cross_memory(true, "").state, State::good);
  EXPECT_THAT(judge_debuggers(true, false).found, HasSubstr("not in PATH: tmux"));
  EXPECT_THAT(judge_debuggers(false, true).found, HasSubstr("not in PATH: gdb"));
  EXPECT_THAT(judge_debuggers(false, false).found, HasSubstr("gdb and tmux"));
  EXPECT_EQ(judge_debuggers(true, true).state, State::good);
}

TEST(Finding, TheSharedFolderMattersToOneMapper) {
  EXPECT_EQ(judge_shared_folder(false, 0, true).state, State::bad);
  EXPECT_EQ(judge_shared_folder(false, 0, false).state, State::note);
  EXPECT_EQ(judge_shared_folder(true, 63 * kMiB, true).state, State::bad);
  EXPECT_EQ(judge_shared_folder(true, 64 * kMiB, true).state, State::good);
}

TEST(Finding, WhetherDebuggersAttachIsTriedAndExplained) {
  EXPECT_EQ(judge_ptrace(0, true).state, State::good);
  EXPECT_EQ(judge_ptrace({}, true).state, State::good);
  EXPECT_THAT(judge_ptrace(1, false).found, HasSubstr("PEs of oshrun --debug"));
  EXPECT_THAT(judge_ptrace(2, false).found, HasSubstr("attach to nothing"));
  EXPECT_THAT(judge_ptrace({}, false).remedy, HasSubstr("SYS_PTRACE"));
}

TEST(Finding, HugePagesAreAsTheWordInBracketsSays) {
  EXPECT_EQ(chosen_word("always within_size [advise] never deny force\n"), "advise");
  EXPECT_EQ(chosen_word("never\n"), "");
  EXPECT_EQ(chosen_word("]["), "");
  EXPECT_EQ(judge_huge_pages("always within_size [advise] never\n", "[always] madvise never").state,
            State::good);
  const Finding never = judge_huge_pages("always within_size advise [never]\n", "[always] madvise never");
  EXPECT_EQ(never.state, State::note);
  EXPECT_THAT(never.found, HasSubstr("for shared memory: never; else: always"));
  EXPECT_THAT(never.remedy, HasSubstr("shmem_enabled"));
  EXPECT_EQ(judge_huge_pages("", "").state, State::note);
}

TEST(Finding, AFolderIsBadSlowOrGood) {
  FolderSpeed speed{};
  speed.file_system = "ext4";
  speed.direct = true;
  speed.written = speed.read = 1e9;
  EXPECT_EQ(judge_folder("/d", speed).state, State::good);
  speed.read = 5e7;
  EXPECT_THAT(judge_folder("/d", speed).remedy, HasSubstr("slow"));
  speed.direct = false;
  EXPECT_THAT(judge_folder("/d", speed).found, HasSubstr("O_DIRECT"));
  speed.error = "Permission denied";
  EXPECT_EQ(judge_folder("/d", speed).state, State::bad);
  EXPECT_THAT(judge_folder("/d", speed).found, HasSubstr("/d: Permission denied"));
}

TEST(Finding, OfAJobThatFailsTheLineThatSaysWhyIsShown) {
  EXPECT_EQ(judge_job("PEs", {0, ""}, "fine", State::bad).found, "fine");
  const JobEnd end{1, "noise\natoll: PE 0 of 2 on h: no room\noshrun: PE 0 exited\n"};
  const Finding failed = judge_job("PEs", end, "fine", State::bad);
  EXPECT_EQ(failed.state, State::bad);
  EXPECT_EQ(failed.found, "exit code 1");
  EXPECT_EQ(failed.remedy, "atoll: PE 0 of 2 on h: no room");
  EXPECT_EQ(judge_job("PEs", {2, "oshrun: cannot\n"}, "", State::note).remedy, "oshrun: cannot");
  EXPECT_EQ(judge_job("PEs", {2, "one\ntwo\n"}, "", State::note).remedy, "two");
  EXPECT_EQ(judge_job("PEs", {2, ""}, "", State::note).remedy, "it said nothing");
  EXPECT_THAT(judge_job("PEs", {-1, ""}, "", State::bad).found, HasSubstr("not ended in time"));
}

TEST(Finding, TheReportHasARowEachAndASentence) {
  const std::vector<Finding> good{{State::good, "a", "b", ""}, {State::note, "c", "d", "e"}};
  EXPECT_EQ(report(good, 1.25),
            "  ok    a                      b\n  note  c                      d\n        -> e\n\n1.2 s: "
            "nothing prevents jobs\n");
  EXPECT_FALSE(any_bad(good));
  const std::vector<Finding> bad{{State::bad, "a", "b", "c"}};
  EXPECT_TRUE(any_bad(bad));
  EXPECT_THAT(report(bad, 1), HasSubstr("1.0 s: 1 thing prevents jobs\n"));
  EXPECT_THAT(report({bad[0], bad[0]}, 1), HasSubstr("2 things prevent jobs\n"));
}

}  // namespace
}  // namespace doctor

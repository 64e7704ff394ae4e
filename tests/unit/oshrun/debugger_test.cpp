// SPDX-License-Identifier: BSD-3-Clause
#include "debugger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine.hpp"

namespace oshrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Debugger, WhatStandsBehindTheOption) {
  EXPECT_EQ(debugging_of("")->debugger, "gdb");
  EXPECT_THAT(debugging_of("")->pes, IsEmpty());
  EXPECT_EQ(debugging_of("lldb")->debugger, "lldb");
  EXPECT_THAT(debugging_of("lldb")->pes, IsEmpty());
  EXPECT_EQ(debugging_of("3")->debugger, "gdb");
  EXPECT_THAT(debugging_of("3")->pes, ElementsAre(3));
  EXPECT_THAT(debugging_of("7,2-4,3")->pes, ElementsAre(2, 3, 4, 7));
  EXPECT_EQ(debugging_of("/opt/gdb-14:0")->debugger, "/opt/gdb-14");
  EXPECT_THAT(debugging_of("/opt/gdb-14:0")->pes, ElementsAre(0));
  for (const char* wrong : {":0", "gdb:", "gdb:x", "4-2", "1,,2", "-", "1-", "--tui", "0-999999"})
    EXPECT_FALSE(debugging_of(wrong)) << wrong;
}

TEST(Debugger, WithoutNumbersEachPEWaits) {
  EXPECT_TRUE(debugging_of("")->waits(5));
  EXPECT_TRUE(debugging_of("0,5")->waits(5));
  EXPECT_FALSE(debugging_of("0,5")->waits(1));
}

TEST(Debugger, GdbStopsInMainAndOthersJustAttach) {
  const std::string gdb = shell_line(debugger_command("/usr/bin/gdb", "gdb", 17));
  EXPECT_THAT(gdb, HasSubstr("-p 17 "));
  EXPECT_LT(gdb.find("tcatch exec"), gdb.find("tbreak main"));
  EXPECT_THAT(debugger_command("/usr/bin/lldb", "lldb", 17), ElementsAre("/usr/bin/lldb", "-p", "17"));
}

TEST(Debugger, WindowsAreOfTheSessionThatIsThereOrOfANewOne) {
  EXPECT_THAT(window_command("tmux", "", true, "PE 0", {"gdb", "a b"}),
              ElementsAre("tmux", "new-window", "-d", "-n", "PE 0", "gdb 'a b'"));
  EXPECT_THAT(window_command("tmux", "s", true, "PE 0", {"gdb"}),
              ElementsAre("tmux", "new-session", "-d", "-s", "s", "-n", "PE 0", "gdb"));
  EXPECT_THAT(window_command("tmux", "s", false, "PE 1", {"gdb"}),
              ElementsAre("tmux", "new-window", "-d", "-t", "s:", "-n", "PE 1", "gdb"));
}

TEST(Debugger, IsSeenInTheStatusOfAProcess) {
  EXPECT_TRUE(is_traced("Name:\tx\nTracerPid:\t12\nUid:\t0\n"));
  EXPECT_FALSE(is_traced("Name:\tx\nTracerPid:\t0\nUid:\t0\n"));
  EXPECT_FALSE(is_traced("Name:\tx\n"));
}

TEST(Debugger, OptionsOfTheCommandLine) {
  const ParseResult all = parse_options({"-n", "2", "--debug", "./p"});
  ASSERT_EQ(all.kind, ParseResult::Kind::kRun);
  EXPECT_THAT(all.options.debug->pes, IsEmpty());
  EXPECT_THAT(all.options.apps[0].argv, ElementsAre("./p")) << "the word behind --debug is the program";
  const ParseResult one = parse_options({"-n", "2", "--debug=1", "./p"});
  EXPECT_THAT(one.options.debug->pes, ElementsAre(1));
  EXPECT_EQ(check_counts(one.options, true), "");
  EXPECT_THAT(check_counts(parse_options({"-n", "2", "--debug=1-2", "./p"}).options, true),
              HasSubstr("there is no PE 2; PEs are 0 to 1"));
  const ParseResult wrong = parse_options({"--debug=:", "./p"});
  EXPECT_EQ(wrong.kind, ParseResult::Kind::kRefuse);
  EXPECT_THAT(wrong.text, HasSubstr("--debug=:: give PEs"));
}

TEST(Debugger, EnginesCannot) {
  Options options = parse_options({"-n", "2", "--debug", "./p"}).options;
  Surroundings surroundings;
  surroundings.directory = "/d";
  const HandOver command = hand_over(options, options.apps, {}, {Engine::kSrun, "srun", {}}, surroundings);
  EXPECT_THAT(command.argv, IsEmpty());
  EXPECT_THAT(command.error, HasSubstr("--debug: srun starts this job"));
  EXPECT_THAT(command.error, HasSubstr("--launcher local"));
}

}  // namespace
}  // namespace oshrun

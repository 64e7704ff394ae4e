// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <gtest/gtest.h>

namespace oshrun {
namespace {

using Kind = ParseResult::Kind;
using Words = std::vector<std::string>;

Options accepted(const Words& words) {
  ParseResult result = parse_options(words);
  EXPECT_EQ(result.kind, Kind::kRun) << result.text;
  EXPECT_EQ(check_counts(result.options, true), "");
  return result.options;
}

TEST(Options, DefaultIsOnePe) {
  const Options options = accepted({"prog"});
  ASSERT_EQ(options.apps.size(), 1u);
  EXPECT_EQ(options.roster().pes, 1);
  EXPECT_EQ(options.apps[0].argv, Words{"prog"});
  EXPECT_EQ(options.tag, Tag::kNone);
  EXPECT_EQ(options.bind, Bind::kAuto);
  EXPECT_FALSE(options.timeout);
  EXPECT_EQ(options.virtual_nodes, 0);
}

TEST(Options, NumberOfPes) {
  for (const char* name : {"-n", "-np", "--np"})
    EXPECT_EQ(accepted({name, "7", "prog"}).roster().pes, 7) << name;
  for (const char* word : {"-n7", "-np7", "--np=7"})
    EXPECT_EQ(accepted({word, "prog"}).roster().pes, 7) << word;
  EXPECT_EQ(accepted({"-n", "4096", "prog"}).roster().pes, 4096);
}

TEST(Options, WhatFollowsTheProgramBelongsToIt) {
  const Options options = accepted({"-n", "2", "prog", "-n", "3", "--help", "--nope"});
  EXPECT_EQ(options.roster().pes, 2);
  EXPECT_EQ(options.apps[0].argv, (Words{"prog", "-n", "3", "--help", "--nope"}));
}

TEST(Options, TwoDashesEndTheOptions) { EXPECT_EQ(accepted({"--", "-prog"}).apps[0].argv, Words{"-prog"}); }

TEST(Options, ADashAloneIsAProgram) { EXPECT_EQ(accepted({"-", "x"}).apps[0].argv, (Words{"-", "x"})); }

TEST(Options, EachKindOfBindingHasItsWord) {
  const std::pair<const char*, Bind> kinds[] = {
      {"none", Bind::kNone}, {"core", Bind::kCore}, {"numa", Bind::kNuma}, {"auto", Bind::kAuto}};
  for (const auto& [word, kind] : kinds) {
    EXPECT_EQ(accepted({"--bind", "none", "--bind", word, "prog"}).bind, kind)
        << word;  // the last one counts
    EXPECT_EQ(accepted({"--bind", "core", "--bind", word, "prog"}).bind, kind) << word;
  }
}

TEST(Options, ValuesMayFollowAnEqualsSign) {
  const Options options = accepted({"--timeout=2.5", "--bind=numa", "--wdir=/a=b", "prog"});
  EXPECT_EQ(options.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(options.bind, Bind::kNuma);
  EXPECT_EQ(options.apps[0].wdir, "/a=b");
}

TEST(Options, TimesHaveDefaults) {
  const Options options = accepted({"prog"});
  EXPECT_EQ(options.kill_after, std::chrono::milliseconds(500));
  EXPECT_EQ(options.answer_within, std::chrono::milliseconds(1000));
  EXPECT_EQ(options.stuck_after, std::chrono::milliseconds(5000));
}

TEST(Options, TimesAreSecondsAndParts) {
  const Options options = accepted({"--timeout", "31536000", "--kill-after", "0.25", "--answer-within=3",
                                    "--stuck-after", "0.0001", "prog"});
  EXPECT_EQ(options.timeout, std::chrono::seconds(31'536'000));
  EXPECT_EQ(options.kill_after, std::chrono::milliseconds(250));
  EXPECT_EQ(options.answer_within, std::chrono::seconds(3));
  EXPECT_EQ(options.stuck_after, std::chrono::milliseconds(1)) << "no time at all is not meant";
}

TEST(Options, Environment) {
  const Options options = accepted({"-x", "A", "-x", "B=", "-x", "C=1=2", "prog"});
  const auto& env = options.apps[0].env;
  ASSERT_EQ(env.size(), 3u);
  EXPECT_EQ(env[0].name, "A");
  EXPECT_FALSE(env[0].value);
  EXPECT_EQ(env[1].value, "");
  EXPECT_EQ(env[2].name, "C");
  EXPECT_EQ(env[2].value, "1=2");
}

TEST(Options, SeveralPrograms) {
  const Options options =
      accepted({"-n", "2", "--tag-output", "a", "x", ":", "-n", "3", "--wdir", "/d", "b", ":", "c"});
  ASSERT_EQ(options.apps.size(), 3u);
  EXPECT_EQ(options.roster().pes, 6);
  EXPECT_EQ(options.apps[0].argv, (Words{"a", "x"}));
  EXPECT_EQ(options.apps[1].wdir, "/d");
  EXPECT_EQ(options.apps[2].processes, 1);
  EXPECT_TRUE(options.apps[2].wdir.empty());
  EXPECT_EQ(options.tag, Tag::kRank);
}

TEST(Options, AColonAmongTheArgumentsIsEscaped) {
  const Options options = accepted({"a", R"(\:)", "x:", R"(\\:)", R"(\a:)", R"(\)", ":", "b", R"(\:)"});
  ASSERT_EQ(options.apps.size(), 2u);
  EXPECT_EQ(options.apps[0].argv, (Words{"a", ":", "x:", R"(\:)", R"(\a:)", R"(\)"}));
  EXPECT_EQ(options.apps[1].argv, (Words{"b", ":"}));
}

TEST(Options, VirtualNodes) {
  EXPECT_EQ(accepted({"-n", "4", "--virtual-nodes", "4", "prog"}).virtual_nodes, 4);
  EXPECT_EQ(accepted({"--virtual-nodes", "3", "-n", "2", "a", ":", "b"}).virtual_nodes, 3);
  EXPECT_FALSE(accepted({"-n", "4", "--virtual-nodes", "4", "prog"}).cyclic);
  const Options cyclic = accepted({"-n", "4", "--virtual-nodes=2:cyclic", "prog"});
  EXPECT_EQ(cyclic.virtual_nodes, 2);
  EXPECT_TRUE(cyclic.cyclic);
}

TEST(Options, MemoryServers) {
  const Options none = accepted({"-n", "2", "prog"});
  EXPECT_EQ(none.roster().servers, 0);
  EXPECT_FALSE(none.memory_per_server);
  EXPECT_FALSE(none.remote_malloc);
  const Options options = accepted({"-n", "2", "--memory-servers", "3", "--memory-per-server=1.5g",
                                    "--remote-malloc", "8m", "a", ":", "b"});
  EXPECT_EQ(options.roster().pes, 3);
  EXPECT_EQ(options.roster().servers, 3);
  EXPECT_EQ(options.memory_per_server, std::size_t{3} << 29);
  EXPECT_EQ(options.remote_malloc, std::size_t{8} << 20);
  EXPECT_EQ(accepted({"-n", "4000", "--memory-servers", "96", "prog"}).roster().size(), 4096);
}

TEST(Options, MemoryServersOfTheEnvironmentStandForTheOption) {
  const auto servers = [](const Words& words, std::string_view variable) {
    const ParseResult result = parse_options(words, variable);
    EXPECT_EQ(result.kind, Kind::kRun) << result.text;
    return result.options.memory_servers;
  };
  EXPECT_EQ(servers({"prog"}, "3"), 3);
  EXPECT_EQ(servers({"prog"}, ""), 0);
  EXPECT_EQ(servers({"--remote-malloc", "1", "prog"}, "1"), 1);
  EXPECT_EQ(servers({"--memory-servers", "2", "prog"}, "3"), 2);
  EXPECT_EQ(servers({"--memory-servers", "0", "prog"}, "3"), 0);
  EXPECT_EQ(servers({"--memory-servers", "2", "prog"}, "nonsense"), 2);
  for (const char* wrong : {"x", "-1", "1.5", "auto", "4097"}) {
    const ParseResult result = parse_options({"prog"}, wrong);
    EXPECT_EQ(result.kind, Kind::kRefuse);
    EXPECT_EQ(result.text, std::string("oshrun: SHMEM_MEMORY_SERVERS '") + wrong +
                               "': the number of memory servers must be a whole number from 0 to 4096");
  }
}

TEST(Options, HelpAndVersionWinOverEverythingBehindThem) {
  EXPECT_EQ(parse_options({"--help", "--nope"}).kind, Kind::kShow);
  EXPECT_EQ(parse_options({"-h"}).text, help_text());
  for (const char* word : {"--version", "-V"}) EXPECT_EQ(parse_options({word}).text, version_text()) << word;
}

void expect_refusals(const std::vector<std::pair<Words, std::string>>& cases) {
  for (const auto& [words, part] : cases) {
    const ParseResult result = parse_options(words);
    EXPECT_EQ(result.kind, Kind::kRefuse) << part;
    EXPECT_NE(result.text.find(part), std::string::npos) << result.text;
    EXPECT_TRUE(result.text.starts_with("oshrun: ")) << result.text;
    EXPECT_EQ(result.text.find('\n'), std::string::npos) << result.text;
  }
}

TEST(Options, RefusesInOneLineThatNamesTheMistake) {
  expect_refusals({
      {{}, "no program to start"},
      {{"-n", "2"}, "no program to start"},
      {{""}, "no program to start"},
      {{"a", ":"}, "no program after ':'"},
      {{":", "a"}, "no program to start"},
      {{"-n"}, "-n needs a value"},
      {{"-n", "0", "a"}, "-n '0'"},
      {{"-n", "-3", "a"}, "-n '-3'"},
      {{"-n", "4x", "a"}, "-n '4x'"},
      {{"-n", "", "a"}, "-n ''"},
      {{"-n", "1000001", "a"}, "1000000"},
      {{"-n", "99999999999999", "a"}, "1000000"},
      {{"--nope", "a"}, "'--nope'"},
      {{"-z", "a"}, "'-z'"},
      {{"-x", "=1", "a"}, "NAME"},
      {{"--wdir", "", "a"}, "--wdir"},
      {{"--timeout", "0", "a"}, "--timeout '0'"},
      {{"--timeout", "-1", "a"}, "seconds"},
      {{"--timeout", "soon", "a"}, "seconds"},
      {{"--timeout", "nan", "a"}, "seconds"},
      {{"--timeout", "inf", "a"}, "seconds"},
      {{"--timeout", "31536001", "a"}, "up to 31536000"},
      {{"--timeout", "5x", "a"}, "seconds"},
      {{"--timeout", "", "a"}, "seconds"},
      {{"--kill-after", "0", "a"}, "--kill-after '0'"},
      {{"--answer-within", "-1", "a"}, "--answer-within '-1'"},
      {{"--stuck-after", "soon", "a"}, "--stuck-after 'soon'"},
      {{"--bind", "socket", "a"}, "none, core, numa or auto"},
      {{"--virtual-nodes", "0", "a"}, "--virtual-nodes '0'"},
      {{"-n", "2", "--virtual-nodes", "2:random", "a"}, "--virtual-nodes '2:random'"},
      {{"-n", "2", "--virtual-nodes", ":cyclic", "a"}, "':cyclic' behind it"},
      {{"-H", "", "a"}, "-H ''"},
      {{"--hostfile", "", "a"}, "--hostfile ''"},
      {{"-H", "a", "--hostfile", "f", "a"}, "give one of them"},
      {{"--hostfile", "f", "--host=a", "a"}, "give one of them"},
      {{"-H", "a", "-H", "b", "a"}, "give one of them, and once"},
      {{"--hostfile", "f", "--hostfile", "g", "a"}, "give one of them, and once"},
      {{"-n", "600000", "a", ":", "-n", "600000", "b"}, "1200000 PEs in all; at most 1000000"},
      {{"--launcher", "ssh", "a"}, "auto, local, srun, prterun or mpirun"},
  });
}

TEST(Options, RefusesMorePesThanAnyNumberHolds) {
  Words words{"-n", "1000000", "a"};
  for (int i = 0; i < 2200; ++i) words.insert(words.end(), {":", "-n", "1000000", "a"});
  EXPECT_EQ(parse_options(words).text,
            "oshrun: -n: the programs have 2201000000 PEs in all; at most 1000000 are possible; start fewer");
}

TEST(Options, CountsMustFit) {
  const auto wrong = [](const Words& words, bool one_machine) {
    return check_counts(parse_options(words).options, one_machine);
  };
  const Words two_times{"-n", "4000", "a", ":", "-n", "4000", "b"};
  EXPECT_EQ(wrong(two_times, true), "oshrun: the job has 8000 PEs; at most 4096 are possible on one machine");
  EXPECT_EQ(wrong(two_times, false), "");
  EXPECT_EQ(wrong({"-n", "4097", "a"}, true),
            "oshrun: the job has 4097 PEs; at most 4096 are possible on one machine");
  EXPECT_EQ(wrong({"--memory-servers", "4096", "a"}, true),
            "oshrun: the job has 1 PE and 4096 memory servers; at most 4096 are possible on one machine");
  for (const bool one_machine : {true, false}) {
    for (const char* nodes : {"2", "2:cyclic"})
      EXPECT_EQ(wrong({"--virtual-nodes", nodes, "a"}, one_machine),
                "oshrun: --virtual-nodes 2: the job has only 1 PE; give at most that many nodes");
    EXPECT_EQ(wrong({"-n", "2", "--memory-servers", "2", "--virtual-nodes", "3", "a"}, one_machine),
              "oshrun: --virtual-nodes 3: the job has only 2 PEs; give at most that many nodes");
  }
}

TEST(Options, HostsAndLaunchers) {
  const Options none = accepted({"prog"});
  EXPECT_EQ(none.launcher, Launcher::kAuto);
  EXPECT_FALSE(none.dry_run);
  EXPECT_FALSE(none.apps[0].processes_given);
  EXPECT_EQ(none.host_list + none.hostfile, "");
  for (const Words& words :
       {Words{"-H", "a,b:2", "prog"}, {"--host", "a,b:2", "prog"}, {"--host=a,b:2", "prog"}})
    EXPECT_EQ(accepted(words).host_list, "a,b:2");
  EXPECT_EQ(accepted({"--hostfile", "f", "prog"}).hostfile, "f");
  EXPECT_TRUE(accepted({"-n", "1", "prog"}).apps[0].processes_given);
  const std::pair<const char*, Launcher> kinds[] = {{"auto", Launcher::kAuto},
                                                    {"local", Launcher::kLocal},
                                                    {"srun", Launcher::kSrun},
                                                    {"prterun", Launcher::kPrterun},
                                                    {"mpirun", Launcher::kMpirun}};
  for (const auto& [word, kind] : kinds)
    EXPECT_EQ(accepted({"--launcher", word, "prog"}).launcher, kind) << word;
}

TEST(Options, OfOshrunAloneAreNoted) {
  EXPECT_TRUE(accepted({"--timeout", "1", "prog"}).local_only.empty());
  EXPECT_EQ(accepted({"--kill-after", "1", "--stuck-after=2", "--answer-within", "3", "prog"}).local_only,
            (Words{"--kill-after", "--stuck-after", "--answer-within"}));
}

TEST(Options, TheCommandLineForThisHost) {
  EXPECT_EQ(accepted({"--dry-run", "-n", "2", "--launcher", "auto", "prog", "--dry-run", ":",
                      "--launcher=local", "--launcher", "auto", "--tag-output", "b", "\\:"})
                .local_words,
            (Words{"-n", "2", "prog", "--dry-run", ":", "--tag-output", "b", "\\:"}));
}

TEST(Options, RefusesMemoryServersThatCannotBe) {
  expect_refusals({
      {{"--memory-servers", "2"}, "no program to start"},
      {{"-n", "0", "--memory-servers", "2", "a"}, "-n '0'"},
      {{"--memory-servers", "a"}, "--memory-servers 'a'"},
      {{"--memory-servers", "-1", "a"}, "--memory-servers '-1'"},
      {{"--memory-servers", "4097", "a"}, "0 to 4096"},
      {{"--memory-servers", "99999999999999", "a"}, "0 to 4096"},
      {{"-x", "SHMEM_MEMORY_SERVERS=2", "a"}, "give --memory-servers"},
      {{"--memory-per-server", "4g", "a"}, "--memory-per-server: the job has no memory servers"},
      {{"--remote-malloc", "8m", "a"}, "--remote-malloc: the job has no memory servers"},
      {{"--memory-servers", "0", "--remote-malloc", "8m", "a"}, "no memory servers"},
      {{"--memory-servers", "1", "--memory-per-server", "much", "a"}, "--memory-per-server 'much'"},
      {{"--memory-servers", "1", "--memory-per-server", "0", "a"}, "a size above 0"},
      {{"--memory-servers", "1", "--remote-malloc", "-8m", "a"}, "--remote-malloc '-8m'"},
      {{"--memory-servers", "1", "--remote-malloc", "", "a"}, "--remote-malloc ''"},
      {{"--memory-servers", "1", "--remote-malloc", "99999999999999999999t", "a"}, "a size above 0"},
  });
}

}  // namespace
}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
#include "borrowed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "options.hpp"

namespace oshrun {
namespace {

using Kind = ParseResult::Kind;
using Words = std::vector<std::string>;

Options taken(Words words) {
  words.push_back("prog");
  ParseResult result = parse_options(words);
  EXPECT_EQ(result.kind, Kind::kRun) << result.text;
  EXPECT_EQ(result.options.apps.empty() ? Words{} : result.options.apps[0].argv, Words{"prog"});
  return result.options;
}

std::string refused(Words words) {
  words.push_back("prog");
  const ParseResult result = parse_options(words);
  EXPECT_EQ(result.kind, Kind::kRefuse) << words[0];
  return result.text;
}

TEST(Borrowed, NumbersOfPes) {
  for (const Words& words : {Words{"--n", "3"}, {"--ntasks", "3"}, {"--ntasks=3"}, {"-np", "3"}})
    EXPECT_EQ(taken(words).roster().pes, 3) << words[0];
  for (const Words& words : {Words{"-npernode", "3"},
                             {"--npernode", "3"},
                             {"-ppn", "3"},
                             {"-perhost", "3"},
                             {"--ntasks-per-node=3"}})
    EXPECT_EQ(taken(words).per_host, 3) << words[0];
  EXPECT_THAT(refused({"-N", "2"}), ::testing::HasSubstr("give --per-host N"));
  EXPECT_THAT(refused({"-c", "2"}), ::testing::HasSubstr("give -n, the number of PEs"));
}

TEST(Borrowed, WhatIsSoAnywayIsTakenInSilence) {
  for (const char* word : {"--oversubscribe", "-oversubscribe", "--allow-run-as-root", "-genvall",
                           "--overcommit", "-q", "--mpi=pmix", "-u", "--kill-on-bad-exit"})
    EXPECT_THAT(taken({word}).notes, ::testing::IsEmpty()) << word;
}

TEST(Borrowed, HostsAndDirectories) {
  EXPECT_EQ(taken({"--machinefile", "f"}).hostfile, "f");
  EXPECT_EQ(taken({"-f", "f"}).hostfile, "f");
  EXPECT_EQ(taken({"-hostfile", "f"}).hostfile, "f");
  EXPECT_EQ(taken({"-hosts", "a,b"}).host_list, "a,b");
  EXPECT_EQ(taken({"--nodelist=a,b"}).host_list, "a,b");
  for (const char* name : {"-wdir", "--wd", "--chdir", "-D"})
    EXPECT_EQ(taken({name, "/tmp"}).apps[0].wdir, "/tmp") << name;
}

TEST(Borrowed, Bindings) {
  EXPECT_EQ(taken({"--bind-to", "core"}).bind, Bind::kCore);
  EXPECT_EQ(taken({"-bind-to", "core:overload-allowed"}).bind, Bind::kCore);
  EXPECT_EQ(taken({"--bind-to", "socket"}).bind, Bind::kNuma);
  EXPECT_EQ(taken({"--cpu-bind=verbose,none"}).bind, Bind::kNone);
  EXPECT_EQ(refused({"--bind-to", "moon"}), "oshrun: --bind-to 'moon': give --bind none, core, numa or auto");
  EXPECT_TRUE(taken({"--display-map"}).report_bindings);
}

TEST(Borrowed, VariablesAndLabels) {
  const auto variable = [](const Options& options, std::size_t i) {
    const EnvSetting& setting = options.apps[0].env.at(i);
    return setting.name + "=" + setting.value.value_or("(passed on)");
  };
  EXPECT_EQ(variable(taken({"-genv", "A", "1"}), 0), "A=1");
  EXPECT_EQ(variable(taken({"-env", "A", "b=c"}), 0), "A=b=c");
  const Options exported = taken({"--export=ALL,A=1,B"});
  EXPECT_EQ(variable(exported, 0), "A=1");
  EXPECT_EQ(variable(exported, 1), "B=(passed on)");
  EXPECT_EQ(exported.apps[0].env.size(), 2u);
  EXPECT_THAT(refused({"--export=NONE"}), ::testing::HasSubstr("env -i"));
  for (const char* word : {"-l", "--label", "-prepend-rank", "-tag-output"})
    EXPECT_EQ(taken({word}).tag, Tag::kRank) << word;
}

TEST(Borrowed, WhatHasNoEffectIsSaid) {
  const Options options = taken({"--mca", "btl", "self,tcp", "--map-by", "node"});
  ASSERT_EQ(options.notes.size(), 2u);
  EXPECT_THAT(options.notes[0],
              ::testing::StartsWith("oshrun: --mca has no effect: it sets parameters of Open MPI"));
  EXPECT_THAT(options.notes[1], ::testing::StartsWith("oshrun: --map-by has no effect: PEs are numbered"));
  EXPECT_EQ(taken({"-v"}).notes.size(), 1u);
}

TEST(Borrowed, WhatCannotBeTakenIsAnswered) {
  EXPECT_THAT(refused({"--output-filename", "out"}), ::testing::HasSubstr(">out.$PMIX_RANK"));
  EXPECT_THAT(refused({"-t", "10"}), ::testing::HasSubstr("--timeout, in seconds"));
  EXPECT_THAT(refused({"--partition", "long"}), ::testing::HasSubstr("sbatch or salloc"));
}

// As Slurm takes them.
TEST(Borrowed, ValuesMayBeAttachedToALetter) {
  EXPECT_EQ(taken({"-wnode1"}).host_list, "node1");
  EXPECT_EQ(taken({"-wa,b"}).host_list, "a,b");
  EXPECT_EQ(taken({"-D/tmp"}).apps[0].wdir, "/tmp");
  EXPECT_THAT(taken({"-mcyclic"}).notes, ::testing::ElementsAre(::testing::StartsWith("oshrun: -m has no")));
  EXPECT_THAT(refused({"-N2"}), ::testing::StartsWith("oshrun: -N: Open MPI and Slurm mean different"));
  EXPECT_THAT(refused({"-c4"}), ::testing::HasSubstr("-c: Open MPI and Slurm mean different things by it"));
  EXPECT_EQ(refused({"-t10"}), "oshrun: -t: give --timeout, in seconds");
  EXPECT_EQ(refused({"-t1:00:00"}), "oshrun: -t: give --timeout, in seconds");
  EXPECT_THAT(refused({"-plong"}), ::testing::StartsWith("oshrun: -p: is for sbatch or salloc"));
}

TEST(Borrowed, LongOptionsWithOneDashAreNoLetterWithAValue) {
  EXPECT_EQ(taken({"-wdir", "/tmp"}).apps[0].wdir, "/tmp");
  EXPECT_TRUE(taken({"-display-map"}).report_bindings);
  EXPECT_THAT(refused({"-wdri", "/tmp"}), ::testing::HasSubstr("unknown option '-wdri'; is --wdir meant?"));
  EXPECT_THAT(refused({"-machinefle", "f"}), ::testing::HasSubstr("is --machinefile meant?"));
  EXPECT_THAT(refused({"-O2"}), ::testing::HasSubstr("unknown option '-O2'"));  // takes no value
  EXPECT_THAT(refused({"--N2"}), ::testing::HasSubstr("unknown option '--N2'"));
}

TEST(Borrowed, ValuesThatAreMissingAreNamed) {
  EXPECT_EQ(parse_options({"--bind-to"}).text, "oshrun: --bind-to needs a value behind it");
  EXPECT_EQ(parse_options({"--mca", "btl"}).text, "oshrun: --mca needs two values behind it");
  EXPECT_EQ(parse_options({"--tag-output=1", "prog"}).text,
            "oshrun: --tag-output '1': this option takes no value");
}

TEST(Borrowed, MisspeltOptionsAreRecognised) {
  EXPECT_THAT(refused({"--virtualnodes", "2"}), ::testing::HasSubstr("is --virtual-nodes meant?"));
  EXPECT_THAT(refused({"--hostfle", "f"}), ::testing::HasSubstr("is --hostfile meant?"));
  EXPECT_EQ(refused({"--nothing-alike"}),
            "oshrun: unknown option '--nothing-alike'; 'oshrun --help' lists the options");
}

TEST(Borrowed, NamesOfVariablesAreChecked) {
  for (const char* name : {"-n", "-n=1", "=1", "a\nb=1"})
    EXPECT_THAT(refused({"-x", name}), ::testing::HasSubstr("give NAME or NAME=VALUE"));
  for (const std::string name : {"_a1", "1", "foo.bar", "BASH_FUNC_f%%", "a b"})
    EXPECT_EQ(taken({"-x", name + "=2"}).apps[0].env[0].name, name);
}

}  // namespace
}  // namespace oshrun

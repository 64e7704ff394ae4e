// SPDX-License-Identifier: BSD-3-Clause
// Whole command lines of oshrun, and what becomes of them.
#include <gtest/gtest.h>

#include <cerrno>

#include "engine.hpp"
#include "memory_servers.hpp"

namespace oshrun {
namespace {

using Line = std::vector<std::string>;

const Candidate kSrun{Engine::kSrun, "srun"};
const Candidate kMpirun4{Engine::kMpirun, "mpirun"};
const Candidate kPrterun{Engine::kPrterun, "prterun", true};

class HandOverOf : public ::testing::Test {
 protected:
  Surroundings place_{"h0", "/project", false, {}, "/there/bin/oshrun"};

  /// What the words of oshrun become, as a line for a shell; or the error.
  std::string line(const Candidate& engine, const Line& words) const {
    const auto servers = place_.value("SHMEM_MEMORY_SERVERS");
    ParseResult parsed = parse_options(words, servers.value_or(""));
    EXPECT_EQ(parsed.kind, ParseResult::Kind::kRun) << parsed.text;
    Options& options = parsed.options;
    std::vector<Host> hosts =
        options.host_list.empty() ? std::vector<Host>{} : parse_host_list("-H", options.host_list).hosts;
    EXPECT_EQ(use_per_host(options, hosts, place_), "");
    EXPECT_EQ(default_pes(options, hosts, place_), "");
    const HandOver result =
        hand_over(options, all_apps(options, {"/there/bin", "/there/lib"}), hosts, engine, place_);
    return result.error.empty() ? shell_line(result.argv) : result.error;
  }

  /// Whether the words stand in the line, one behind the other.
  static bool has(const std::string& line, const std::string& words) {
    return (" " + line + " ").find(" " + words + " ") != std::string::npos;
  }
};

const std::string kTunables = "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192";
const std::string kProgram = "/usr/bin/env -C /project " + kTunables + " prog";
const std::string kSrunStart =
    "srun --mpi=pmix --export=ALL --input=0 --kill-on-bad-exit=1 --quit-on-interrupt ";
const std::string kRunStart = "mpirun --map-by slot:OVERSUBSCRIBE --bind-to none --host ";

TEST_F(HandOverOf, AProgram) {
  EXPECT_EQ(line(kSrun, {"-n", "4", "prog", "-x", "a b"}),
            kSrunStart + "--ntasks=4 " + kProgram + " -x 'a b'");
  EXPECT_EQ(line(kMpirun4, {"-n", "4", "-H", "a,b", "prog"}), kRunStart + "a:2,b:2 -n 4 " + kProgram);
  EXPECT_EQ(line(kPrterun, {"-n", "4", "-H", "a,b", "prog"}),
            "prterun --map-by slot:oversubscribe --bind-to none --host a:2,b:2 -n 4 " + kProgram);
}

TEST_F(HandOverOf, NeverStartsWithoutPmix) { EXPECT_TRUE(has(line(kSrun, {"prog"}), "--mpi=pmix")); }

TEST_F(HandOverOf, HostsGetTheirPlaces) {
  EXPECT_EQ(line(kSrun, {"-H", "b:1,a:2", "prog"}),
            kSrunStart + "--ntasks=3 --nodes=2 --nodelist=b,a,a --distribution=arbitrary " + kProgram);
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "b:1,a:2", "prog"}), "--host b:1,a:2 -n 3"));
  EXPECT_TRUE(line(kMpirun4, {"-n", "4", "-H", "b:1,a:2", "prog"})
                  .starts_with("oshrun: the hosts have places for 3"));
}

TEST_F(HandOverOf, AnAllocationIsUsedAsAWhole) {
  place_.environment = {{"SLURM_JOB_ID", "1"},
                        {"SLURM_JOB_NUM_NODES", "2"},
                        {"SLURM_JOB_CPUS_PER_NODE", "2(x2)"},
                        {"SLURM_NTASKS", "4"}};
  EXPECT_TRUE(has(line(kSrun, {"prog"}), "--ntasks=4 --nodes=2 /usr/bin/env"));
  EXPECT_TRUE(has(line(kSrun, {"-n", "1", "prog"}), "--ntasks=1 --nodes=1 /usr/bin/env"));
  EXPECT_TRUE(has(line(kSrun, {"-n", "5", "prog"}), "--ntasks=5 --nodes=2 --overcommit /usr/bin/env"));
  EXPECT_TRUE(has(line(kMpirun4, {"prog"}), "--map-by slot:OVERSUBSCRIBE --bind-to none -n 4 /usr/bin/env"));
  EXPECT_TRUE(has(line(kPrterun, {"prog"}), "--map-by slot:oversubscribe --bind-to none -n 4 /usr/bin/env"));
}

TEST_F(HandOverOf, HostsMayGetMoreThanTheAllocationHasCpusThere) {
  place_.environment = {
      {"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_JOB_CPUS_PER_NODE", "4,2,8"}};
  EXPECT_TRUE(has(line(kSrun, {"-H", "a:3", "prog"}), "--distribution=arbitrary --overcommit /usr/bin/env"));
  EXPECT_TRUE(has(line(kSrun, {"-H", "a:2,b:2", "prog"}), "--distribution=arbitrary /usr/bin/env"));
  place_.environment["SLURM_JOB_CPUS_PER_NODE"] = "";
  EXPECT_FALSE(has(line(kSrun, {"-H", "a:9", "prog"}), "--overcommit")) << "nobody says how many there are";
  EXPECT_FALSE(has(line(kSrun, {"-n", "9", "prog"}), "--overcommit"));
  place_.environment.clear();
  EXPECT_FALSE(has(line(kSrun, {"-H", "a:9", "prog"}), "--overcommit")) << "Slurm gets what is needed";
}

TEST_F(HandOverOf, Variables) {
  const Line words{"-n", "2",  "-H",    "a",  "-x",      "A=b, c=d;e", "-x",
                   "E=", "-x", "GIVEN", "-x", "MISSING", "prog"};
  place_.environment = {{"GIVEN", "it's"}, {"OTHER", "1"}};
  const std::string passed_on = kTunables + " 'GIVEN=it'\\''s'", theirs = " 'A=b, c=d;e' E= prog";
  EXPECT_TRUE(has(line(kMpirun4, words), passed_on + theirs));
  EXPECT_TRUE(has(line(kPrterun, words), passed_on + theirs));
  EXPECT_TRUE(has(line(kSrun, words), kTunables + theirs)) << "srun takes all that is there with it";
}

// As where oshrun itself starts the job.
TEST_F(HandOverOf, ANameAloneChangesNothingThatIsSet) {
  place_.environment = {{"A", "0"}, {"GLIBC_TUNABLES", "x=1"}, {"SHMEM_MEMORY_SERVERS", "2"}};
  const Line words{
      "-H", "a", "-n", "2", "-x", "A=1", "-x", "A", "-x", "GLIBC_TUNABLES", "-x", "SHMEM_MEMORY_SERVERS"};
  Line with_servers = words;
  with_servers.insert(with_servers.end(), {"--memory-servers", "1", "prog"});
  const std::string said = line(kMpirun4, with_servers);
  EXPECT_NE(said.find(" A=0 SHMEM_MEMORY_SERVERS=1 A=1 prog"), std::string::npos) << said;
  EXPECT_EQ(said.find("GLIBC_TUNABLES=x=1 "), std::string::npos) << said;
  EXPECT_EQ(said.find("SHMEM_MEMORY_SERVERS=2"), std::string::npos) << said;
}

TEST_F(HandOverOf, TheLibrarysVariablesTravel) {
  place_.environment = {{"SHMEM_DEBUG", "1"},    {"FI_LOG_LEVEL", "warn"},
                        {"SMA_INFO", "1"},       {"ATOLL_JOB_ID", "x"},
                        {"HOME", "/root"},       {"PATH", "/bin"},
                        {"LD_LIBRARY_PATH", ""}, {"PMIX_MCA_gds", "hash"},
                        {"ATOLL_FAULTS", "1"},   {"XFI_", "1"}};
  EXPECT_TRUE(
      has(line(kMpirun4, {"-H", "a", "-x", "SHMEM_DEBUG=0", "prog"}),
          "-C /project " + kTunables +
              " ATOLL_FAULTS=1 FI_LOG_LEVEL=warn LD_LIBRARY_PATH= PMIX_MCA_gds=hash SHMEM_DEBUG=1 SMA_INFO=1 "
              "SHMEM_DEBUG=0 prog"))
      << "the last one counts";
  EXPECT_EQ(line(kSrun, {"prog"}), kSrunStart + "--ntasks=1 " + kProgram);
}

TEST_F(HandOverOf, EachHostGetsAsManyPesAsAsked) {
  const Line words{"--per-host", "3", "prog"};
  EXPECT_EQ(line(kSrun, words), kSrunStart + "--ntasks=3 --ntasks-per-node=3 " + kProgram);
  place_.environment = {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", "2"}};
  EXPECT_TRUE(has(line(kSrun, words), "--ntasks=6 --nodes=2 --ntasks-per-node=3 " + kProgram));
  EXPECT_TRUE(
      has(line(kMpirun4, words), "--map-by ppr:3:node:OVERSUBSCRIBE --bind-to none -n 6 /usr/bin/env"));
  EXPECT_TRUE(
      has(line(kPrterun, words), "--map-by ppr:3:node:oversubscribe --bind-to none -n 6 /usr/bin/env"));
  EXPECT_FALSE(has(line(kSrun, {"--per-host", "3", "-H", "a,b", "prog"}), "--ntasks-per-node=3"));
  EXPECT_TRUE(has(line(kMpirun4, {"--per-host", "3", "-H", "a,b", "prog"}), "--host a:3,b:3 -n 6"));
  // Where it could not be told.
  for (const Candidate& engine : {kSrun, kMpirun4})
    EXPECT_EQ(
        line(engine, {"--per-host", "3", "--memory-servers", "1", "prog"}),
        "oshrun: --per-host 3: memory servers would be among them; name the hosts of the allocation with "
        "-H as well");
  const Line two{"--per-host", "2", "-n", "1", "one", ":", "-n", "3", "two"};
  EXPECT_TRUE(has(line(kSrun, two), "--ntasks=4 --nodes=2 --ntasks-per-node=2"));
  EXPECT_EQ(line(kMpirun4, two),
            "oshrun: --per-host 2: the job has several programs; name the hosts of the allocation with -H as "
            "well");
}

TEST_F(HandOverOf, TunablesOfTheUserStay) {
  place_.environment = {{"GLIBC_TUNABLES", "glibc.malloc.check=0"}};
  EXPECT_TRUE(has(line(kSrun, {"prog"}),
                  "GLIBC_TUNABLES=glibc.malloc.check=0:glibc.rtld.optional_static_tls=8192 prog"));
}

TEST_F(HandOverOf, ADirectory) {
  EXPECT_TRUE(has(line(kSrun, {"--wdir", "/a b", "prog"}), "/usr/bin/env -C '/a b' " + kTunables));
  EXPECT_TRUE(
      has(line(kMpirun4, {"-H", "a", "--wdir", "sub", "prog"}), "/usr/bin/env -C /project/sub " + kTunables));
}

TEST_F(HandOverOf, ADirectoryThatHasBeenRemoved) {
  place_.directory = "";
  place_.no_directory = ENOENT;
  const std::string error =
      "oshrun: the current directory has been removed, and the programs would start there; go to another one";
  EXPECT_EQ(line(kSrun, {"prog"}), error);
  EXPECT_EQ(line(kMpirun4, {"-H", "a", "--wdir", "sub", "prog"}), error);
  EXPECT_TRUE(has(line(kSrun, {"--wdir", "/sub", "prog"}), "-C /sub"));
  place_.no_directory = EACCES;
  EXPECT_EQ(
      line(kSrun, {"prog"}),
      "oshrun: the current directory has no path that can be told (Permission denied), and the programs "
      "would start there; go to another one, or give a path from / to --wdir");
}

TEST_F(HandOverOf, Bindings) {
  const std::pair<const char*, std::pair<const char*, const char*>> kinds[] = {
      {"none", {"--bind-to none", "--cpu-bind=none"}},
      {"core", {"--bind-to core", "--cpu-bind=cores"}},
      {"numa", {"--bind-to numa", "--cpu-bind=ldoms"}},
      {"auto", {"--bind-to none", "--ntasks=1 /usr/bin/env"}}};
  for (const auto& [kind, becomes] : kinds) {
    EXPECT_TRUE(has(line(kMpirun4, {"-H", "a", "--bind", kind, "prog"}), becomes.first)) << kind;
    EXPECT_TRUE(has(line(kPrterun, {"-H", "a", "--bind", kind, "prog"}), becomes.first)) << kind;
    EXPECT_TRUE(has(line(kSrun, {"--bind", kind, "prog"}), becomes.second)) << kind;
  }
  EXPECT_TRUE(
      has(line(kMpirun4, {"-H", "a", "--report-bindings", "prog"}), "--bind-to none --report-bindings"));
  EXPECT_TRUE(
      has(line(kPrterun, {"-H", "a", "--report-bindings", "prog"}), "--bind-to none --display bindings"));
  EXPECT_TRUE(has(line(kSrun, {"--report-bindings", "prog"}), "--cpu-bind=verbose"));
  EXPECT_TRUE(has(line(kSrun, {"--report-bindings", "--bind=core", "prog"}), "--cpu-bind=verbose,cores"));
}

TEST_F(HandOverOf, Tags) {
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "a", "--tag-output", "prog"}), "--tag-output --host"));
  EXPECT_TRUE(has(line(kPrterun, {"-H", "a", "--tag-output", "prog"}), "--output tag --host"));
  EXPECT_TRUE(has(line(kSrun, {"--tag-output", "prog"}), "--label /usr/bin/env"));
}

TEST_F(HandOverOf, ATimeLimitIsTheSameEverywhere) {
  EXPECT_TRUE(
      line(kSrun, {"--timeout", "60", "prog"}).starts_with("/there/bin/oshrun --run-within 60 60 srun "));
  EXPECT_TRUE(line(kMpirun4, {"-H", "a", "--timeout", "2.5", "prog"})
                  .starts_with("/there/bin/oshrun --run-within 2.5 60 mpirun "));
}

TEST_F(HandOverOf, RootMayRunJobsEverywhereOrNowhere) {
  EXPECT_FALSE(has(line(kMpirun4, {"-H", "a", "prog"}), "--allow-run-as-root"));
  place_.root = true;
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "a", "prog"}), "mpirun --allow-run-as-root"));
  EXPECT_TRUE(has(line(kPrterun, {"-H", "a", "prog"}), "prterun --allow-run-as-root"));
  EXPECT_FALSE(has(line(kSrun, {"prog"}), "--allow-run-as-root"));
}

TEST_F(HandOverOf, SeveralPrograms) {
  const Line words{"-H", "a:2,b:2", "-n", "1",      "-x", "A=1", "one",
                   ":",  "-n",      "3",  "--wdir", "/d", "two", "x y"};
  const std::string one = "/usr/bin/env -C /project " + kTunables + " A=1 one";
  const std::string two = "/usr/bin/env -C /d " + kTunables + " two 'x y'";
  EXPECT_EQ(line(kMpirun4, words), kRunStart + "a:2,b:2 -n 1 " + one + " : --host a:2,b:2 -n 3 " + two);
  EXPECT_EQ(line(kSrun, words),
            kSrunStart + "--ntasks=4 --nodes=2 --nodelist=a,a,b,b --distribution=arbitrary /bin/sh -c " +
                shell_line({"[ \"$SLURM_PROCID\" -ge 1 ] || exec " + one + "; exec " + two}));
}

TEST_F(HandOverOf, MemoryServersAreTheLastProgram) {
  const Line words{
      "-H", "a",   "-n", "2", "--memory-servers", "1", "--memory-per-server", "1k", "--remote-malloc",
      "8m", "prog"};
  const std::string job = kTunables + " SHMEM_MEMORY_SERVERS=1 SHMEM_MEMORY_PER_SERVER=1024 ";
  const std::string run = line(kMpirun4, words);
  EXPECT_TRUE(has(run, "--host a:3 -n 2")) << run;
  EXPECT_TRUE(has(run, job + "LD_PRELOAD=/there/lib/libshmem_remote.so SHMEM_REMOTE_MALLOC=8388608 prog"))
      << run;
  EXPECT_TRUE(has(run, ": --host a:3 -n 1 /usr/bin/env -C /project " + job + "/there/bin/shmem_memory"))
      << run;
  const std::string step = line(kSrun, words);
  EXPECT_NE(step.find("--ntasks=3 "), std::string::npos) << step;
  EXPECT_NE(step.find("-ge 2 ] || exec /usr/bin/env"), std::string::npos) << step;
}

TEST_F(HandOverOf, NoServersMeansNone) {
  place_.environment = {{"SHMEM_MEMORY_SERVERS", "2"}};
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "a", "prog"}), "SHMEM_MEMORY_SERVERS=2 /there/bin/shmem_memory"));
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "a", "--memory-servers", "0", "prog"}),
                  "-n 1 /usr/bin/env -u SHMEM_MEMORY_SERVERS -C /project " + kTunables + " prog"));
  EXPECT_TRUE(has(line(kSrun, {"--memory-servers", "0", "prog"}), "/usr/bin/env -u SHMEM_MEMORY_SERVERS"));
}

TEST_F(HandOverOf, VirtualNodesAreThoseOfEachHost) {
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "a,b", "-n", "4", "--virtual-nodes", "2:cyclic", "prog"}),
                  kTunables + " SHMEM_VIRTUAL_NODES=2 SHMEM_VIRTUAL_ORDER=cyclic prog"));
}

TEST_F(HandOverOf, WhatOnlyOshrunCanDoIsRefused) {
  for (const char* option : {"--kill-after", "--answer-within", "--stuck-after"})
    EXPECT_EQ(line(kSrun, {option, "1", "prog"}),
              std::string("oshrun: ") + option +
                  ": srun starts this job and has no such option; leave it out, or give --launcher local");
}

TEST_F(HandOverOf, WordsThatEnginesWouldTakeForThemselves) {
  EXPECT_TRUE(
      has(line(kMpirun4, {"-H", "a", "prog", R"(\:)", "x"}), kTunables + " /bin/sh -c 'exec prog : x'"));
  EXPECT_TRUE(has(line(kSrun, {"prog", R"(\:)"}), kTunables + " /bin/sh -c 'exec prog :'"));
  EXPECT_TRUE(has(line(kSrun, {"./a=b", "c"}), kTunables + " /bin/sh -c 'exec ./a=b c'"));
  EXPECT_TRUE(has(line(kSrun, {"--", "-prog"}), kTunables + " -prog"));
  for (const Line& words : {Line{"--", "-prog", R"(\:)"}, Line{"--", "-a=b"}})
    EXPECT_EQ(line(kSrun, words), "oshrun: '" + words[1] +
                                      "': a shell would take this name for an option; give the "
                                      "program by its path, as in ./-a");
  EXPECT_TRUE(has(line(kSrun, {"./-a=b"}), "/bin/sh -c 'exec ./-a=b'"));
}

TEST_F(HandOverOf, WordsThatTheSystemWouldNotTake) {
  const std::size_t longest = 131071;
  const std::string fits(longest - 2, 'x');
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "a", "-x", "A=" + fits, "prog"}), "A=" + fits));
  EXPECT_EQ(
      line(kMpirun4, {"-H", "a", "-x", "A=" + fits + "x", "prog"}),
      "oshrun: 'A=" + std::string(38, 'x') +
          "...' has 131072 bytes, and a word of a command may have 131071; shorten it, or put what it says "
          "into a file");
  EXPECT_NE(
      line(kSrun, {"-H", "a:70000", "prog"})
          .find("'--nodelist=a,a,a,a,a,a,a,a,a,a,a,a,a,a,a...' has 140010 bytes, and a word of a command may "
                "have 131071; give fewer hosts and places, or none inside an allocation"),
      std::string::npos);
  EXPECT_NE(line(kSrun, {"one", fits, ":", "two"}).find("; start fewer programs, or give them less"),
            std::string::npos);
  EXPECT_NE(line(kMpirun4, {"-H", "a", "-x", "A=" + std::string(37, 'x') + "\u00e4" + fits, "prog"})
                .find("'A=" + std::string(37, 'x') + "...' has "),
            std::string::npos)
      << "no half of a character";
  place_.page = 65536;
  EXPECT_TRUE(has(line(kMpirun4, {"-H", "a", "-x", "A=" + fits + "x", "prog"}), "A=" + fits + "x"));
  place_.page = 4096;
  std::string hosts = "a";
  for (int i = 0; i < 20000; ++i) hosts += ",h" + std::to_string(i);
  EXPECT_NE(line(kMpirun4, {"-H", hosts, "prog"}).find("; give fewer hosts and places"), std::string::npos);
}

TEST_F(HandOverOf, AnOuterJobIsForgotten) {
  place_.environment = {{"PMIX_NAMESPACE", "outer"}, {"PMIX_RANK", "0"}, {"PMIX_MCA_x", "1"}};
  const std::string forgets = "/usr/bin/env -u PMIX_NAMESPACE -u PMIX_RANK srun ";
  EXPECT_TRUE(line(kSrun, {"prog"}).starts_with(forgets));
  place_.oshrun = "/a=b/oshrun";  // which env(1) would take for a variable
  EXPECT_TRUE(
      line(kSrun, {"--timeout", "1", "prog"}).starts_with("/a=b/oshrun --run-within 1 60 " + forgets));
}

TEST(ShellLine, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_line({"a", "", "b c", "$x", "it's", "~", "a=b", "*"}),
            R"(a '' 'b c' '$x' 'it'\''s' '~' a=b '*')");
}

}  // namespace
}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <gtest/gtest.h>

namespace oshrun {
namespace {

using Engines = std::vector<Engine>;

const Engines kLocally{Engine::kLocal};
const Engines kBySsh{Engine::kPrterun, Engine::kMpirun};
const Engines kInSlurm{Engine::kSrun, Engine::kPrterun, Engine::kMpirun};

Surroundings at_home() { return {"h0", "/home", false, {}}; }

/// As sbatch and salloc set it.
Surroundings in_allocation(const std::string& nodes, const std::string& list) {
  Surroundings surroundings = at_home();
  surroundings.environment = {{"SLURM_JOB_ID", "7"},
                              {"SLURM_JOB_NUM_NODES", nodes},
                              {"SLURM_JOB_NODELIST", list},
                              {"SLURM_JOB_CPUS_PER_NODE", "2(x2),4"},
                              {"SLURM_NTASKS", "6"}};
  return surroundings;
}

Surroundings with(Surroundings surroundings, const std::string& name, const std::string& value) {
  surroundings.environment[name] = value;
  return surroundings;
}

Engines chosen(const Surroundings& surroundings, const std::string& hosts = "",
               Launcher launcher = Launcher::kAuto) {
  Options options;
  options.launcher = launcher;
  const Choice choice = choose_engine(
      options, hosts.empty() ? std::vector<Host>{} : parse_host_list("-H", hosts).hosts, surroundings);
  EXPECT_EQ(choice.error, "");
  return choice.engines;
}

TEST(Engine, IsLocalForThisHost) {
  EXPECT_EQ(chosen(at_home()), kLocally);
  EXPECT_EQ(chosen(at_home(), "localhost:4"), kLocally);
  EXPECT_EQ(chosen(at_home(), "h0,h0"), kLocally);
}

TEST(Engine, IsNoneForAListThatHasThisHostTwice) {
  const Choice choice = choose_engine({}, parse_host_list("-H", "h0:1,localhost:1,h1:1").hosts, at_home());
  EXPECT_NE(choice.error.find("'localhost' and 'h0'"), std::string::npos) << choice.error;
}

TEST(Engine, IsAnotherForOtherHosts) {
  EXPECT_EQ(chosen(at_home(), "h1"), kBySsh);
  EXPECT_EQ(chosen(at_home(), "h0,h1"), kBySsh);
  EXPECT_EQ(chosen(in_allocation("2", "h[1-2]"), "h1"), kInSlurm);
}

TEST(Engine, IsSlurmsInAnAllocationOfSeveralNodes) {
  EXPECT_EQ(chosen(in_allocation("2", "h[0-1]")), kInSlurm);
  EXPECT_EQ(chosen(with(in_allocation("2", "h[0-1]"), "SLURMD_NODENAME", "h0")), kInSlurm);
}

TEST(Engine, IsLocalInAnAllocationWhereThisNodeIsMeantAlone) {
  EXPECT_EQ(chosen(in_allocation("1", "h0")), kLocally);
  EXPECT_EQ(chosen(with(in_allocation("1", "n7"), "SLURMD_NODENAME", "n7")), kLocally) << "in a batch script";
  EXPECT_EQ(chosen(in_allocation("2", "h[0-1]"), "h0"), kLocally) << "a list counts before the allocation";
  EXPECT_EQ(chosen(in_allocation("1", "n7")), kInSlurm)
      << "salloc on a login node: the job must not run there";
}

TEST(Engine, IsLocalInsideAStep) {
  EXPECT_EQ(chosen(with(in_allocation("2", "h[0-1]"), "SLURM_STEP_ID", "0")), kLocally);
  EXPECT_EQ(chosen(with(in_allocation("2", "h[0-1]"), "SLURM_STEP_ID", "4294967290")), kInSlurm)
      << "the shell that salloc starts on a node is no step of PEs";
}

TEST(Engine, IsWhatTheUserSays) {
  EXPECT_EQ(chosen(at_home(), "", Launcher::kSrun), Engines{Engine::kSrun});
  EXPECT_EQ(chosen(at_home(), "h0", Launcher::kPrterun), Engines{Engine::kPrterun});
  EXPECT_EQ(chosen(in_allocation("2", "h[0-1]"), "h1", Launcher::kMpirun), Engines{Engine::kMpirun});
  EXPECT_EQ(chosen(in_allocation("2", "h[0-1]"), "", Launcher::kLocal), kLocally);
  Options options;
  options.launcher = Launcher::kLocal;
  EXPECT_EQ(choose_engine(options, {{"h0", 1}, {"h1", 1}}, at_home()).error,
            "oshrun: --launcher local starts PEs on this host only, and 'h1' is another; give --launcher "
            "auto, srun, "
            "prterun or mpirun");
}

int pes_by_default(const Surroundings& surroundings, const std::string& hosts, Options options = {}) {
  if (options.apps.empty()) options.apps.resize(1);
  EXPECT_EQ(default_pes(options, hosts.empty() ? std::vector<Host>{} : parse_host_list("-H", hosts).hosts,
                        surroundings),
            "");
  return options.apps[0].processes;
}

TEST(Engine, FillsThePlacesByDefault) {
  EXPECT_EQ(pes_by_default(at_home(), ""), 1);
  EXPECT_EQ(pes_by_default(at_home(), "a,b,c"), 3);
  EXPECT_EQ(pes_by_default(at_home(), "localhost:4"), 4);
  EXPECT_EQ(pes_by_default(in_allocation("2", "h[0-1]"), ""), 6);
  EXPECT_EQ(pes_by_default(in_allocation("2", "h[0-1]"), "h1:2"), 2);
  EXPECT_EQ(pes_by_default(with(in_allocation("2", "h[0-1]"), "SLURM_NTASKS", ""), ""), 2)
      << "one on each node";
  EXPECT_EQ(pes_by_default(with(in_allocation("2", "h[0-1]"), "SLURM_STEP_ID", "0"), ""), 1);
  Options local;
  local.launcher = Launcher::kLocal;
  EXPECT_EQ(pes_by_default(in_allocation("2", "h[0-1]"), "", local), 1);
  Options given;
  given.apps.resize(1);
  given.apps[0].processes_given = true;
  EXPECT_EQ(pes_by_default(in_allocation("2", "h[0-1]"), "", given), 1);
  Options two;
  two.apps.resize(2);
  EXPECT_EQ(pes_by_default(at_home(), "a,b,c", two), 1) << "of several programs each says its own";
}

TEST(Engine, LeavesPlacesToMemoryServers) {
  Options options;
  options.memory_servers = 2;
  EXPECT_EQ(pes_by_default(at_home(), "a:4", options), 2);
  EXPECT_EQ(pes_by_default(at_home(), "a,b,c", options), 3) << "nobody counts places";
  options.apps.resize(1);
  EXPECT_EQ(default_pes(options, {{"a", 2}}, at_home()),
            "oshrun: there is room for 2 processes, and --memory-servers takes 2; give -n, or more places");
}

/// PEs of a job, or why --per-host cannot be used.
std::string with_per_host(const std::vector<std::string>& words, const Surroundings& surroundings,
                          const std::string& list = "") {
  std::vector<std::string> all = words;
  all.push_back("prog");
  Options options = parse_options(all).options;
  std::vector<Host> hosts = list.empty() ? std::vector<Host>{} : parse_host_list("-H", list).hosts;
  if (std::string why = use_per_host(options, hosts, surroundings); !why.empty()) return why;
  EXPECT_EQ(default_pes(options, hosts, surroundings), "");
  return std::to_string(options.apps[0].processes);
}

TEST(Engine, GivesEachHostAsManyPesAsAsked) {
  EXPECT_EQ(with_per_host({"--per-host", "3"}, at_home()), "3");
  EXPECT_EQ(with_per_host({"--per-host", "3", "--virtual-nodes", "2"}, at_home()), "6");
  EXPECT_EQ(with_per_host({"--per-host", "3", "-n", "2"}, at_home()), "2");
  EXPECT_EQ(with_per_host({"-ppn", "3"}, at_home(), "a,b"), "6");
  EXPECT_EQ(with_per_host({"--npernode", "3", "-n", "4"}, at_home(), "a,b"), "4");
  EXPECT_EQ(with_per_host({"--ntasks-per-node=4"}, in_allocation("2", "h[0-1]")), "8");
}

TEST(Engine, DoesNotGuessWhichOfTwoNumbersCounts) {
  EXPECT_EQ(with_per_host({"--per-host", "3", "-n", "4"}, at_home()),
            "oshrun: --per-host 3: 1 host has room for 3 PEs then, and the job has 4; leave one of both "
            "numbers out");
  EXPECT_EQ(with_per_host({"--per-host", "3", "-n", "4"}, in_allocation("2", "h[0-1]")),
            "oshrun: --per-host 3: 2 hosts have room for 6 PEs then, and the job has 4; leave one of both "
            "numbers out");
  EXPECT_EQ(with_per_host({"--per-host", "3"}, at_home(), "a:2,b"),
            "oshrun: --per-host 3: the list of hosts says places already; give one of both");
}

TEST(Engine, CountsTheProcessorsOfAnAllocation) {
  EXPECT_EQ(slurm_allocation(in_allocation("3", "h[0-2]"))->cpus, 8);
  EXPECT_EQ(slurm_allocation(in_allocation("3", "h[0-2]"))->fewest, 2);
  EXPECT_EQ(slurm_allocation(with(in_allocation("1", "h0"), "SLURM_JOB_CPUS_PER_NODE", "16"))->cpus, 16);
  EXPECT_EQ(slurm_allocation(with(in_allocation("1", "h0"), "SLURM_JOB_CPUS_PER_NODE", ""))->cpus, 0);
  EXPECT_FALSE(slurm_allocation(at_home()));
}

std::string why_not(Engine engine, const std::string& command, const std::string& answer) {
  return judge_command(engine, command, answer).why_not;
}

TEST(Engine, TellsOpenMpiFromOthers) {
  const Candidate four =
      judge_command(Engine::kMpirun, "mpirun", "mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n");
  EXPECT_EQ(four.why_not, "");
  EXPECT_FALSE(four.prrte);
  EXPECT_TRUE(judge_command(Engine::kMpirun, "mpirun", "mpirun (Open MPI) 5.0.7\n").prrte);
  EXPECT_EQ(why_not(Engine::kMpirun, "mpirun", "HYDRA build details:\n    Version: 4.0.2\n"),
            "mpirun is not Open MPI's, and others offer no PMIx");
  EXPECT_NE(why_not(Engine::kMpirun, "mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.9\n"), "");
  EXPECT_NE(why_not(Engine::kMpirun, "mpirun", ""), "") << "it could not be executed";
}

TEST(Engine, TellsWhetherSlurmHasPmix) {
  const std::string kinds = "MPI plugin types are...\n\tnone\n\tpmi2\n";
  EXPECT_EQ(
      why_not(Engine::kSrun, "srun", kinds + "\tpmix\nspecific pmix plugin versions available: pmix_v4\n"),
      "");
  EXPECT_EQ(why_not(Engine::kSrun, "srun", "srun: MPI types are...\nsrun: none\nsrun: pmix\n"), "")
      << "as older versions say it";
  EXPECT_EQ(why_not(Engine::kSrun, "srun", kinds), "srun has no PMIx plugin ('srun --mpi=list')");
  EXPECT_EQ(why_not(Engine::kSrun, "srun", "srun: error: x\nsrun: fatal: no configuration for pmix\n"),
            "srun does not answer '--mpi=list' (srun: fatal: no configuration for pmix)");
  EXPECT_EQ(why_not(Engine::kSrun, "srun", ""), "srun does not answer '--mpi=list'");
}

TEST(Engine, PrterunNeedsNoQuestion) {
  EXPECT_TRUE(question_to(Engine::kPrterun).empty());
  EXPECT_TRUE(judge_command(Engine::kPrterun, "prterun", "").prrte);
  EXPECT_EQ(why_not(Engine::kPrterun, "prterun", ""), "");
}

TEST(Engine, SaysWhyThereIsNone) {
  EXPECT_EQ(
      no_engine(kBySsh, {"prterun is not in PATH", "mpirun is not Open MPI's, and others offer no PMIx"}),
      "oshrun: nothing here can start PEs on other hosts: prterun is not in PATH; mpirun is not Open MPI's, "
      "and "
      "others offer no PMIx; install Open MPI or PRRTE, or give --launcher local for a job on this host");
  EXPECT_EQ(no_engine({Engine::kSrun}, {"srun is not in PATH"}),
            "oshrun: --launcher srun: srun is not in PATH; install it, or give another --launcher");
}

}  // namespace
}  // namespace oshrun

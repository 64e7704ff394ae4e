// SPDX-License-Identifier: BSD-3-Clause
// Who starts the job: oshrun itself, on this host, or an engine that can start PEs on others and that oshrun
// hands its command line over to. Pure: looks at what it is given and nothing else; thread safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hosts.hpp"
#include "options.hpp"

namespace oshrun {

enum class Engine { kLocal, kSrun, kPrterun, kMpirun };

/// Where oshrun runs.
struct Surroundings {
  std::string host;       // as gethostname() says
  std::string directory;  // the current one; empty: it has no path, and `no_directory` says why
  bool root = false;
  std::map<std::string, std::string> environment;
  std::string oshrun = {};  // the path of the launcher itself
  int no_directory = 0;     // an errno
  std::size_t page = 4096;  // bytes

  /// The value of a variable that is there and not empty.
  std::optional<std::string> value(const std::string& name) const;
};

/// The allocation of a batch system that oshrun may use as a whole. Inside a step, `srun oshrun`, there is
/// none: the step has its part of the allocation, and oshrun starts a job of its own there.
struct Allocation {
  int nodes = 1;
  int tasks = 0;      // 0: not said
  int cpus = 0;       // of all nodes; 0: not said
  int fewest = 0;     // CPUs of the node that has fewest; 0: not said
  bool here = false;  // it is this host alone
};
std::optional<Allocation> slurm_allocation(const Surroundings& surroundings);

/// Engines to try, best first, or one line that says why there are none. kLocal stands alone.
struct Choice {
  std::vector<Engine> engines;
  std::string error;
};
Choice choose_engine(const Options& options, const std::vector<Host>& hosts,
                     const Surroundings& surroundings);

/// Applies --per-host: each host has so many places, or, without a list of hosts, each host of an allocation
/// and each virtual node so many PEs. Empty, or one line: the command line says otherwise as well.
std::string use_per_host(Options& options, std::vector<Host>& hosts, const Surroundings& surroundings);

/// The number of PEs of a job of one program without -n: what the hosts or the allocation have room for
/// beside memory servers, else 1. Empty, or one line: no room is left.
std::string default_pes(Options& options, const std::vector<Host>& hosts, const Surroundings& surroundings);

/// Names under which an engine may be found in PATH, best first.
std::vector<std::string> commands_of(Engine engine);
/// The words behind the command that make it say what it is; none: being there is enough.
std::vector<std::string> question_to(Engine engine);

/// A command that was found, and what it answered. `why_not` is empty if it can start PEs.
struct Candidate {
  Engine engine = Engine::kMpirun;
  std::string command;
  bool prrte = false;  // it takes PRRTE's options: prterun, and mpirun from Open MPI 5 on
  std::string why_not = {};
};
Candidate judge_command(Engine engine, const std::string& command, const std::string& answer);

/// One line for a job that no engine can start: `tried` says why not, one after the other.
std::string no_engine(const std::vector<Engine>& engines, const std::vector<std::string>& tried);

/// What to execute in the place of oshrun, found in PATH; or one line that says what the engine cannot do.
/// `apps` are those of the options, and the memory servers (all_apps). docs/running.md has what each option
/// becomes.
struct HandOver {
  std::vector<std::string> argv;
  std::string error;
};
HandOver hand_over(const Options& options, const std::vector<App>& apps, const std::vector<Host>& hosts,
                   const Candidate& engine, const Surroundings& surroundings);

/// The words as one line for a shell.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace oshrun

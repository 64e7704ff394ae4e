// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <algorithm>
#include <cstdlib>

namespace oshrun {
namespace {

/// What is beyond that is nobody's cluster, and must not overflow.
constexpr long kMost = 1 << 24;

/// The number that the text begins with, at `end` what is behind it.
int number(const char* text, char** end = nullptr) {
  return static_cast<int>(std::clamp(std::strtol(text, end, 10), 0L, kMost));
}

int count_in(const Surroundings& surroundings, const char* name) {
  return number(surroundings.value(name).value_or("0").c_str());
}

/// "4(x2),8": 4 CPUs on each of two nodes, and 8 on one more.
void count_cpus(Allocation& allocation, const std::string& text) {
  const char* next = text.c_str();
  while (*next != '\0') {
    char* end = nullptr;
    const int cpus = number(next, &end);
    long nodes = 1;
    if (end[0] == '(' && end[1] == 'x') nodes = number(end + 2, &end);
    allocation.cpus = static_cast<int>(std::min(allocation.cpus + cpus * nodes, kMost));
    allocation.fewest = allocation.fewest == 0 ? cpus : std::min(allocation.fewest, cpus);
    const char* comma = std::find(static_cast<const char*>(end), text.c_str() + text.size(), ',');
    next = *comma == ',' ? comma + 1 : comma;
  }
}

/// Slurm numbers what is no step of PEs from here on: the batch script, an interactive shell of salloc.
constexpr unsigned long kFirstSpecialStep = 0xfffffff0;

bool in_step_of_pes(const Surroundings& surroundings) {
  const auto step = surroundings.value("SLURM_STEP_ID");
  return step && std::strtoul(step->c_str(), nullptr, 10) < kFirstSpecialStep;
}

/// A host of the list that is not this one, or empty.
std::string other_host(const std::vector<Host>& hosts, const Surroundings& surroundings) {
  for (const Host& host : hosts)
    if (!is_this_host(host.name, surroundings.host)) return host.name;
  return {};
}

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t before = text.rfind('\n');
  return std::string(before == std::string_view::npos ? text : text.substr(before + 1));
}

}  // namespace

std::optional<std::string> Surroundings::value(const std::string& name) const {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<Allocation> slurm_allocation(const Surroundings& surroundings) {
  if (!surroundings.value("SLURM_JOB_ID") || in_step_of_pes(surroundings)) return std::nullopt;
  Allocation allocation;
  allocation.nodes = std::max(1, count_in(surroundings, "SLURM_JOB_NUM_NODES"));
  allocation.tasks = count_in(surroundings, "SLURM_NTASKS");
  count_cpus(allocation, surroundings.value("SLURM_JOB_CPUS_PER_NODE").value_or(""));
  // A batch script runs on a node of its allocation; the shell that salloc starts may run on a login node.
  const auto list = surroundings.value("SLURM_JOB_NODELIST");
  allocation.here = allocation.nodes == 1 && (surroundings.value("SLURMD_NODENAME") ||
                                              (list && is_this_host(*list, surroundings.host)));
  return allocation;
}

Choice choose_engine(const Options& options, const std::vector<Host>& hosts,
                     const Surroundings& surroundings) {
  if (std::string error = named_twice(hosts, surroundings.host); !error.empty())
    return {{}, std::move(error)};
  const std::string other = other_host(hosts, surroundings);
  const auto allocation = slurm_allocation(surroundings);
  switch (options.launcher) {
    case Launcher::kLocal:
      if (other.empty()) return {{Engine::kLocal}, {}};
      return {{},
              "oshrun: --launcher local starts PEs on this host only, and '" + other +
                  "' is another; give --launcher auto, srun, prterun or mpirun"};
    case Launcher::kSrun: return {{Engine::kSrun}, {}};
    case Launcher::kPrterun: return {{Engine::kPrterun}, {}};
    case Launcher::kMpirun: return {{Engine::kMpirun}, {}};
    case Launcher::kAuto: break;
  }
  const bool elsewhere = hosts.empty() ? allocation && !allocation->here : !other.empty();
  if (!elsewhere) return {{Engine::kLocal}, {}};
  if (allocation) return {{Engine::kSrun, Engine::kPrterun, Engine::kMpirun}, {}};
  return {{Engine::kPrterun, Engine::kMpirun}, {}};
}

std::string default_pes(Options& options, const std::vector<Host>& hosts, const Surroundings& surroundings) {
  if (options.apps.size() != 1 || options.apps[0].processes_given) return {};
  int room = 0;
  if (!hosts.empty() && !counted(hosts)) {
    options.apps[0].processes = static_cast<int>(hosts.size());  // and servers wherever they go
  } else if (!hosts.empty()) {
    room = places(hosts);
  } else if (const auto allocation = slurm_allocation(surroundings);
             allocation && options.launcher != Launcher::kLocal) {
    room = allocation->tasks > 0 ? allocation->tasks : allocation->nodes;
  }
  if (room == 0) return {};
  if (room <= options.memory_servers)
    return "oshrun: there is room for " + std::to_string(room) + " processes, and --memory-servers takes " +
           std::to_string(options.memory_servers) + "; give -n, or more places";
  options.apps[0].processes = room - options.memory_servers;
  return {};
}

std::string use_per_host(Options& options, std::vector<Host>& hosts, const Surroundings& surroundings) {
  if (options.per_host == 0) return {};
  const std::string option = "oshrun: --per-host " + std::to_string(options.per_host);
  if (!hosts.empty()) {
    if (counted(hosts)) return option + ": the list of hosts says places already; give one of both";
    for (Host& host : hosts) host.places = options.per_host;
    return {};
  }
  int nodes = std::max(1, options.virtual_nodes);
  const auto allocation = slurm_allocation(surroundings);
  if (allocation && options.launcher != Launcher::kLocal) nodes = allocation->nodes;
  const Roster roster = options.roster();
  const long room = static_cast<long>(nodes) * options.per_host;
  if (options.apps.size() == 1 && !options.apps[0].processes_given) {
    options.apps[0].processes = static_cast<int>(std::min<long>(room, kMaxPes));
    options.apps[0].processes_given = true;
  } else if (roster.pes > room || (nodes > 1 && roster.pes != room)) {
    return option + ": " + std::to_string(nodes) + (nodes == 1 ? " host has" : " hosts have") + " room for " +
           std::to_string(room) + " PEs then, and the job has " + std::to_string(roster.pes) +
           "; leave one of both numbers out";
  }
  return {};
}

std::vector<std::string> commands_of(Engine engine) {
  switch (engine) {
    case Engine::kSrun: return {"srun"};
    case Engine::kPrterun: return {"prterun"};
    case Engine::kMpirun:
      return {"mpirun", "mpirun.openmpi",
              "orterun"};  // where several MPIs are installed, mpirun may be another's
    case Engine::kLocal: break;
  }
  return {};
}

std::vector<std::string> question_to(Engine engine) {
  if (engine == Engine::kSrun) return {"--mpi=list"};
  if (engine == Engine::kMpirun) return {"--version"};
  return {};
}

Candidate judge_command(Engine engine, const std::string& command, const std::string& answer) {
  Candidate candidate{engine, command, engine == Engine::kPrterun};
  if (engine == Engine::kSrun && answer.find("types are") == std::string::npos) {
    candidate.why_not = command + " does not answer '--mpi=list'";
    if (const std::string line = last_line(answer); !line.empty()) candidate.why_not += " (" + line + ")";
  } else if (engine == Engine::kSrun && answer.find("pmix") == std::string::npos) {
    candidate.why_not = command + " has no PMIx plugin ('" + command + " --mpi=list')";
  } else if (engine == Engine::kMpirun) {
    constexpr std::string_view kOpenMpi = "(Open MPI) ";
    const std::size_t mark = answer.find(kOpenMpi);
    if (mark == std::string::npos) {
      candidate.why_not = command + " is not Open MPI's, and others offer no PMIx";
    } else {
      candidate.prrte = std::atoi(answer.c_str() + mark + kOpenMpi.size()) >= 5;
    }
  }
  return candidate;
}

std::string no_engine(const std::vector<Engine>& engines, const std::vector<std::string>& tried) {
  std::string reasons;
  for (const std::string& reason : tried) reasons += (reasons.empty() ? "" : "; ") + reason;
  if (engines.size() == 1)
    return "oshrun: --launcher " + commands_of(engines.front()).front() + ": " + reasons +
           "; install it, or give another --launcher";
  return "oshrun: nothing here can start PEs on other hosts: " + reasons +
         "; install Open MPI or PRRTE, or give --launcher local for a job on this host";
}

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// The command lines of engines. All that a program of the job is given travels in its own command, through
// env(1): so it means the same under every engine, for each program by itself, and whatever its values hold.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine.hpp"
#include "environment.hpp"
#include "time_limit.hpp"
#include "words.hpp"

namespace oshrun {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kEnv = "/usr/bin/env";
constexpr const char* kShell = "/bin/sh";
constexpr const char* kServers = "SHMEM_MEMORY_SERVERS";
constexpr const char* kTunables = "GLIBC_TUNABLES";
constexpr const char* kNodeList = "--nodelist=";
constexpr const char* kHostList = "--host";
constexpr const char* kUnlessRank = "[ \"$SLURM_PROCID\" -ge ";

void append(Words& words, Words more) {
  words.insert(words.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Of an outer job; from the options; with what else belongs there.
bool is_set_otherwise(const std::string& name) {
  return name == "ATOLL_JOB_ID" || name == kServers || name == kTunables;
}

/// Engines that start daemons through ssh carry no environment to other hosts. These variables are the
/// library's, libfabric's and the loader's; others need `-x NAME`.
bool travels(const std::string& name) {
  if (name == "LD_LIBRARY_PATH") return true;
  for (const char* prefix : {"SHMEM_", "SMA_", "FI_", "ATOLL_", "PMIX_MCA_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// `-x NAME`: it changes nothing that is set otherwise, as where oshrun itself starts the job.
bool is_passed_on(const App& app, const std::string& name) {
  return std::any_of(app.env.begin(), app.env.end(),
                     [&](const EnvSetting& setting) { return !setting.value && setting.name == name; });
}

std::string directory_of(const App& app, const Surroundings& surroundings) {
  if (app.wdir.empty()) return surroundings.directory;
  return app.wdir.starts_with('/') ? app.wdir : surroundings.directory + "/" + app.wdir;
}

/// What the job sets for all its processes.
Words job_settings(const Options& options) {
  Words words;
  if (options.virtual_nodes > 0) {
    words.push_back("SHMEM_VIRTUAL_NODES=" + std::to_string(options.virtual_nodes));
    words.push_back(std::string("SHMEM_VIRTUAL_ORDER=") + (options.cyclic ? "cyclic" : "block"));
  }
  if (options.memory_servers > 0)
    words.push_back(std::string(kServers) + "=" + std::to_string(options.memory_servers));
  if (options.memory_per_server)
    words.push_back("SHMEM_MEMORY_PER_SERVER=" + std::to_string(*options.memory_per_server));
  return words;
}

/// env(1) takes words with '=' for variables, and engines take ':' for the end of a program: such words go
/// through a shell.
bool needs_shell(const App& app) {
  return app.argv[0].find('=') != std::string::npos ||
         std::find(app.argv.begin(), app.argv.end(), ":") != app.argv.end();
}

Words program_words(const App& app) {
  if (!needs_shell(app)) return app.argv;
  return {kShell, "-c", "exec " + shell_line(app.argv)};
}

/// `why`: an errno.
std::string no_directory(int why) {
  constexpr const char* kNeeded = ", and the programs would start there; go to another one";
  if (why == ENOENT) return std::string("oshrun: the current directory has been removed") + kNeeded;
  return std::string("oshrun: the current directory has no path that can be told (") + strerror(why) + ")" +
         kNeeded + ", or give a path from / to --wdir";
}

/// Empty if the commands can be written.
std::string wrong_app(const std::vector<App>& apps, const Surroundings& surroundings) {
  for (const App& app : apps) {
    if (surroundings.directory.empty() && !app.wdir.starts_with('/'))
      return no_directory(surroundings.no_directory);
    // Not all shells know `exec --`.
    if (needs_shell(app) && app.argv[0].front() == '-')
      return "oshrun: " + quoted(app.argv[0]) +
             ": a shell would take this name for an option; give the program by its path, as in ./-a";
  }
  return {};
}

Words command_of(const App& app, const Options& options, Engine engine, const Surroundings& surroundings) {
  Words words{kEnv};
  if (options.memory_servers == 0 && surroundings.environment.count(kServers) > 0)
    append(words, {"-u", kServers});
  append(words, {"-C", directory_of(app, surroundings)});
  // First of the settings: env(1) reads no options behind it, whatever the others are called.
  words.push_back(std::string(kTunables) + "=" + with_static_tls(surroundings.value(kTunables).value_or("")));
  if (engine != Engine::kSrun) {
    for (const auto& [name, value] : surroundings.environment)
      if (!is_set_otherwise(name) && (travels(name) || is_passed_on(app, name)))
        words.push_back(name + "=" + value);
  }
  append(words, job_settings(options));
  for (const EnvSetting& setting : app.env)
    if (setting.value) words.push_back(setting.name + "=" + *setting.value);
  append(words, program_words(app));
  return words;
}

int processes_of(const std::vector<App>& apps) {
  int sum = 0;
  for (const App& app : apps) sum += app.processes;
  return sum;
}

/// A step of Slurm has one program: a shell that becomes the one of its rank.
Words by_rank(const std::vector<App>& apps, const std::vector<Words>& commands) {
  std::string script;
  int first = 0;
  for (std::size_t i = 0; i + 1 < apps.size(); ++i) {
    first += apps[i].processes;
    script += kUnlessRank + std::to_string(first) + " ] || exec " + shell_line(commands[i]) + "; ";
  }
  return {kShell, "-c", script + "exec " + shell_line(commands.back())};
}

std::string cpu_bind(const Options& options) {
  switch (options.bind) {
    case Bind::kNone: return "none";
    case Bind::kCore: return "cores";
    case Bind::kNuma: return "ldoms";
    case Bind::kAuto: break;
  }
  return {};  // Slurm's own rule, which is the site's
}

void add_srun_hosts(Words& words, const std::vector<Host>& hosts) {
  std::string list;
  for (const Host& host : hosts)
    for (int i = 0; i < host.places.value_or(1); ++i) list += (list.empty() ? "" : ",") + host.name;
  append(words, {"--nodes=" + std::to_string(hosts.size()), kNodeList + list, "--distribution=arbitrary"});
}

/// Whether srun has to be told that processes may share CPUs. Only where it is known that they must, as
/// Slurms before 20.11 give such a step one CPU of each node; and not to a job that srun has to get an
/// allocation for, for the same reason.
bool more_than_cpus(const Allocation& allocation, const std::vector<Host>& hosts, int processes) {
  if (allocation.cpus == 0) return false;
  if (hosts.empty()) return processes > allocation.cpus;
  return std::any_of(hosts.begin(), hosts.end(),
                     [&](const Host& host) { return host.places.value_or(1) > allocation.fewest; });
}

/// Whether --per-host has no list of hosts that would say it to the engine.
bool shares_by_number(const Options& options, const std::vector<Host>& hosts,
                      const Surroundings& surroundings) {
  return options.per_host > 0 && hosts.empty() &&
         (options.virtual_nodes == 0 || slurm_allocation(surroundings));
}

/// Empty if the engine can be told.
std::string cannot_share(const Options& options, Engine engine, const std::vector<Host>& hosts,
                         const Surroundings& surroundings) {
  const auto allocation = slurm_allocation(surroundings);
  if (!allocation || allocation->nodes == 1 || !shares_by_number(options, hosts, surroundings)) return {};
  const char* why = nullptr;
  if (options.memory_servers > 0) why = "memory servers would be among them";
  if (engine != Engine::kSrun && options.apps.size() > 1) why = "the job has several programs";
  if (why == nullptr) return {};
  return "oshrun: --per-host " + std::to_string(options.per_host) + ": " + why +
         "; name the hosts of the allocation with -H as well";
}

Words srun_words(const Options& options, const std::vector<App>& apps, const std::vector<Host>& hosts,
                 const std::vector<Words>& commands, const Surroundings& surroundings) {
  const int processes = processes_of(apps);
  const auto allocation = slurm_allocation(surroundings);
  Words words{"--mpi=pmix",           "--export=ALL",        "--input=0",
              "--kill-on-bad-exit=1", "--quit-on-interrupt", "--ntasks=" + std::to_string(processes)};
  if (!hosts.empty()) {
    add_srun_hosts(words, hosts);
  } else if (allocation) {
    words.push_back("--nodes=" + std::to_string(std::min(allocation->nodes, processes)));
  }
  if (shares_by_number(options, hosts, surroundings))
    words.push_back("--ntasks-per-node=" + std::to_string(options.per_host));
  if (allocation && more_than_cpus(*allocation, hosts, processes)) words.push_back("--overcommit");
  std::string bind = cpu_bind(options);
  if (options.report_bindings) bind = bind.empty() ? "verbose" : "verbose," + bind;
  if (!bind.empty()) words.push_back("--cpu-bind=" + bind);
  if (options.tag == Tag::kRank) words.push_back("--label");
  append(words, apps.size() == 1 ? commands.front() : by_rank(apps, commands));
  return words;
}

const char* bind_to(Bind bind) {
  if (bind == Bind::kCore) return "core";
  return bind == Bind::kNuma ? "numa" : "none";
}

/// Open MPI's mpirun, and PRRTE's prterun.
Words run_words(const Options& options, const std::vector<App>& apps, const std::vector<Host>& hosts,
                const std::vector<Words>& commands, const Candidate& engine,
                const Surroundings& surroundings) {
  Words words;
  if (surroundings.root) words.push_back("--allow-run-as-root");
  // Hosts of the list have a place for each process; but an allocation may have fewer, and that counts.
  const std::string by = shares_by_number(options, hosts, surroundings)
                             ? "ppr:" + std::to_string(options.per_host) + ":node"
                             : "slot";
  append(words, {"--map-by", by + (engine.prrte ? ":oversubscribe" : ":OVERSUBSCRIBE")});
  append(words, {"--bind-to", bind_to(options.bind)});
  if (options.report_bindings) {
    if (engine.prrte) {
      append(words, {"--display", "bindings"});
    } else {
      words.push_back("--report-bindings");
    }
  }
  if (options.tag == Tag::kRank) {
    if (engine.prrte) {
      append(words, {"--output", "tag"});
    } else {
      words.push_back("--tag-output");
    }
  }
  std::string list;
  for (const Host& host : hosts)
    list += (list.empty() ? "" : ",") + host.name + ":" + std::to_string(host.places.value_or(1));
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (i > 0) words.push_back(":");
    if (!list.empty()) append(words, {kHostList, list});
    append(words, {"-n", std::to_string(apps[i].processes)});
    append(words, commands[i]);
  }
  return words;
}

/// What stands before the engine: who keeps the time limit, and no PMIx variables of an outer job. The former
/// may be any path, so it must not follow env(1), which would take one with '=' for a variable.
Words prefix(const Options& options, const Surroundings& surroundings) {
  Words words;
  for (const auto& [name, value] : surroundings.environment) {
    if (name.starts_with("PMIX_") && !name.starts_with("PMIX_MCA_")) append(words, {"-u", name});
  }
  if (!words.empty()) words.insert(words.begin(), kEnv);
  if (!options.timeout) return words;
  Words all = run_within(surroundings.oshrun, *options.timeout);
  append(all, std::move(words));
  return all;
}

/// Empty if the command can be executed as far as its words go: Linux takes 32 pages for each with its end,
/// however long the list may be.
std::string too_long(const Words& argv, std::size_t page) {
  const std::size_t longest = 32 * page - 1;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.size() <= longest) continue;
    const char* remedy = "shorten it, or put what it says into a file";
    if (word.starts_with(kNodeList) || (i > 0 && argv[i - 1] == kHostList))
      remedy = "give fewer hosts and places, or none inside an allocation";
    if (word.starts_with(kUnlessRank)) remedy = "start fewer programs, or give them less";
    return "oshrun: " + quoted(beginning(word, 40), "...") + " has " + std::to_string(word.size()) +
           " bytes, and a word of a command may have " + std::to_string(longest) + "; " + remedy;
  }
  return {};
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

HandOver hand_over(const Options& options, const std::vector<App>& apps, const std::vector<Host>& hosts,
                   const Candidate& engine, const Surroundings& surroundings) {
  if (options.debug)
    return {{},
            "oshrun: --debug: " + engine.command +
                " starts this job, and its PEs do not wait for a debugger; give --launcher local for a job "
                "on this "
                "host, or start it with -x SHMEM_DEBUG=1 -x SHMEM_PEER_TIMEOUT=0, which prints each PE's "
                "host and process, "
                "and attach there: gdb -p PID"};
  if (!options.local_only.empty())
    return {{},
            "oshrun: " + options.local_only.front() + ": " + engine.command +
                " starts this job and has no such option; leave it out, or give --launcher local"};
  Placement placement;
  if (!hosts.empty()) placement = place(hosts, processes_of(apps));
  if (!placement.error.empty()) return {{}, std::move(placement.error)};
  if (std::string error = wrong_app(apps, surroundings); !error.empty()) return {{}, std::move(error)};
  if (std::string error = cannot_share(options, engine.engine, hosts, surroundings); !error.empty())
    return {{}, std::move(error)};
  std::vector<Words> commands;
  for (const App& app : apps) commands.push_back(command_of(app, options, engine.engine, surroundings));
  Words argv = prefix(options, surroundings);
  argv.push_back(engine.command);
  append(argv, engine.engine == Engine::kSrun
                   ? srun_words(options, apps, placement.hosts, commands, surroundings)
                   : run_words(options, apps, placement.hosts, commands, engine, surroundings));
  if (std::string error = too_long(argv, surroundings.page); !error.empty()) return {{}, std::move(error)};
  return {std::move(argv), {}};
}

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// The command oshrun: options, messages about them, and the exit code.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "engine.hpp"
#include "environment.hpp"
#include "fd.hpp"
#include "job.hpp"
#include "memory_servers.hpp"
#include "options.hpp"
#include "probe.hpp"
#include "time_limit.hpp"
#include "watch.hpp"

namespace oshrun {
namespace {

/// Of Open MPI's mpirun, which crashes or hangs without. All processes count, for all may be on its host.
constexpr std::size_t kFilesOfEngine = 64, kFilesOfItsProcess = 8;

int refuse(int exit_code, const std::string& line) {
  write_all(STDERR_FILENO, line + "\n");
  return exit_code;
}

/// A caller may have closed these; a pipe of ours must not get their numbers.
void open_standard_fds() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

/// Empty if every program's directory can be entered.
std::string wrong_wdir(const Options& options) {
  for (const App& app : options.apps) {
    if (app.wdir.empty()) continue;
    // O_PATH asks for nothing but that it is there.
    const UniqueFd directory(open(app.wdir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory && access(app.wdir.c_str(), X_OK) == 0) continue;
    return "oshrun: --wdir '" + app.wdir + "': " + strerror(errno) + "; give a directory that you may enter";
  }
  return {};
}

/// Empty if what the programs shall be started with can be loaded.
std::string unusable_library(const Options& options, const Installation& installation) {
  const std::string library = installation.remote_malloc();
  if (!options.remote_malloc) return {};
  if (library.find_first_of(" :") != std::string::npos)
    return "oshrun: --remote-malloc: LD_PRELOAD cannot name '" + library +
           "'; install Atoll in a folder without spaces and colons in its path";
  if (access(library.c_str(), R_OK) == 0) return {};
  return "oshrun: --remote-malloc: cannot load '" + library + "': " + strerror(errno) +
         "; it is installed with oshrun";
}

/// What -H or --hostfile names.
HostList hosts_of(const Options& options) {
  if (!options.host_list.empty()) return parse_host_list("-H", options.host_list);
  if (options.hostfile.empty()) return {};
  const FileText file = read_file(options.hostfile);
  if (file.error != 0)
    return {{},
            "oshrun: --hostfile '" + options.hostfile + "': " + strerror(file.error) +
                "; give a file with the name of a host in each line"};
  return parse_hostfile(options.hostfile, file.text);
}

/// The command that starts the same job again, on this host.
std::string local_line(const Options& options, const Installation& installation) {
  std::vector<std::string> words{installation.oshrun, "--launcher", "local"};
  if (!options.apps[0].processes_given)
    words.insert(words.end(), {"-n", std::to_string(options.apps[0].processes)});
  words.insert(words.end(), options.local_words.begin(), options.local_words.end());
  return shell_line(words);
}

int run_here(const Options& options, const std::vector<Host>& hosts, const Installation& installation) {
  if (const std::string wrong = wrong_wdir(options); !wrong.empty()) return refuse(kExitUsage, wrong);
  if (!hosts.empty()) {
    const Placement placement = place(hosts, options.roster().size());
    if (!placement.error.empty()) return refuse(kExitUsage, placement.error);
  }
  std::vector<Program> programs;
  for (const App& app : all_apps(options, installation)) {
    const ProgramPath program = find_program(app);
    if (program.error != 0) {
      const bool unknown = program.error == ENOENT && app.argv[0].find('/') == std::string::npos;
      return refuse(
          exec_exit_code(program.error),
          "oshrun: cannot execute '" + app.argv[0] + "': " + strerror(program.error) +
              (unknown ? " in PATH; write ./" + app.argv[0] + " for a program in this directory" : ""));
    }
    programs.push_back({app, program.path});
  }
  if (options.dry_run) {
    write_all(STDOUT_FILENO, local_line(options, installation) + "\n");
    return 0;
  }
  return Job(options, std::move(programs)).run();
}

/// Becomes the command, or says why not and returns the exit code for that.
int execute(const std::vector<std::string>& command) {
  const int error = become(command);
  const char* remedy =
      error == E2BIG ? "; shorten -x and the arguments, or raise the limit of both (a quarter of ulimit -s)"
                     : "";
  return refuse(exec_exit_code(error),
                "oshrun: cannot execute '" + command[0] + "': " + strerror(error) + remedy);
}

/// Of its own host's processes an engine holds pipes and connections. srun sees to itself.
void allow_files_of(const Candidate& engine, int processes) {
  if (engine.engine == Engine::kSrun) return;
  const std::size_t files = kFilesOfEngine + kFilesOfItsProcess * static_cast<std::size_t>(processes);
  const std::size_t allowed = shm::allow_open_files(files);
  if (allowed < files)
    write_all(STDERR_FILENO, "oshrun: " + engine.command + " may open " + std::to_string(allowed) +
                                 " files and may need " + std::to_string(files) +
                                 " if all processes are on this host; raise the hard limit (ulimit -Hn)\n");
}

/// Whether a program is there is for the hosts to say.
int run_elsewhere(const Options& options, const std::vector<Host>& hosts, const std::vector<Engine>& engines,
                  const Surroundings& surroundings, const Installation& installation) {
  const Probe found = probe(engines);
  if (!found.error.empty()) return refuse(exec_exit_code(ENOENT), found.error);
  const HandOver command =
      hand_over(options, all_apps(options, installation), hosts, found.engine, surroundings);
  if (!command.error.empty()) return refuse(kExitUsage, command.error);
  for (const std::string& name : missing_settings(options))
    write_all(STDERR_FILENO, missing_setting(name) + "\n");
  if (options.dry_run) {
    write_all(STDOUT_FILENO, shell_line(command.argv) + "\n");
    return 0;
  }
  allow_files_of(found.engine, options.roster().size());
  return execute(command.argv);
}

/// The mode in which oshrun keeps the time limit of an engine.
int keep_time_limit(const TimeLimit& time) {
  if (!time.error.empty()) return refuse(kExitUsage, time.error);
  const Watched watched = watch(time, [&time] { return execute(time.command); });
  if (watched.error == 0) return watched.exit_code;
  return refuse(1,
                "oshrun: cannot start '" + time.command.front() + "': " + strerror(watched.error) +
                    (watched.error == EAGAIN ? shm::limit_of_threads() : shm::limit_behind(watched.error)) +
                    "; end other programs, or raise the limit");
}

int main_checked(const std::vector<std::string>& words) {
  if (is_run_within(words)) return keep_time_limit(parse_run_within(words));
  const char* memory_servers = getenv("SHMEM_MEMORY_SERVERS");
  ParseResult parsed = parse_options(words, memory_servers != nullptr ? memory_servers : "");
  Options& options = parsed.options;
  if (parsed.kind == ParseResult::Kind::kShow) {
    write_all(STDOUT_FILENO, parsed.text);
    return 0;
  }
  if (parsed.kind == ParseResult::Kind::kRefuse) return refuse(kExitUsage, parsed.text);
  for (const std::string& note : options.notes) write_all(STDERR_FILENO, note + "\n");
  HostList list = hosts_of(options);
  if (!list.error.empty()) return refuse(kExitUsage, list.error);
  const Surroundings surroundings = this_place();
  if (const std::string wrong = use_per_host(options, list.hosts, surroundings); !wrong.empty())
    return refuse(kExitUsage, wrong);
  const Choice choice = choose_engine(options, list.hosts, surroundings);
  if (!choice.error.empty()) return refuse(kExitUsage, choice.error);
  if (const std::string none = default_pes(options, list.hosts, surroundings); !none.empty())
    return refuse(kExitUsage, none);
  const bool here = choice.engines.front() == Engine::kLocal;
  if (const std::string wrong = check_counts(options, here); !wrong.empty()) return refuse(kExitUsage, wrong);
  const Installation installation = this_installation();
  if (const std::string why = unusable_library(options, installation); !why.empty())
    return refuse(exec_exit_code(ENOENT), why);
  if (here) return run_here(options, list.hosts, installation);
  return run_elsewhere(options, list.hosts, choice.engines, surroundings, installation);
}

}  // namespace
}  // namespace oshrun

int main(int argc, char** argv) {
  oshrun::open_standard_fds();
  // Not exit(): see PmixServer::start for why PMIx is left as it is.
  _exit(oshrun::main_checked(std::vector<std::string>(argv + 1, argv + argc)));
}

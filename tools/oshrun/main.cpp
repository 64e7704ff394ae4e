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

#include "environment.hpp"
#include "fd.hpp"
#include "job.hpp"
#include "memory_servers.hpp"
#include "options.hpp"

namespace oshrun {
namespace {

void print(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(fd, text.data(), text.size());
    if (done < 0 && errno != EINTR) return;
    if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
  }
}

int refuse(int exit_code, const std::string& line) {
  print(STDERR_FILENO, line + "\n");
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

int main_checked(const std::vector<std::string>& words) {
  const char* memory_servers = getenv("SHMEM_MEMORY_SERVERS");
  const ParseResult parsed = parse_options(words, memory_servers != nullptr ? memory_servers : "");
  if (parsed.kind == ParseResult::Kind::kShow) {
    print(STDOUT_FILENO, parsed.text);
    return 0;
  }
  if (parsed.kind == ParseResult::Kind::kRefuse) return refuse(kExitUsage, parsed.text);
  if (const std::string wrong = wrong_wdir(parsed.options); !wrong.empty()) return refuse(kExitUsage, wrong);
  const Installation installation = this_installation();
  if (const std::string why = unusable_library(parsed.options, installation); !why.empty())
    return refuse(exec_exit_code(ENOENT), why);
  std::vector<Program> programs;
  for (const App& app : all_apps(parsed.options, installation)) {
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
  return Job(parsed.options, std::move(programs)).run();
}

}  // namespace
}  // namespace oshrun

int main(int argc, char** argv) {
  oshrun::open_standard_fds();
  // Not exit(): see PmixServer::start for why PMIx is left as it is.
  _exit(oshrun::main_checked(std::vector<std::string>(argv + 1, argv + argc)));
}

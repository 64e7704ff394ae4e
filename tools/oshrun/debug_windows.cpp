// SPDX-License-Identifier: BSD-3-Clause
#include "debug_windows.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "debugger.hpp"
#include "engine.hpp"
#include "environment.hpp"
#include "fd.hpp"
#include "words.hpp"

namespace oshrun {
namespace {

std::string path_of(const std::string& command) {
  App app;
  app.argv = {command};
  const ProgramPath found = find_program(app);
  return found.error == 0 ? found.path : std::string();
}

bool is_set(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0';
}

/// False: the command has failed.
bool run(const std::vector<std::string>& words, const ProcessState& state) {
  const pid_t pid = fork();
  if (pid < 0) return false;
  if (pid == 0) {
    state.restore();
    setpgid(0, 0);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const int null = open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2}) dup2(null, fd);
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::string find_debugger(const Debugging& debugging, std::string& error) {
  std::string path = path_of(debugging.debugger);
  if (path.empty())
    error = "oshrun: --debug: " + quoted(debugging.debugger) +
            " is not in PATH; install it, or name another debugger, as in --debug=lldb";
  return path;
}

std::vector<std::string> open_debuggers(const Debugging& debugging, const std::string& path,
                                        const Children& children, const ProcessState& state,
                                        const std::vector<int>& ranks) {
  const std::string tmux = path_of("tmux");
  const bool inside = is_set("TMUX");
  const bool windows = !tmux.empty() && (inside || isatty(STDIN_FILENO) == 1);
  const std::string session = inside ? "" : "oshrun-" + std::to_string(getpid());
  std::vector<std::string> by_hand;
  std::size_t opened = 0;
  for (const int rank : ranks) {
    const auto command = debugger_command(path, debugging.debugger, children.at(rank).pid);
    const std::string name = "PE " + std::to_string(rank);
    if (windows && run(window_command(tmux, session, opened == 0, name, command), state)) {
      ++opened;
    } else {
      by_hand.push_back("oshrun: " + name + " waits for: " + shell_line(command));
    }
  }
  std::vector<std::string> lines;
  if (opened > 0)
    lines.push_back("oshrun: " + debugging.debugger + " waits for you in " + std::to_string(opened) +
                    (opened == 1 ? " window" : " windows") + " of tmux" +
                    (inside ? "" : "; in another terminal: tmux attach -t " + session));
  if (by_hand.empty()) return lines;
  const char* why = tmux.empty() ? "tmux is not in PATH"
                    : windows    ? "tmux opens no window"
                                 : "there is no terminal here";
  lines.push_back(std::string("oshrun: --debug: ") + why + "; type in other terminals of this host:");
  lines.insert(lines.end(), by_hand.begin(), by_hand.end());
  return lines;
}

bool has_debugger(pid_t pid) {
  const UniqueFd file(open(("/proc/" + std::to_string(pid) + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  std::array<char, 4096> text;
  const ssize_t n = read(file.get(), text.data(), text.size());
  return n > 0 && is_traced({text.data(), static_cast<std::size_t>(n)});
}

}  // namespace oshrun

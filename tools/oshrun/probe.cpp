// SPDX-License-Identifier: BSD-3-Clause
#include "probe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "environment.hpp"
#include "fd.hpp"
#include "memory_servers.hpp"

namespace oshrun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kAnswerWithin{20};  // of an engine that is asked what it is
constexpr std::size_t kLongestAnswer = 64 << 10;
constexpr std::size_t kLongestFile = 16 << 20;  // more hosts than any job has; /dev/zero has no end

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Reads until the end, the limit or the deadline.
std::string read_answer(int fd) {
  std::string answer;
  const Clock::time_point deadline = Clock::now() + kAnswerWithin;
  while (answer.size() < kLongestAnswer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wanted{fd, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&wanted, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    char buffer[4096];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  return answer;
}

/// What a command says on both of its outputs; nothing if it cannot be run.
std::string answer_of(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::vector<char*> argv = pointers(words);
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(writer.get(), STDOUT_FILENO);
    dup2(writer.get(), STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(exec_exit_code(errno));
  }
  writer.reset();
  if (child < 0) return {};
  std::string answer = read_answer(reader.get());
  kill(child, SIGKILL);  // it has said all, or takes too long
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer;
}

bool in_path(const std::string& command) {
  App app;
  app.argv = {command};
  return find_program(app).error == 0;
}

}  // namespace

Surroundings this_place() {
  Surroundings place;
  place.host = host_name();
  if (char* directory = getcwd(nullptr, 0); directory != nullptr) {
    place.directory = directory;
    free(directory);
  } else {
    place.no_directory = errno;
  }
  place.root = geteuid() == 0;
  place.oshrun = this_installation().oshrun;
  place.page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos)
      place.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return place;
}

FileText read_file(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {{}, errno};
  FileText result;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {{}, errno};
    if (got == 0) return result;
    result.text.append(buffer, static_cast<std::size_t>(got));
    if (result.text.size() > kLongestFile) return {{}, EFBIG};
  }
}

Probe probe(const std::vector<Engine>& engines) {
  std::vector<std::string> tried;
  for (const Engine engine : engines) {
    const std::vector<std::string> commands = commands_of(engine);
    bool any = false;
    for (const std::string& command : commands) {
      if (!in_path(command)) continue;
      any = true;
      std::vector<std::string> question = question_to(engine);
      const bool asks = !question.empty();
      question.insert(question.begin(), command);
      Candidate candidate = judge_command(engine, command, asks ? answer_of(question) : "");
      if (candidate.why_not.empty()) return {std::move(candidate), {}};
      tried.push_back(candidate.why_not);
    }
    if (!any) tried.push_back(commands.front() + " is not in PATH");
  }
  return {{}, no_engine(engines, tried)};
}

int become(const std::vector<std::string>& argv) {
  const std::vector<char*> words = pointers(argv);
  execvp(words[0], words.data());
  return errno;
}

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
#include "children.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "environment.hpp"

namespace oshrun {
namespace {

struct Pipe {
  UniqueFd in;
  UniqueFd out;
};

int make_pipe(Pipe& pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  pipe.in.reset(ends[0]);
  pipe.out.reset(ends[1]);
  return 0;
}

void set_non_blocking(const UniqueFd& fd) { fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

/// Waits for the settings of release(); false when the launcher has ended the job instead.
bool receive_settings(int go) {
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t size;
  // The last setting is empty: an end that does not depend on who else holds the pipe.
  while (!text.ends_with(std::string_view("\0\0", 2))) {
    size = read(go, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  for (std::size_t start = 0; start + 1 < text.size();) {
    const std::size_t end = text.find('\0', start);
    const std::string setting = text.substr(start, end - start);
    const std::size_t equals = setting.find('=');
    if (equals != std::string::npos)
      setenv(setting.substr(0, equals).c_str(), setting.c_str() + equals + 1, 1);
    start = end + 1;
  }
  return true;
}

/// Returns only if the program cannot be executed, with the errno. Like a shell, runs a file that the kernel
/// does not know as a shell script.
int execute(const std::string& program, const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  if (errno != ENOEXEC) return errno;
  argv[0] = const_cast<char*>(program.c_str());
  argv.insert(argv.begin(), const_cast<char*>("sh"));
  execv("/bin/sh", argv.data());
  return errno;
}

}  // namespace

ProcessState::ProcessState() {
  sigset_t handled;
  sigemptyset(&handled);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGURG}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    // nohup means it; an ignored SIGINT is only how shells start background jobs.
    if (signal == SIGHUP && action.sa_handler == SIG_IGN) continue;
    sigaddset(&handled, signal);
  }
  sigprocmask(SIG_BLOCK, &handled, &mask_);
  signal_fd_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_action_);
  // Without waitable children there is no exit code; some parents leave SIGCHLD ignored.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, nullptr);
  getrlimit(RLIMIT_NOFILE, &files_);
  const rlimit all{files_.rlim_max, files_.rlim_max};
  setrlimit(RLIMIT_NOFILE, &all);
}

void ProcessState::restore() const {
  setrlimit(RLIMIT_NOFILE, &files_);
  sigaction(SIGPIPE, &pipe_action_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

Children::Children(const std::vector<Program>& programs, const ProcessState& state)
    : state_(state), launcher_(getpid()) {
  for (const Program& program : programs) {
    for (int i = 0; i < program.app.processes; ++i) {
      children_.emplace_back();
      children_.back().program = &program;
    }
  }
}

int Children::fork_all(bool pipe_stdin) {
  Pipe failures;
  if (int error = make_pipe(failures)) return error;
  failure_in_ = std::move(failures.in);
  failure_out_ = std::move(failures.out);
  set_non_blocking(failure_in_);
  null_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (pipe_stdin) {
    Pipe input;
    if (int error = make_pipe(input)) return error;
    stdin_child_ = std::move(input.in);
    stdin_ = std::move(input.out);
    set_non_blocking(stdin_);
  }
  for (int rank = 0; rank < size(); ++rank)
    if (int error = fork_one(rank)) return error;
  stdin_child_.reset();
  return 0;
}

int Children::fork_one(int rank) {
  Child& child = at(rank);
  Pipe go, out, err;
  int error = make_pipe(go);
  if (error == 0) error = make_pipe(out);
  if (error == 0) error = make_pipe(err);
  if (error != 0) return error;
  const pid_t pid = fork();
  if (pid == 0) run_child(rank, go.in.get(), out.out.get(), err.out.get());
  if (pid < 0) return errno;
  setpgid(pid, pid);  // the child does so too: whoever comes first
  child.pid = pid;
  child.go = std::move(go.out);
  child.out = std::move(out.in);
  child.err = std::move(err.in);
  set_non_blocking(child.go);
  set_non_blocking(child.out);
  set_non_blocking(child.err);
  rank_of_[pid] = rank;
  return 0;
}

void Children::run_child(int rank, int go, int out, int err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher_) _exit(1);  // it died before the line above
  if (rank > 0) dup2(null_.get(), 0);
  if (rank == 0 && stdin_child_) dup2(stdin_child_.get(), 0);
  dup2(out, 1);
  dup2(err, 2);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  state_.restore();
  const App& app = at(rank).program->app;
  // Debuggers are no parents of ours; where there is no Yama this fails, and nothing is lost.
  if (at(rank).debugged) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (!receive_settings(go)) _exit(1);
  apply_settings(app.env);
  if (!app.wdir.empty() && chdir(app.wdir.c_str()) != 0) give_up(rank, errno, true);
  give_up(rank, execute(at(rank).program->path, app.argv), false);
}

void Children::give_up(int rank, int error, bool in_wdir) {
  const ExecFailure failure{rank, error, in_wdir};
  if (write(failure_out_.get(), &failure, sizeof failure) < 0) _exit(126);
  _exit(in_wdir ? 126 : exec_exit_code(error));
}

int Children::release(int rank, const std::vector<std::string>& settings) {
  std::string text;
  for (const std::string& setting : settings) text.append(setting).push_back('\0');
  text.push_back('\0');
  if (settings.empty()) text.push_back('\0');
  const ssize_t written = write(at(rank).go.get(), text.data(), text.size());
  const int error = written < 0 ? errno : E2BIG;
  at(rank).go.reset();
  return written == static_cast<ssize_t>(text.size()) ? 0 : error;
}

int Children::bind(int rank, const std::vector<int>& cpus) {
  const std::size_t count = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  const std::size_t size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, set);
  for (int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  const int error = sched_setaffinity(at(rank).pid, size, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  return error;
}

std::vector<Exit> Children::reap() {
  std::vector<Exit> exits;
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto found = rank_of_.find(pid);
    if (found == rank_of_.end()) continue;
    at(found->second).reaped = true;
    // What it left in its process group goes with it, and now: later the number may belong to somebody
    // else.
    kill(-pid, SIGKILL);
    exits.push_back({found->second, status});
    rank_of_.erase(found);
  }
  return exits;
}

std::optional<ExecFailure> Children::exec_failure(int rank) {
  read_failures();
  for (const ExecFailure& failure : failures_)
    if (failure.rank == rank) return failure;
  return std::nullopt;
}

void Children::read_failures() {
  ExecFailure failure{};
  while (read(failure_in_.get(), &failure, sizeof failure) == sizeof failure) failures_.push_back(failure);
}

void Children::signal(int rank, int signal) {
  const Child& child = at(rank);
  if (child.pid > 0 && !child.reaped) kill(-child.pid, signal);
}

void Children::signal_all(int signal) {
  for (int rank = 0; rank < size(); ++rank) this->signal(rank, signal);
}

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// The processes of a job. Each is forked early, while the launcher still is a small process with one thread,
// waits for its PMIx variables on a pipe, and only then executes the program: forking runs side by side with
// the start of the PMIx server, and no rule about fork in threaded programs applies. Main thread only.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fd.hpp"
#include "options.hpp"

namespace oshrun {

/// What the launcher changes of itself and every process of the job gets back.
class ProcessState {
 public:
  /// Blocks the signals that the main loop reads from signal_fd(), ignores SIGPIPE, raises the limit of open
  /// files. Call before any thread exists: threads inherit the mask.
  ProcessState();
  void restore() const;
  int signal_fd() const { return signal_fd_.get(); }

 private:
  sigset_t mask_{};
  struct sigaction pipe_action_ {};
  rlimit files_{};
  UniqueFd signal_fd_;
};

struct Exit {
  int rank;
  int wait_status;
};

/// A program that could not be executed (or its directory not entered).
struct ExecFailure {
  int rank;
  int error;
  bool in_wdir;
};

/// One program of the job, and where it was found.
struct Program {
  App app;
  std::string path;
};

class Children {
 public:
  struct Child {
    pid_t pid = -1;
    const Program* program = nullptr;
    UniqueFd go;   // the process waits at the other end for release()
    UniqueFd out;  // non-blocking read ends of what it prints
    UniqueFd err;
    bool reaped = false;
    bool debugged = false;  // any process of this user's may attach to it; set before fork_all()
  };

  /// `programs` in the order of ranks; they and `state` must outlive this.
  Children(const std::vector<Program>& programs, const ProcessState& state);

  /// Forks every process. With `pipe_stdin` PE 0 reads a pipe (see take_stdin), else the launcher's own
  /// standard input. Returns 0 or an errno; then some processes may exist.
  int fork_all(bool pipe_stdin);

  /// Sends the process on its way with these NAME=VALUE settings. Returns 0 or an errno.
  int release(int rank, const std::vector<std::string>& settings);
  /// Binds a process that has not been released. Returns 0 or an errno.
  int bind(int rank, const std::vector<int>& cpus);

  /// Takes the exit status of every process that has ended since the last call, and kills what is left of its
  /// group.
  std::vector<Exit> reap();
  std::optional<ExecFailure> exec_failure(int rank);

  /// To the process groups of all, or of one, that have not been reaped.
  void signal_all(int signal);
  void signal(int rank, int signal);

  const Child& at(int rank) const { return children_[static_cast<std::size_t>(rank)]; }
  Child& at(int rank) { return children_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(children_.size()); }
  /// The non-blocking write end of PE 0's standard input.
  UniqueFd take_stdin() { return std::move(stdin_); }

 private:
  int fork_one(int rank);
  [[noreturn]] void run_child(int rank, int go, int out, int err);
  [[noreturn]] void give_up(int rank, int error, bool in_wdir);
  void read_failures();

  const ProcessState& state_;
  pid_t launcher_;
  std::vector<Child> children_;
  std::unordered_map<pid_t, int> rank_of_;
  std::vector<ExecFailure> failures_;
  UniqueFd failure_in_;  // records of ExecFailure, each written at once
  UniqueFd failure_out_;
  UniqueFd null_;
  UniqueFd stdin_;
  UniqueFd stdin_child_;
};

}  // namespace oshrun

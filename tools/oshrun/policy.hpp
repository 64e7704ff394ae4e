// SPDX-License-Identifier: BSD-3-Clause
// Which failure ends the job, and with which exit code. Pure bookkeeping without system calls, so that every
// order of events can be tested. Used by the main loop only: not thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "roster.hpp"

namespace oshrun {

/// What the launcher knows of a process of the job. README.md has the diagram.
enum class Stage {
  kStarted,    // runs, and has not connected to the PMIx server (a plain program never does)
  kConnected,  // between PMIx_Init and PMIx_Finalize
  kFinalized,  // after PMIx_Finalize; a second program in the same process may connect again
  kExited,
};

/// The reason the job ends. `what` completes "PE 2 (pid 7, host h) ..."; empty when the process has spoken
/// for itself, or left `line` to be said as it is.
struct Verdict {
  int rank = 0;
  int exit_code = 0;
  std::string what;
  std::string line = {};
  int signal = 0;  // that has killed the process
};

/// The PMIx server's news (on its thread) and SIGCHLD race with each other. Report everything that is known,
/// events first, then ask judge(): of causes that arrive together it takes the one that explains the others.
/// A signal beats an abort of another process (which may have noticed the death), an abort beats an exit
/// code, an exit code beats a missing PMIx_Finalize; among equals the first reported one wins. A process that
/// lost its connection to another one only suspects: a connection breaks some moments before its process can
/// be reaped.
///
/// Memory servers are there for the PEs. While a PE lives, one that leaves before all PEs have
/// finalized is a failure; when no PE is left only a death by signal is, until let_servers_go(), and nothing
/// after that.
class Policy {
 public:
  explicit Policy(const Roster& roster);

  void connected(int rank);
  void finalized(int rank);
  /// PMIx_Abort: `message` empty or beginning with "quiet:" means that the process has reported the reason;
  /// one that begins with kSuspicion (base/fatal.hpp) is the line to say if no process turns out to have
  /// died.
  void aborted(int rank, int status, const std::string& message);
  /// `wait_status` as waitpid gives it.
  void exited(int rank, int wait_status);

  /// The verdict, given once in the life of a job; nothing while all is well, or while there is only a
  /// suspicion.
  std::optional<Verdict> judge();
  /// Whether there is nothing but a suspicion, which a death may still explain.
  bool suspects() const { return suspicion_ && !cause_; }
  /// No death has come in time: judge() counts the suspicion from now on.
  void trust_suspicion();

  /// From now on the launcher ends the memory servers, and how they end says nothing.
  void let_servers_go() { servers_let_go_ = true; }

  Stage stage(int rank) const { return processes_[static_cast<std::size_t>(rank)].stage; }
  int pes_alive() const { return pes_alive_; }
  int servers_alive() const { return servers_alive_; }

 private:
  enum Weight { kSignal, kAbort, kExitCode, kMisbehaved };
  struct Process {
    Stage stage = Stage::kStarted;
    bool aborted = false;
  };
  struct Cause {
    Weight weight;
    Verdict verdict;
  };

  Process& at(int rank) { return processes_[static_cast<std::size_t>(rank)]; }
  bool counts(int rank) const { return roster_.is_pe(rank) || pes_alive_ > 0; }
  void blame(Weight weight, Verdict verdict);
  void suspect(Verdict verdict);
  void left(int rank);
  void pe_exited_with_zero(int pe, Stage before);

  const Roster roster_;
  std::vector<Process> processes_;
  int pes_alive_;
  int servers_alive_;
  bool servers_let_go_ = false;
  bool any_connected_ = false;  // of the PEs
  bool judged_ = false;
  std::optional<int> never_connected_;  // first PE that exited with 0 and had not connected
  std::optional<Cause> cause_;
  std::optional<Verdict> suspicion_;  // of the first process that has one, PEs before servers
};

/// "killed by signal 11 (SIGSEGV, Segmentation fault)" and the like, from a signal's number.
std::string describe_signal(int signal);

}  // namespace oshrun

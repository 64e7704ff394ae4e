// SPDX-License-Identifier: BSD-3-Clause
// Which failure ends the job, and with which exit code. Pure bookkeeping without system calls, so that every
// order of events can be tested. Used by the main loop only: not thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace oshrun {

/// What the launcher knows of a PE. README.md has the diagram.
enum class PeState {
  kStarted,    // runs, and has not connected to the PMIx server (a plain program never does)
  kConnected,  // between PMIx_Init and PMIx_Finalize
  kFinalized,  // after PMIx_Finalize; a second program in the same PE may connect again
  kExited,
};

/// The reason the job ends. `what` completes "PE 2 (pid 7, host h) ..."; empty when the PE has spoken for
/// itself, or left `line` to be said as it is.
struct Verdict {
  int pe = 0;
  int exit_code = 0;
  std::string what;
  std::string line = {};
};

/// The PMIx server's news (on its thread) and SIGCHLD race with each other. Report everything that is known,
/// events first, then ask judge(): of causes that arrive together it takes the one that explains the others.
/// A signal beats an abort of another PE (which may have noticed the death), an abort beats an exit code, an
/// exit code beats a missing PMIx_Finalize; among equals the first reported one wins. A PE that lost its
/// connection to another one only suspects: a connection breaks some moments before its process can be
/// reaped.
class Policy {
 public:
  explicit Policy(int pes);

  void connected(int pe);
  void finalized(int pe);
  /// PMIx_Abort: `message` empty or beginning with "quiet:" means that the PE has reported the reason itself;
  /// one that begins with kSuspicion (base/fatal.hpp) is the line to say if no PE turns out to have died.
  void aborted(int pe, int status, const std::string& message);
  /// `wait_status` as waitpid gives it.
  void exited(int pe, int wait_status);

  /// The verdict, given once in the life of a job; nothing while all is well, or while there is only a
  /// suspicion.
  std::optional<Verdict> judge();
  /// Whether there is nothing but a suspicion, which a death may still explain.
  bool suspects() const { return suspicion_ && !cause_; }
  /// No death has come in time: judge() counts the suspicion from now on.
  void trust_suspicion();

  PeState state(int pe) const { return pes_[static_cast<std::size_t>(pe)].state; }
  int alive() const { return alive_; }

 private:
  enum Rank { kSignal, kAbort, kExitCode, kMisbehaved };
  struct Pe {
    PeState state = PeState::kStarted;
    bool aborted = false;
  };
  struct Cause {
    Rank rank;
    Verdict verdict;
  };

  Pe& at(int pe) { return pes_[static_cast<std::size_t>(pe)]; }
  void blame(Rank rank, Verdict verdict);
  void exited_with_zero(int pe, PeState before);

  std::vector<Pe> pes_;
  int alive_;
  bool any_connected_ = false;
  bool judged_ = false;
  std::optional<int> never_connected_;  // first PE that exited with 0 and had not connected
  std::optional<Cause> cause_;
  std::optional<Verdict> suspicion_;  // of the first PE that has one
};

/// "killed by signal 11 (SIGSEGV, Segmentation fault)" and the like, from a signal's number.
std::string describe_signal(int signal);

}  // namespace oshrun

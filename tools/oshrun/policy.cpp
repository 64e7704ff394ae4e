// SPDX-License-Identifier: BSD-3-Clause
#include "policy.hpp"

#include <sys/wait.h>

#include <cstring>

#include "base/fatal.hpp"

namespace oshrun {
namespace {

constexpr const char* kNeverConnected =
    "exited with code 0 without having called shmem_init, which other PEs did";

/// A process has eight bits of exit code; a failure must not become a success by losing the others.
int process_exit_code(int status) {
  const int code = status & 0xff;
  return status != 0 && code == 0 ? 1 : code;
}

}  // namespace

std::string describe_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* text = sigdescr_np(signal);
  std::string result = "signal " + std::to_string(signal);
  if (name != nullptr && text != nullptr) result += std::string(" (SIG") + name + ", " + text + ")";
  return result;
}

Policy::Policy(int pes) : pes_(static_cast<std::size_t>(pes)), alive_(pes) {}

void Policy::blame(Rank rank, Verdict verdict) {
  if (!cause_ || rank < cause_->rank) cause_ = Cause{rank, std::move(verdict)};
}

void Policy::connected(int pe) {
  if (at(pe).state != PeState::kExited) at(pe).state = PeState::kConnected;
  any_connected_ = true;
  if (never_connected_) blame(kMisbehaved, {*never_connected_, 1, kNeverConnected});
}

void Policy::finalized(int pe) {
  if (at(pe).state != PeState::kExited) at(pe).state = PeState::kFinalized;
}

void Policy::aborted(int pe, int status, const std::string& message) {
  at(pe).aborted = true;
  Verdict verdict{pe, process_exit_code(status), {}};
  if (message.starts_with(shm::kSuspicion)) {
    verdict.line = message.substr(std::strlen(shm::kSuspicion));
    if (verdict.line.ends_with('\n')) verdict.line.pop_back();
    if (!suspicion_) suspicion_ = std::move(verdict);
    return;
  }
  if (!message.empty() && !message.starts_with("quiet:"))
    verdict.what = "ended the job with code " + std::to_string(status) + ": " + message;
  blame(kAbort, std::move(verdict));
}

void Policy::exited(int pe, int wait_status) {
  const PeState before = at(pe).state;
  if (before == PeState::kExited) return;
  at(pe).state = PeState::kExited;
  --alive_;
  if (at(pe).aborted) return;  // the abort has said why
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* core = WCOREDUMP(wait_status) ? ", core dumped" : "";
    blame(kSignal, {pe, 128 + signal, "was killed by " + describe_signal(signal) + core});
  } else if (WEXITSTATUS(wait_status) != 0) {
    const int code = WEXITSTATUS(wait_status);
    blame(kExitCode, {pe, code, "exited with code " + std::to_string(code)});
  } else {
    exited_with_zero(pe, before);
  }
}

void Policy::exited_with_zero(int pe, PeState before) {
  // A PE that leaves silently would keep the others waiting for ever; alone it keeps nobody waiting.
  if (pes_.size() == 1) return;
  if (before == PeState::kConnected) {
    blame(kMisbehaved, {pe, 1, "exited with code 0 without having called shmem_finalize"});
  } else if (before == PeState::kStarted) {
    if (!never_connected_) never_connected_ = pe;
    if (any_connected_) blame(kMisbehaved, {pe, 1, kNeverConnected});
  }
}

void Policy::trust_suspicion() {
  if (suspects()) cause_ = Cause{kMisbehaved, *suspicion_};
}

std::optional<Verdict> Policy::judge() {
  if (alive_ == 0) trust_suspicion();
  if (judged_ || !cause_) return std::nullopt;
  judged_ = true;
  return cause_->verdict;
}

}  // namespace oshrun

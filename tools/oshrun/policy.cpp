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

Policy::Policy(const Roster& roster)
    : roster_(roster),
      processes_(static_cast<std::size_t>(roster.size())),
      pes_alive_(roster.pes),
      servers_alive_(roster.servers) {}

void Policy::blame(Weight weight, Verdict verdict) {
  if (!cause_ || weight < cause_->weight) cause_ = Cause{weight, std::move(verdict)};
}

/// A server's may be forgotten when no PE is left (left()), so it must not stand in the way of a PE's.
void Policy::suspect(Verdict verdict) {
  const bool weak = suspicion_ && !roster_.is_pe(suspicion_->rank) && roster_.is_pe(verdict.rank);
  if (!suspicion_ || weak) suspicion_ = std::move(verdict);
}

void Policy::connected(int rank) {
  if (at(rank).stage != Stage::kExited) at(rank).stage = Stage::kConnected;
  if (!roster_.is_pe(rank)) return;
  any_connected_ = true;
  if (never_connected_) blame(kMisbehaved, {*never_connected_, 1, kNeverConnected});
}

void Policy::finalized(int rank) {
  if (at(rank).stage != Stage::kExited) at(rank).stage = Stage::kFinalized;
}

void Policy::aborted(int rank, int status, const std::string& message) {
  at(rank).aborted = true;
  if (!counts(rank)) return;
  Verdict verdict{rank, process_exit_code(status), {}};
  if (message.starts_with(shm::kSuspicion)) {
    verdict.line = message.substr(std::strlen(shm::kSuspicion));
    if (verdict.line.ends_with('\n')) verdict.line.pop_back();
    return suspect(std::move(verdict));
  }
  if (!message.empty() && !message.starts_with("quiet:"))
    verdict.what = "ended the job with code " + std::to_string(status) + ": " + message;
  blame(kAbort, std::move(verdict));
}

/// The books of an exit.
void Policy::left(int rank) {
  at(rank).stage = Stage::kExited;
  if (!roster_.is_pe(rank)) {
    --servers_alive_;
    return;
  }
  --pes_alive_;
  // What servers suspect is that PEs have gone, and they have.
  if (pes_alive_ == 0 && suspicion_ && !roster_.is_pe(suspicion_->rank)) suspicion_.reset();
}

void Policy::exited(int rank, int wait_status) {
  const Stage before = at(rank).stage;
  if (before == Stage::kExited) return;
  left(rank);
  if (at(rank).aborted) return;  // the abort has said why
  if (WIFSIGNALED(wait_status)) {
    if (servers_let_go_ && !roster_.is_pe(rank)) return;
    const int signal = WTERMSIG(wait_status);
    const char* core = WCOREDUMP(wait_status) ? ", core dumped" : "";
    blame(kSignal, {rank, 128 + signal, "was killed by " + describe_signal(signal) + core, {}, signal});
  } else if (!counts(rank)) {
    return;
  } else if (WEXITSTATUS(wait_status) != 0) {
    const int code = WEXITSTATUS(wait_status);
    blame(kExitCode, {rank, code, "exited with code " + std::to_string(code)});
  } else if (roster_.is_pe(rank)) {
    pe_exited_with_zero(rank, before);
  } else if (before != Stage::kFinalized) {
    blame(kMisbehaved, {rank, 1, "exited with code 0 while PEs still run"});
  }
}

void Policy::pe_exited_with_zero(int pe, Stage before) {
  // A PE that leaves silently would keep the others waiting for ever; alone it keeps nobody waiting.
  if (roster_.pes == 1) return;
  if (before == Stage::kConnected) {
    blame(kMisbehaved, {pe, 1, "exited with code 0 without having called shmem_finalize"});
  } else if (before == Stage::kStarted) {
    if (!never_connected_) never_connected_ = pe;
    if (any_connected_) blame(kMisbehaved, {pe, 1, kNeverConnected});
  }
}

void Policy::trust_suspicion() {
  if (suspects()) cause_ = Cause{kMisbehaved, *suspicion_};
}

std::optional<Verdict> Policy::judge() {
  if (pes_alive_ + servers_alive_ == 0) trust_suspicion();
  if (judged_ || !cause_) return std::nullopt;
  judged_ = true;
  return cause_->verdict;
}

}  // namespace oshrun

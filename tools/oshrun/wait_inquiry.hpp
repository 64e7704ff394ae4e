// SPDX-License-Identifier: BSD-3-Clause
// Asks the PEs who waits for whom. Main loop only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fd.hpp"
#include "wait_summary.hpp"

namespace oshrun {

/// The socket that answers come to, and one question at a time: begin(), then take_answers() whenever the
/// socket is readable, until done() or the deadline. PEs that end meanwhile are simply not heard of.
class WaitInquiry {
 public:
  using Clock = std::chrono::steady_clock;

  /// Listens for the job. Without a socket (fd() < 0) nobody can be asked. Answers are waited for as long as
  /// `patience`: a thread that waits looks every few milliseconds; more time is for machines with more PEs
  /// than cores.
  void listen(const std::string& job_id, int pes, std::chrono::milliseconds patience);
  int fd() const { return socket_.get(); }

  /// Begins a question. `states` are those of all PEs: kSilent for those that shall answer, kFinalized for
  /// those that do if they are still in shmem_finalize.
  void begin(std::vector<PeWaits> states);
  /// Reads what has come. Also at other times: PEs tell where they can be asked, and that they have left
  /// early.
  void take_answers();
  std::optional<Clock::time_point> deadline() const { return deadline_; }
  /// Every PE that has heard the question has answered, for each of its threads.
  bool done() const;
  /// Ends the question.
  std::vector<PeWaits> finish();

  bool anybody_left_early() const;

 private:
  void take(const shm::WaitRecord& record, const shm::UnixAddress& from);

  UniqueFd socket_;
  std::vector<shm::UnixAddress> listens_at_;  // questions of the PE; none: it has not come so far
  std::chrono::milliseconds patience_{0};
  std::vector<PeWaits> pes_;
  std::vector<int> expected_;    // reports, by PE; -1: it has not said how many
  std::vector<bool> heard_;      // it listens: a program that is not ours, or has not come so far, does not
  std::vector<bool> finalized_;  // PMIx says so
  std::vector<bool> left_early_;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// From what the PEs say they wait for to lines that a person can act on. No system calls: not thread safe,
// unit-tested.
#pragma once

#include <string>
#include <vector>

#include "base/wait_record.hpp"

namespace oshrun {

/// What is known of one PE when the question was asked. Memory servers are not asked; that a PE waits for one
/// is a wait for a rank behind the PEs.
struct PeWaits {
  enum class State {
    kSilent,     // has not answered: it is stopped, or the program handles the signal itself
    kPresent,    // has answered; it computes if it has no waits
    kFinalized,  // runs, and is no member of the job any more, or not yet
    kEnded,      // its process has ended
  };
  State state = State::kSilent;
  bool left_early = false;  // has returned from main without shmem_finalize
  std::vector<shm::WaitRecord> waits;
};

/// Lines without a prefix: one for each group of PEs that wait for the same thing, one for each circle, and
/// one that says which PEs all others wait for in the end and what these do. Empty if no PE waits for
/// `at_least` seconds.
std::vector<std::string> summarize(const std::vector<PeWaits>& pes, double at_least);

/// What to say when summarize() has nothing: what the PEs do instead of waiting.
std::string nobody_waits(const std::vector<PeWaits>& pes);

/// For how long in each PE that has not ended all threads have waited that wait at all (seconds); 0: none
/// waits in one of them. What threads do that wait in no call nobody knows.
double all_have_waited(const std::vector<PeWaits>& pes);

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// All other threads of the process stand still while a page is put in its place, as the paper has it.
//
// Each of them gets a signal, in whose handler it waits.  Nothing depends on it here, since a page is mapped
// at once with all that it holds.  So both waits have an end: who does not take the signal in time goes on
// running, and who waits in the handler for too long goes on too: it might hold a lock that is needed, of
// malloc for instance.
#pragma once

#include <chrono>
#include <cstdint>

namespace shm::remote {

/// While one lives, no thread of the program runs, but those that have begun meanwhile.  Service threads run;
/// so do those that wait for a page, who need not be told.
/// REQUIRES: there is no other one; the calling thread, and whoever it waits for meanwhile,
/// is_no_user_thread().
class UserThreadsSuspended {
 public:
  UserThreadsSuspended();
  ~UserThreadsSuspended();
  UserThreadsSuspended(const UserThreadsSuspended&) = delete;
  UserThreadsSuspended& operator=(const UserThreadsSuspended&) = delete;
};

/// The calling thread is never suspended.
void is_no_user_thread();

/// While it lives, the calling thread waits for a page: it counts as suspended, and when it ends it waits for
/// the others.  The thread takes no signals meanwhile.  Async-signal-safe.
class WaitsForPage {
 public:
  WaitsForPage();
  ~WaitsForPage();
  WaitsForPage(const WaitsForPage&) = delete;
  WaitsForPage& operator=(const WaitsForPage&) = delete;

 private:
  struct Task* const task_;
};

/// Of all suspensions of the process so far.
struct SuspensionCounts {
  std::uint64_t suspensions;
  std::uint64_t signals;
  std::uint64_t missed;   // threads that have not taken the signal in time
  std::uint64_t escaped;  // threads that have been suspended for too long
};
SuspensionCounts suspension_counts();

/// How long who suspends waits for a thread to take the signal, and a thread in the handler.
inline constexpr std::chrono::milliseconds kSignalPatience{100}, kLongestSuspension{100};

}  // namespace shm::remote

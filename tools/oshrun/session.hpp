// SPDX-License-Identifier: BSD-3-Clause
// What a job may leave on the machine, and how it goes away even when the launcher is killed with SIGKILL.
// Main thread only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fd.hpp"

namespace oshrun {

/// Everything of a job is named after its id: $TMPDIR/atoll.<id>.*, /dev/shm/atoll.<id>.* and sockets.  All
/// users see these names.
struct Session {
  std::string job_id;          // atoll-<pid>-<random>, also ATOLL_JOB_ID
  std::string pmix_namespace;  // <job_id>.<secret>: PMIx 4 serves everybody who names it (docs/security.md)
  std::string tmpdir;          // $TMPDIR, or /tmp
  std::string dir;             // the PMIx server's directory, below tmpdir
};

Session new_session();
/// For secrets. Ends this process if the kernel has none.
std::uint64_t random_number();
/// Makes the directory, for this user only. Returns 0 or an errno.
int create_session_dir(const Session& session);
/// Removes the session directory and every file of the job, whoever made it.
void remove_job_files(const Session& session);

/// A small process that outlives the launcher if that is killed: it notices the end of a pipe, kills the
/// process groups of the PEs, removes the job's files and exits. It has a session of its own (no ^C reaches
/// it) and none of the launcher's descriptors. In a normal end the launcher cleans up itself and then ends
/// the janitor.
class Janitor {
 public:
  ~Janitor() { stop(); }

  /// Forks it; call before there are threads and PEs. Returns 0 or an errno.
  int start(const Session& session);
  void watch(pid_t group) { tell(group); }
  /// The group is empty: its number may soon belong to somebody else.
  void forget(pid_t group) { tell(-group); }
  void stop();

 private:
  void tell(pid_t word);

  pid_t pid_ = -1;
  UniqueFd pipe_;
};

}  // namespace oshrun

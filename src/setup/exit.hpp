// SPDX-License-Identifier: BSD-3-Clause
// What the end of this process does to the library and the job, and the end of the job to this process.
#pragma once

namespace shm {

class Boot;

/// From here on this process is a PE: the end of it by an error or SIGTERM concerns the job that `boot` has
/// joined, too.  Called once; a forked child is no PE.
void become_pe(Boot& boot);

/// The library starts, on this thread; from the first time on exit() looks at what it is doing.
/// `ends_by_itself`: nobody will finalize (start_pes).
void note_start(bool ends_by_itself);
/// The start is over: library_started() says so already, or it has failed before anything of the library ran.
void note_end_of_start();

/// Ends all PEs of the job, in whatever state they are; this one as exit() does: exit handlers run and
/// streams are flushed, within ten seconds, and handlers find the library not started.
[[noreturn]] void exit_job(int status);

/// Whether exit_job() has been called.
bool job_is_ending();

}  // namespace shm

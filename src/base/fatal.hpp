// SPDX-License-Identifier: BSD-3-Clause
// Errors that end the job: one line on stderr that a person can act on, then a non-zero exit of the job.
#pragma once

#include <string>

namespace shm {

/// Exit code of a job that the library ended because of an error.
inline constexpr int kErrorExit = 1;

/// Who this process is, for the head of each message ("PE 2 of 4 on n1").  Set once the rank is known.
/// Thread safety: call before other threads exist.
void set_identity(int pe, int npes, const std::string& host);

/// Ends the whole job, not only this process; never returns.  Installed by boot; until then fatal() exits.
using AbortHook = void (*)(int code);
void set_abort_hook(AbortHook hook);

/// Prints `atoll: PE p of n on h: <text>` as one write and ends the job.  `format` as for printf.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void fatal(const char* format, ...);

/// Prints the same kind of line and returns.
[[gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void warn(const char* format, ...);

/// Prints the same kind of line if debugging is on (SHMEM_DEBUG), which it is not before set_debug(true).
void set_debug(bool on);
[[gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void debug(const char* format, ...);

}  // namespace shm

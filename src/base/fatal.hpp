// SPDX-License-Identifier: BSD-3-Clause
// Errors that end the job: one line on stderr that a person can act on, then a non-zero exit of the job.
#pragma once

#include <cstddef>
#include <string>

namespace shm {

/// Exit code of a job that the library ended because of an error.
inline constexpr int kErrorExit = 1;

/// Who this process is, for the head of each message ("PE 2 of 4 on n1").  Set once the rank is known.
/// Thread safety: call before other threads exist.
void set_identity(int rank, int npes, const std::string& host);

/// "PE 2", or "memory server 1": those are the ranks behind the PEs.  For messages, once the identity is
/// known.
std::string process_name(int rank);

/// "PE 2 of 4 on n1"; empty until the rank is known.  Async-signal-safe.
const char* identity_text();

/// Writes `length` bytes to standard error.  Async-signal-safe.
void print_text(const char* text, std::size_t length);

/// How the message of PMIx_Abort begins that holds the line of a lost_peer(), for oshrun.
inline constexpr char kSuspicion[] = "suspicion: ";

/// Ends the whole job, not only this process; never returns.  `suspicion` is the line of lost_peer(), which
/// the hook says or hands to the launcher; null: all has been said.  Installed by setup; until then fatal()
/// exits.
using AbortHook = void (*)(int code, const char* suspicion);
void set_abort_hook(AbortHook hook);

/// What fatal() calls when it has said its line, before the job ends.
void set_fatal_note(void (*note)());

/// Prints `atoll: PE p of n on h: <text>` as one write and ends the job.  `format` as for printf.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void fatal(const char* format, ...);

/// Ends the job because another PE cannot be reached, which the end of that PE may explain better: the
/// launcher says the line only if no PE turns out to have died (Boot::abort).  `format` as for fatal().
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void lost_peer(const char* format, ...);

/// Of whoever has sent what does not say whose it is.
inline constexpr int kUnknownRank = -1;

/// Ends the job because of a message that no process of it can have meant: "internal error: PE 3 sent a
/// packet of table requests that is cut off".  `from`: its rank, or kUnknownRank: "a PE sent ..."; `what` it
/// sent, and what is `wrong` with that.
[[noreturn, gnu::cold]] void refuse_message(int from, const char* what, const char* wrong);

/// The same of an answer to what was sent to `asked`, and not to `from`.
[[noreturn, gnu::cold]] void refuse_answer(int from, const char* what, int asked);

/// Unless `asked` is who sent it.
inline void check_who_answers(int from, const char* what, int asked) {
  if (from != asked) [[unlikely]]
    refuse_answer(from, what, asked);
}

/// refuse_message() unless `wrong` is null.
inline void check_message(int from, const char* what, const char* wrong) {
  if (wrong != nullptr) [[unlikely]]
    refuse_message(from, what, wrong);
}

/// The kernel kills this process after so many seconds, whatever hangs: needs neither a thread nor memory.
void die_within(int seconds);

/// Prints `line`, which ends with a newline, on standard error.
void print_line(const std::string& line);

/// Prints the same kind of line and returns.
[[gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void warn(const char* format, ...);

/// Prints the same kind of line if debugging is on (SHMEM_DEBUG), which it is not before set_debug(true).
void set_debug(bool on);
[[gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void debug(const char* format, ...);

}  // namespace shm

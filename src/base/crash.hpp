// SPDX-License-Identifier: BSD-3-Clause
// What a PE says when it crashes: by which signal, in which call of the API, and who has called that.
#pragma once

#include <atomic>
#include <cstdint>

namespace shm {

struct CrashReport {
  bool spoken = true;    ///< false: crashes are silent
  bool of_each = false;  ///< each PE shows its calls, even if another one of its node has done so
  /// Shared by the PEs of a node, 0 at first: whose crash is the first shows the calls.  Null: it always
  /// does.
  std::atomic<std::uint32_t>* shown = nullptr;
  void (*choose_core)() = nullptr;  ///< before a core file may be written; async-signal-safe
};

/// From now on crashes of this process, though not of its forked children, are reported.  A signal that the
/// program handles by now is left to it, and so is one that it handles later; a handler that passes on what
/// is not its own brings the report.  The process then ends as it would have without all this. At init,
/// before handlers of this library's own for the same signals: they pass on here.
void report_crashes(const CrashReport& report);

/// Who has called the API in this thread, if the thread is in a call of it: for fatal().
void report_caller();

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// The program's handler of SIGSEGV, beside Atoll's, whose faults are the pages that come.
//
//   the system's   the program's, until Atoll installs its own; then Atoll's, for good
//   Atoll's        takes the faults of remote memory, and passes on all others
//   the program's  is only kept, and told, from then on: it gets what is passed on
//
// Who is Inside is Atoll.  masks.cpp and signal_stacks.cpp have what else of the program's signals would be
// in the way of such a fault.
#pragma once

#include <atomic>

namespace remote_malloc::handlers {

inline constinit std::atomic<bool> is_enabled{false};

/// From now on; before, all calls are the C library's.  REQUIRES: Atoll has installed nothing yet.
void enable();
inline bool enabled() { return is_enabled.load(std::memory_order_relaxed); }

}  // namespace remote_malloc::handlers

// SPDX-License-Identifier: BSD-3-Clause
// The end of the process: Atoll ends behind all of the program's own handlers and destructors, which may
// still use remote memory, though it was started after they were registered.
#pragma once

namespace remote_malloc {

/// From now on what Atoll registers for the exit is called then.
void end_with_process();

/// Once Atoll handles faults: they are uses of the memory from now on.
void watch_faults();

}  // namespace remote_malloc

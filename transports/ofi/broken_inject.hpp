// SPDX-License-Identifier: BSD-3-Clause
// A fault inside libfabric, told as what it is: a connection that broke.
//
// rxm does not expect an injected write to fail.  Its error entry names no operation, and rxm reads the
// operation's state, at address 0x20, when it comes to the entry (1.17 to 2.x, read in its source).  Writes
// that the system refuses come to light before that (Engine::inject_write); one that waits in tcp's queue,
// behind answers to a peer's gets, fails inside fi_cq_read.  So a fault of that kind, in libfabric's code,
// ends the job with a line, not with a signal.
#pragma once

#include "ofi/loader.hpp"

namespace shm::ofi {

/// From now on such a fault calls `say`, which does not return.  It runs in a signal
/// handler, which has interrupted no code but libfabric's.  Other faults go to the handler that was there
/// before; where the program installs one afterwards, all do.  Set-up only.
void guard_injects(const Library& library, void (*say)());

}  // namespace shm::ofi

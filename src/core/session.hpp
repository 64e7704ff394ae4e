// SPDX-License-Identifier: BSD-3-Clause
// Sessions: what a program says it is going to do on a context (OpenSHMEM 1.6, section 9.9).  Hints only:
// data, order and completion do not depend on them.
//
// The one option that the specification has is SHMEM_CTX_SESSION_BATCH: small puts and atomics to PEs on
// other nodes are then packed (transports/nic), blocking and non-blocking ones alike.  A session with other
// options, or one that expects fewer than two operations, changes nothing.  Operations to PEs of this node
// are loads and stores, and gain nothing.
#pragma once

#include "core/address.hpp"

namespace shm {

/// Starts a session, or adds to the one that is running: options are or-ed, members of `config` that `mask`
/// names replace earlier ones.  `config` is not looked at if the mask is 0.  Thread safety: any thread, other
/// threads may be using the context.
void start_session(Context& context, long options, const shmem_ctx_session_config_t* config, long mask);

/// Ends the session; nothing if none is running.  What is packed leaves, and is not waited for.
void stop_session(Context& context);

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Atomics that the provider cannot do, executed by the target's agent on request.
#pragma once

#include "core/address.hpp"
#include "transports/net.hpp"

namespace shm {

/// Executes the operation of `call` at the target and waits for its answer, so that nothing is left to quiet.
/// REQUIRES: what must precede it at the target is complete there.  `fetch` may be null.
void amo_by_message(Call call, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
                    const void* compare, void* fetch);

/// Sets the handlers; once per process.
void set_amo_handlers();

}  // namespace shm

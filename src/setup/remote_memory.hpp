// SPDX-License-Identifier: BSD-3-Clause
// This PE's private memory on memory servers: from init to finalize.
#pragma once

#include "base/env.hpp"
#include "base/status.hpp"
#include "remote/area.hpp"

namespace shm {

/// Null: the job has no memory servers.  Any thread, between these two.
remote::Area* remote_area();

/// At init, before the first operation.
Status open_remote_memory(remote::Servers& servers, const Env& env, int pes_on_host);
/// At finalize: frees all of it.  Nobody uses it any more.
void close_remote_memory();

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// This PE's private memory on memory servers: from init to finalize.
#pragma once

#include <vector>

#include "base/env.hpp"
#include "base/status.hpp"
#include "remote/area.hpp"

namespace shm {

/// Null: the job has no memory servers.  Any thread, between these two.
remote::Area* remote_area();

/// remote_area()->take_over(), and the library knows that pages there come and go.  Returns how many bytes
/// were taken over.  REQUIRES: remote_area(); no other thread is inside the library.
Result<std::size_t> take_over_memory(void* at, std::size_t bytes);

/// What this PE has had of each memory server, since it began anew; empty: the job has none.  Any thread,
/// between these two.
std::vector<remote::ServerUse> memory_server_uses();
void begin_memory_server_uses_anew();

/// At init, before the first operation.
Status open_remote_memory(remote::Servers& servers, const Env& env, int pes_on_host);
/// At finalize: frees all of it.  Nobody uses it any more.
void close_remote_memory();

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// The life of a memory server: a process of the job that is no PE and lends its memory to the PEs.
#pragma once

namespace shm {

/// Joins the job that the environment names (PMIx, SHMEM_MEMORY_SERVERS), as one of its last ranks, lends
/// memory until PE 0 says that the job ends, and leaves it.  Returns the exit code of the process: 0, or
/// another after one line on standard error; the launcher then ends the job.
///
/// Called once, by main() of shmem_memory (tools/), before any other thread exists.  It is in the library,
/// because it is the library's other end, and is exported for that program alone (cmake/exports.map).
int serve_memory();

}  // namespace shm

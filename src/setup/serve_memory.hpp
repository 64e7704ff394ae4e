// SPDX-License-Identifier: BSD-3-Clause
// The life of a memory server: a process that lends its memory to the PEs of its job.
#pragma once

#include "base/env.hpp"
#include "boot/boot.hpp"

namespace shm {

/// Joins the job that the environment shows, lends memory until the job ends, and returns the exit code of
/// the process.  Errors are one line on standard error, and end the job.
int serve_memory();

/// The same, in a process that has joined already: shmem_init where the last ranks of a job serve.
int serve_memory(Boot& boot, const Env& env);

}  // namespace shm

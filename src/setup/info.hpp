// SPDX-License-Identifier: BSD-3-Clause
// What SHMEM_VERSION and SHMEM_INFO print at start-up.
#pragma once

namespace shm {

struct ProcessState;

/// PE 0 prints what the environment asks for, on stdout.
void print_start_information(const ProcessState&);

}  // namespace shm

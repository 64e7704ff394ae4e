// SPDX-License-Identifier: BSD-3-Clause
// shmem_info --doctor: tries what jobs need on this machine, and says what was found and what to do.
#pragma once

#include <string>

namespace doctor {

/// Prints its report, and returns the exit code: 1 if something prevents jobs.  Takes `within` seconds at
/// most, of 5 and more.  `folder`: for a heap on NVM; empty: what the environment says.
int look_at_machine(const std::string& folder, int within);

/// What each PE of the doctor's jobs does.  Returns its exit code.
int be_pe();

}  // namespace doctor

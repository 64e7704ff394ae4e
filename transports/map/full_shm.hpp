// SPDX-License-Identifier: BSD-3-Clause
// What it means to touch shared memory that /dev/shm has no room for.
#pragma once

namespace shm {

/// From now on a bus error while /dev/shm is full ends the job with a line that says so, instead of a signal.
/// Other bus errors are what they were.  Thread safety: call during set-up.
void name_full_shm();

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// SHMEM_CHECKS=full: loads libshmem_checks, and has the program's calls go through it.
#pragma once

namespace shm {

/// Where the variable asks for it; else nothing happens, and no call costs anything.  At the end of init,
/// before begin_observation(): calls are checked first and written down then.  What cannot be loaded is said
/// in a line, and left out.
void begin_full_checks();

/// In finalize.
void end_full_checks();

/// Something in the library, if it was ever loaded.
const void* full_checks_library();

}  // namespace shm

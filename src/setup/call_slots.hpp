// SPDX-License-Identifier: BSD-3-Clause
// Where programs keep the addresses of the API's functions, and how they come to name others while the
// program runs.
//
// A call of shmem_x goes through a slot of the calling program or library (its GOT), which the dynamic linker
// has filled with the address in this library.  To replace the address there costs nothing where nobody does,
// and calls made through pshmem_x, by tools, stay what they are.  Not found are pointers that the program has
// kept itself, and libraries that are loaded later.
#pragma once

namespace shm {

/// From now on calls of functions that the library with `target` in it defines, too, go there: those that
/// came here so far. A function of the user's in the place of one stays in force.  `between`: in a library to
/// which calls have been led before, whose own calls of pshmem_x then go to shmem_x; null: none.
void lead_calls_to(const void* target, const void* between);

}  // namespace shm

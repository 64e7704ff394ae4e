// SPDX-License-Identifier: BSD-3-Clause
// Start and end of the library (OpenSHMEM 1.6, section 9.1).
#pragma once

#include "base/status.hpp"
#include "core/address.hpp"

namespace shm {

/// Starts the library, or counts one more start.  Collective.  `ends_by_itself`: see setup/exit.  The error
/// is one sentence for the user.
Status start_library(int thread_level, bool ends_by_itself = false);

/// Counts one start less; the last one completes communication and frees the heap.  Every one is a barrier.
/// `call` is what the program has called, or has not.
void stop_library(Call call);

/// Whether more starts than stops have been counted.  Any thread, any time.
bool library_started();

/// What PEs of other nodes are reached by, for people; "" where there is no network.  Valid until
/// stop_library() or abandon_library() ends the library.
const char* network_text();

/// Forgets that the library runs, without a word to other PEs: the job ends.
void abandon_library();

}  // namespace shm

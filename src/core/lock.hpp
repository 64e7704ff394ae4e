// SPDX-License-Identifier: BSD-3-Clause
// Distributed locks (OpenSHMEM 1.6, section 9.13): first come, first served; waiters poll their own memory.
//
// A queue in the manner of Mellor-Crummey and Scott.  Each PE's copy of the lock is two words:
//
//   low   on the lock's home PE: the tail, that is one plus the PE that came last; 0: the lock is free
//   high  on every PE: its place in the queue: kGranted when the lock was passed on to it, plus one plus the
//         PE that came next, once known; plus kAsleep while this PE waits for it in the kernel (a futex),
//         which it does only in jobs on one node
//
// All words are 0 while nobody has or wants the lock, as before its first use.
//
//   set    swaps itself into the tail.  If there was a predecessor, tells it so and waits for kGranted in its
//   own word. clear  if no successor is known, tries to take itself out of the tail.  If that fails there is
//   one, which will say
//          so in a moment.  Passes the lock on to it.
//
// A PE's high word is written by the PE itself (to zero), by its one successor (adds itself) and by its one
// predecessor (adds kGranted), each once a turn.
#pragma once

#include "core/address.hpp"

namespace shm {

void set_lock(Call call, long* lock);
/// Whether the lock was free, and is now ours.
bool test_lock(Call call, long* lock);
/// Completes what the default context has issued first.
void clear_lock(Call call, long* lock);

}  // namespace shm

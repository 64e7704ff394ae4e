// SPDX-License-Identifier: BSD-3-Clause
// The counters of all functions, and the table that is printed from them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace profile {

using Clock = std::chrono::steady_clock;

/// Adds one call of function number `function` (see kNames).  Any thread at any time.
void add(std::size_t function, std::uint64_t bytes, Clock::duration time);

/// Whether calls are counted: shmem_pcontrol(0) stops it.
bool counting();

/// shmem_pcontrol: 0 stops counting, 1 goes on, 2 goes on and prints what this PE has counted so far.
void control(int level);

/// An initialization begins; with a level that is none it will be refused, and start_pes does nothing where
/// the library has been started; a finalization begins.  The one that ends the last initialization prints one
/// table over all PEs, from PE 0, and counts anew.  Collective, as the functions that call it are.
void starts();
void starts(int level, const int* provided);
void starts_once();
void ends();

/// `call` ends the job: this PE's own table, now, as exit handlers may hang.  What they call is not counted.
void ends_job(const char* call);

/// This PE's own table, if anything has been counted: for a program that ends without shmem_finalize.
void print_own(const char* why);

/// Number of functions, and their names: made from the tables of include/shmem in profile.cpp.
extern const std::size_t kFunctions;
extern const char* const kNames[];

}  // namespace profile

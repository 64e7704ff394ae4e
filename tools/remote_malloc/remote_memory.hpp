// SPDX-License-Identifier: BSD-3-Clause
// The seam: what this library needs of Atoll.  Unit tests link another implementation.
#pragma once

#include <cstddef>

/// All calls by threads that are Inside.
namespace remote_malloc::memory {

/// From now on, and until end(), there is memory.  Ends the process with a line if there cannot be any.
void start();
void end();

/// Whether end() waits for no other process.
bool alone();

/// A block in whole pages that reads as zeros; null: there is no room, and a line on stderr says so.
void* allocate(std::size_t bytes);
void release(void* block);
/// What was asked for, if a block begins there; else 0.
std::size_t size_of(const void* block);
/// Whole pages of [at, at + bytes), memory of the program, are remote from now on, with what they hold.
/// Returns how many bytes these are; 0: none, and a line on stderr says why.
std::size_t take_over(void* at, std::size_t bytes);

}  // namespace remote_malloc::memory

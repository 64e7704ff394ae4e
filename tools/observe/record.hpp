// SPDX-License-Identifier: BSD-3-Clause
// What calls leave behind: events in rings, and counts for each PE.
//
// Each thread writes a ring of its own, whose oldest events go first; a thread that ends leaves it to the
// next one.  So memory is bounded: kLanes rings at most, and what finds none is counted as lost.  Nothing
// here takes a lock, and record() may run in a signal handler: an event that is interrupted by another of its
// thread replaces it.
#pragma once

#include <pshmem.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/observer.hpp"

namespace observe {

inline constexpr std::size_t kLanes = 64;

/// A call, or a fault, of which `bytes` is the address.  Times are those of ticks().
struct Event {
  std::uint64_t begin, length, bytes;
  std::int32_t pe;         // of the world; -1: none in particular
  std::uint32_t function;  // an index of kNames, or one of the two behind it
};

/// Made from the tables of include/shmem in calls.cpp.
extern const std::size_t kFunctions;
extern const char* const kNames[];

/// Numbers of what is no call.
inline std::uint32_t number_of_fault(bool store) {
  return static_cast<std::uint32_t>(kFunctions) + (store ? 1 : 0);
}

enum Mode : unsigned { kNothing = 0, kEvents = 1, kPairs = 2 };
[[gnu::visibility("hidden")]] extern std::atomic<unsigned> mode;

/// Before anything else, by one thread: `events` of each thread are kept, rounded up to a power of two.
void prepare_records(std::size_t events, int npes);

struct Span {
  std::uint64_t begin, end;
};
/// Writes down a call.  `pe` is one of the team of `ctx`.
void record(Span span, std::uint32_t function, std::uint64_t bytes, int pe, shmem_ctx_t ctx);
void record_fault(const void* at, bool store, std::uint64_t begin);

/// What a lane has, the oldest first.  Others may write meanwhile: what they overwrite is then not true.
struct Lane {
  std::size_t number;
  std::uint64_t all;  // events that there were
  std::uint64_t kept;
};
/// Reads without memory of its own, for a process that dies.
std::size_t lanes();
Lane lane(std::size_t number);
Event event_of(const Lane& lane, std::uint64_t index);
/// Events that found no ring.
std::uint64_t lost_events();
/// Nothing is kept any more.  REQUIRES: nobody records.
void clear_records();

/// To a PE, by this one.
struct Talk {
  std::uint64_t operations, bytes;
};
Talk talk_to(int pe);

}  // namespace observe

// SPDX-License-Identifier: BSD-3-Clause
// What PEs and memory servers say to each other, beside reading and writing lent memory.
#pragma once

#include <cstdint>

namespace shm::remote {

/// Message numbers on the link.  Who sends what: PE -> server but for `answer` and `ready`.
enum class LendMessage : std::uint16_t {
  lease,      // LeaseRequest: lend me so many bytes; awaits `answer`
  give_back,  // GiveBack: of what was lent to me
  finish,     // FinishRequest: all that was lent to me, as I have come to shmem_finalize; awaits `answer`
  answer,     // LendAnswer, server -> PE
  page,       // PageRequest: I am going to read that page; awaits `ready`
  ready,      // PageReady, server -> PE
};

struct LeaseRequest {
  std::uint64_t number;  // of the request, for the answer
  std::uint64_t bytes;   // a multiple of kLeaseGrain
};

struct GiveBack {
  std::uint64_t offset, bytes;  // in the server's memory
};

struct FinishRequest {
  std::uint64_t number;
};

struct LendAnswer {
  std::uint64_t number;
  std::uint64_t offset;  // of what is lent, in the server's memory
  std::uint64_t free;    // bytes that the server has left
  std::uint64_t granted;
};

/// The two messages before a page is read where SHMEM_SWAP says so, as MPI exchanges them for long messages.
struct PageRequest {
  std::uint64_t number;         // of the request, for the answer
  std::uint64_t offset, bytes;  // in the server's memory
};

struct PageReady {
  std::uint64_t number;
};

/// Leases begin at multiples of this, and are multiples of it.
inline constexpr std::uint64_t kLeaseGrain = 4096;

}  // namespace shm::remote

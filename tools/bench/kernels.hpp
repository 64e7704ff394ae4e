// SPDX-License-Identifier: BSD-3-Clause
// The access patterns of `shmem_bench atomics`: who touches which word, in which form, and what must come
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bench {

using Word = std::uint64_t;

enum class Kind { add, cas };

/// blocking: every atomic fetches and is waited for.  nonfetching: the update is shmem_atomic_add.  nbi: all
/// are fetching and nonblocking.  In the last two, what a step needs of the one before is fetched nbi for a
/// whole pass.
enum class Form { blocking, nonfetching, nbi };

enum class Aim {
  neighbour,  ///< one PE, which nobody else aims at
  hot,        ///< all PEs at the first word of PE 0
  anywhere,   ///< a random PE for each step
};

/// What a kernel works on: symmetric memory, or a PE's private copy of it for the model.  `index` and `next`
/// are the same on all PEs.  Whoever runs a kernel owns all of it.
struct Ground {
  Word* array;         ///< `words` words
  Word* index;         ///< iterations + 1 random places in array
  Word* next;          ///< one cycle through all `iterations` places in next
  const int* targets;  ///< of Aim::anywhere: a PE for each iteration
  Word* old[3];        ///< `iterations` fetched values each
  std::size_t words, iterations, stride;
  int target;  ///< of the other aims
};

/// What the kernel saw; sums modulo 2^64.
struct Tally {
  Word fetched = 0;  ///< sum of values whose order of updates does not matter
  Word added = 0;    ///< sum of what was added (kernels of several steps)
  Word hits = 0;     ///< compare-and-swaps that changed their word
  Word at = 0;       ///< where the chase of pointers is
};

struct Kernel {
  const char* name;  ///< as CircusTent has it, such as RAND_ADD
  Kind kind;
  Form form;
  Aim aim;
  int atomics;   ///< of an iteration
  bool exact;    ///< the final memory follows from the contract; else only sums of it do
  bool chained;  ///< has several steps; its array does not begin with zeros
  /// `count` <= iterations; nonblocking updates may be in flight when it returns.
  void (*run)(const Ground& ground, std::size_t count, Tally& tally);
  /// The same on private memory.
  void (*model)(const Ground& ground, std::size_t count, Tally& tally);
};

std::span<const Kernel> all_kernels();

/// What word `at` of the array is when a round begins.
Word initial(const Kernel& kernel, std::size_t at);

/// `count` iterations, pass by pass.
void repeat(void (*pass)(const Ground&, std::size_t, Tally&), const Ground& ground, std::size_t count,
            Tally& tally);

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// Who looks at the arguments of each call: libshmem_checks (tools/checks), loaded where SHMEM_CHECKS=full
// asks for it.  Calls of the API come to it by themselves (setup/full_checks); this is what it needs of the
// library, and what else it is told.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/inside.hpp"

namespace shm {

/// Grows with each change of what follows: library and checks are two files.
inline constexpr unsigned kCallChecksVersion = 1;

/// [base, base + size); size 0: there is none.
struct CheckedRange {
  std::uintptr_t base;
  std::size_t size;
};

/// A heap that blocks come from, and the variable that says how large it is.
struct CheckedHeap {
  CheckedRange range;
  const char* name;  ///< "the symmetric heap"
  std::size_t limit;
  const char* variable;
};

/// What CallChecks::begin() is told; strings and functions stay valid until end().
struct CheckedJob {
  int pe;
  CheckedHeap memory, paged;
  CheckedRange variables;
  /// The heaps of this node's PEs as they are mapped here: one each `stride` bytes, the own one at `own`.
  CheckedRange heaps;
  std::size_t stride;
  std::uintptr_t own;
  int (*team_size)(const void* team);  ///< 0: no such team
  void (*refuse)(const char* line);    ///< ends the job
  void (*warn)(const char* line);
  void (*place)(std::uintptr_t at, char* text, std::size_t size);  ///< "at sort.c:33", of an instruction
};

/// `begin` and `end`: by one thread, while no other is in the library.  `made`, `ended` and `refused` come in
/// turn; `range` is called by any thread.
struct CallChecks {
  void (*begin)(const CheckedJob& job);  ///< there is no block
  void (*end)();
  /// There is a block now, or one that was there has this size.
  void (*made)(const char* call, const void* block, std::size_t size);
  void (*ended)(const char* call, const void* block);
  /// The call has returned NULL for so many bytes.
  void (*no_room)(const char* call, std::size_t size, bool paged);
  /// Of an argument whose length only the call itself finds out.
  void (*range)(const char* call, const char* argument, const void* at, std::size_t n);
};

/// The variable `atoll_call_checks` of the library; open() returns null if the version is not its own.
struct CallChecksEntry {
  const CallChecks* (*open)(unsigned version);
};

/// Null: nobody checks more than the library itself does.
ATOLL_INSIDE extern std::atomic<const CallChecks*> call_checks;

}  // namespace shm

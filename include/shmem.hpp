// SPDX-License-Identifier: BSD-3-Clause
// OpenSHMEM for C++20: what shmem.h and shmemx.h have, with types, ranges and owners.  Nothing but the
// standard library and the C functions, which remain usable beside it.
//
//   shmem/concepts.hpp     which types which operations take; a wrong one is an error that names the concept
//   shmem/memory.hpp       symmetric_array, nvm_array: symmetric memory that belongs to an object
//   shmem/teams.hpp        team, context, session
//   shmem/rma.hpp          put, get, their kin, signals, ordering
//   shmem/atomics.hpp      atomics, waits and tests, mutex
//   shmem/collectives.hpp  broadcast, collect, alltoall, reductions, scans
//   shmemx_kv.hpp          the key/value store; its names are here as well
//
// A function has the name of the C function without its shmem_ and without a type.  What it takes:
//
//   * symmetric memory as a pointer, or as a contiguous range (symmetric_array, std::span, an array), of
//   which
//     the first element counts; how many elements travel says the range at the local end.
//   * any trivially copyable type where bytes are moved, and the types of the specification where words are
//     computed with.
//   * a context last, if not the default one: put(to, from, pe, ctx).  It is a shmem::context or a
//   shmem_ctx_t,
//     and a team a shmem::team or a shmem_team_t.
//
// Each is one inline call of the C function: `ctest -R instructions.cxx` counts that both take the same
// instructions.  Whether ranges are long enough only assert looks at (NDEBUG).
//
// Owners never wait for another PE in their destructors, so an exception, or a return of one PE alone, hangs
// nobody.  What is collective is said to be: constructors of symmetric memory, split, close().
#ifndef SHMEM_HPP
#define SHMEM_HPP

#if __cplusplus < 202002L
#error "shmem.hpp needs C++20: -std=c++20; shmem.h does with less"
#endif

#include <cstdio>
#include <exception>

#include "shmem/atomics.hpp"
#include "shmem/collectives.hpp"
#include "shmem/concepts.hpp"
#include "shmem/memory.hpp"
#include "shmem/rma.hpp"
#include "shmem/teams.hpp"
#include "shmemx_kv.hpp"
#include "shmemx_kv_strings.hpp"

namespace shmem {

using ::shmemx::kv_element;
using ::shmemx::kv_op;
using ::shmemx::kv_request;
using ::shmemx::kv_status;
using ::shmemx::kv_string_table;
using ::shmemx::kv_table;

enum class thread_level : int {
  single = SHMEM_THREAD_SINGLE,
  funneled = SHMEM_THREAD_FUNNELED,
  serialized = SHMEM_THREAD_SERIALIZED,
  multiple = SHMEM_THREAD_MULTIPLE
};

/// The library, from shmem_init to shmem_finalize, which are collective.  The one destructor that waits for
/// all PEs; so where an exception has brought this PE here, which the others may not have, it ends the job
/// with code 1 and a line that says so.
class library {
 public:
  explicit library(thread_level wanted = thread_level::single) {
    int provided = SHMEM_THREAD_SINGLE;
    ::shmem_init_thread(static_cast<int>(wanted), &provided);
    threads_ = static_cast<thread_level>(provided);
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
  ~library() {
    if (std::uncaught_exceptions() > exceptions_) {
      std::fprintf(stderr, "atoll: PE %d of %d: shmem::library ends with an exception; the job ends\n",
                   ::shmem_my_pe(), ::shmem_n_pes());
      ::shmem_global_exit(1);
    }
    ::shmem_finalize();
  }

  /// What the library allows, which may be less than was wanted.
  [[nodiscard]] thread_level threads() const { return threads_; }

 private:
  const int exceptions_ = std::uncaught_exceptions();
  thread_level threads_ = thread_level::single;
};

[[nodiscard]] inline int my_pe() { return ::shmem_my_pe(); }
[[nodiscard]] inline int n_pes() { return ::shmem_n_pes(); }

}  // namespace shmem

#undef SHMEM_HPP_TYPED_
#undef SHMEM_HPP_SIZED_

#endif

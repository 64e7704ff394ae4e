// SPDX-License-Identifier: BSD-3-Clause
// What is looked at for an argument of a call.
#pragma once

#include <pshmem.h>
#include <pshmemx.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/call_checks.hpp"

namespace checks {

/// Whether anything is to be looked at now.
extern std::atomic<bool> active;

/// The instruction from which this thread has called a function without a type in its name, such as
/// shmem_malloc.
extern thread_local std::uintptr_t caller;

/// Sizes that cannot be counted are more than anything holds.
inline std::size_t times(std::size_t a, std::size_t b) {
  std::size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}
template <class... More>
std::size_t times(std::size_t a, std::size_t b, More... more) {
  return times(times(a, b), more...);
}

/// The arguments of a call, in turn.  The first that is wrong ends the job.  What the library itself refuses
/// is left to it: PE numbers, handles, alignment, addresses that are not symmetric.
class Call {
 public:
  explicit constexpr Call(const char* name) : name_(name) {}

  // `n` elements of `size` bytes; nothing is looked at where that is 0 bytes.

  /// Symmetric memory, the same on the PE that is meant.
  void symmetric(const char* argument, const void* at, std::size_t n, std::size_t size) const;
  /// Memory of this PE, whatever it is: what of it is known is looked at.
  void local(const char* argument, const void* at, std::size_t n, std::size_t size) const;
  /// The same, or NULL, or left to the library if it is.
  void may_be_null(const char* argument, const void* at, std::size_t n, std::size_t size) const {
    if (at != nullptr) local(argument, at, n, size);
  }
  /// `n` blocks of `block` elements, `stride` elements apart; strides that are too small are left to the
  /// library.
  void strided(bool is_symmetric, const char* argument, const void* at, std::size_t n, std::size_t block,
               std::ptrdiff_t stride, std::size_t size) const;
  /// The start of a block; NULL is.
  void block(const char* argument, const void* at) const;

  // Arguments that go together.  `op`: what the function's name has behind the type.

  void copy(std::string_view op, const void* dest, const void* source, std::size_t n, std::size_t size) const;
  void copy_strided(std::string_view op, const void* dest, const void* source, std::ptrdiff_t dst,
                    std::ptrdiff_t sst, std::size_t n, std::size_t block, std::size_t size) const;
  void collective(std::string_view op, int members, const void* dest, const void* source, std::size_t n,
                  std::size_t size) const;
  void alltoalls(int members, const void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                 std::size_t n, std::size_t size) const;
  void to_all(int members, const void* dest, const void* source, int n, std::size_t size,
              const void* work) const;
  void sync(const long* psync) const { symmetric("pSync", psync, SHMEM_SYNC_SIZE, sizeof *psync); }
  /// Words that are waited for, but where status says not.
  void words(const void* ivars, std::size_t n, std::size_t size, const int* status, std::size_t* indices,
             const void* values) const;

  void key(const void* key, std::size_t key_bytes) const { local("key", key, 1, key_bytes); }
  void keys(const void* keys, std::size_t count, std::size_t key_bytes) const {
    local("keys", keys, count, key_bytes);
  }
  /// What shmemx_kv_batch is passed.
  void batch(const shmemx_kv_call_t* calls, std::size_t count) const;

 private:
  const char* name_;
};

/// Bytes of an operand; 0: the type is none.
constexpr std::size_t bytes_of_type(int type) {
  return type == SHMEMX_KV_INT32 || type == SHMEMX_KV_UINT32 || type == SHMEMX_KV_FLOAT ? 4
         : type >= SHMEMX_KV_INT32 && type <= SHMEMX_KV_DOUBLE                          ? 8
                                                                                        : 0;
}

int members_of(shmem_team_t team);

}  // namespace checks

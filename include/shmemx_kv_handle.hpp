// SPDX-License-Identifier: BSD-3-Clause
// What owns a table or a request of the key/value store of shmemx.h, whatever keys and values are: for
// shmemx_kv.hpp and shmemx_kv_strings.hpp.  C++17 and nothing but the standard library.
#ifndef SHMEMX_KV_HANDLE_HPP
#define SHMEMX_KV_HANDLE_HPP

#include <utility>

#include "shmemx.h"

namespace shmemx {

/// Nonblocking calls of which something is under way.  Its end waits for them, which needs no other PE.
class kv_request {
 public:
  kv_request() = default;
  kv_request(kv_request&& other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
  /// What this has is waited for when the other one ends.
  kv_request& operator=(kv_request&& other) noexcept {
    std::swap(request_, other.request_);
    return *this;
  }
  ~kv_request() { wait(); }

  /// Makes progress; whether all is complete.
  bool test() { return request_ == nullptr || ::shmemx_kv_request_test(&request_) != 0; }
  void wait() {
    if (request_ != nullptr) ::shmemx_kv_request_wait(&request_);
  }
  /// For the functions of shmemx.h.
  ::shmemx_kv_request_t* handle() { return &request_; }

 private:
  ::shmemx_kv_request_t request_ = nullptr;
};

/// A handle of a table, and its only owner.  close() is collective over its PEs; the end of the handle is
/// not: this PE leaves the table (shmemx_kv_leave), which others may go on using, and which ends when all
/// have left it and some table is made, or with the library.  A handle may outlive shmem_finalize; but it
/// must have been closed, or destroyed, before shmem_init starts the library once more.  What changes it
/// (move, assignment, close, leave) is for one thread alone.
class kv_handle {
 public:
  /// Of no table.
  kv_handle() = default;
  kv_handle(kv_handle&& other) noexcept : kv_(std::exchange(other.kv_, nullptr)) {}

  /// Leaves the table that this handle is of.
  kv_handle& operator=(kv_handle&& other) noexcept {
    if (this != &other) {
      leave();
      kv_ = std::exchange(other.kv_, nullptr);
    }
    return *this;
  }

  ~kv_handle() { leave(); }

  /// Collective, unless the handle is of no table or the library is not running: the table ends, and the
  /// handle is of none.
  void close() noexcept { give_up(::shmemx_kv_destroy); }

  /// Not collective: the handle is of no table.
  void leave() noexcept { give_up(::shmemx_kv_leave); }

  explicit operator bool() const { return kv_ != nullptr; }

  /// For the functions of shmemx.h; this stays the owner.
  ::shmemx_kv_t handle() const { return kv_; }

 protected:
  /// Collective.  Of no table if there is no room.
  void open(const ::shmemx_kv_options_t& options) {
    if (::shmemx_kv_create(&options, &kv_) != SHMEMX_KV_OK) kv_ = nullptr;
  }
  /// The same over a team.
  void open(::shmem_team_t team, const ::shmemx_kv_options_t& options) {
    if (::shmemx_kv_team_create(team, &options, &kv_) != SHMEMX_KV_OK) kv_ = nullptr;
  }

  ::shmemx_kv_t kv_ = nullptr;

 private:
  void give_up(void (*how)(::shmemx_kv_t)) noexcept {
    const ::shmemx_kv_t given_up = std::exchange(kv_, nullptr);
    int running = 0;
    ::shmem_query_initialized(&running);
    if (given_up != nullptr && running != 0) how(given_up);
  }
};

}  // namespace shmemx

#endif

// SPDX-License-Identifier: BSD-3-Clause
// What shmemx_kv_request_t is: how much of some nonblocking calls is under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/address.hpp"

namespace shm::kv {

class Table;

/// Made by a call of which something is under way, and ended by the one that finds it complete.  What it
/// counts quiet() of the table waits for as well, so the table lives until `left` is 0.
struct Handle {
  Table* table;
  std::atomic<std::uint64_t> left{0};

  /// One more is under way, of *handle, which is made if it is null; returns what is to be counted down.
  static std::atomic<std::uint64_t>* one_more(Handle** handle, Table& table) {
    if (*handle == nullptr) *handle = new Handle{&table};
    (*handle)->left.fetch_add(1, std::memory_order_relaxed);
    return &(*handle)->left;
  }
  bool is_complete() const { return left.load(std::memory_order_acquire) == 0; }
};

/// Ends it if it is complete; returns whether it was, or is null.
bool end_if_complete(Handle*& handle);
/// Null is complete; what is complete ends, and becomes null.
bool test(Handle*& handle);
void wait(Call call, Handle*& handle);
/// Waits until one of them is complete, ends it and returns its number; `count`: all are null.
std::size_t wait_any(Call call, Handle** handles, std::size_t count);

}  // namespace shm::kv

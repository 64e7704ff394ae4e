// SPDX-License-Identifier: BSD-3-Clause
// What all of shmemx_kv_* checks of its arguments.
#pragma once

#include "api/define.hpp"
#include "kv/table.hpp"

namespace shm::kv {

/// End the job, naming call and argument.
[[noreturn, gnu::cold]] void refuse_table(Call call, shmemx_kv_t handle);
[[noreturn, gnu::cold]] void refuse_key(Call call, const Table& table, const void* bytes, std::size_t n);
[[noreturn, gnu::cold]] void refuse_value(Call call, const char* argument);

[[gnu::always_inline]] inline LeanTable& lean_table_of(Call call, shmemx_kv_t handle) {
  auto* table = reinterpret_cast<LeanTable*>(handle);
  if (table == nullptr || table->self != table) [[unlikely]]
    refuse_table(call, handle);
  return *table;
}
/// The table behind a handle.  Before the library is started, and after it has ended, there is none.
[[gnu::always_inline]] inline Table& table_of(Call call, shmemx_kv_t handle) {
  return static_cast<Table&>(lean_table_of(call, handle));
}

[[gnu::always_inline]] inline Key key_of(Call call, const Table& table, const void* bytes, std::size_t n) {
  if (bytes == nullptr || n - 1 >= table.layout().key_bytes) [[unlikely]]
    refuse_key(call, table, bytes, n);
  return table.key(bytes, n);
}

/// Whether what a call reads of the key may be written by the same call.
inline bool overlap(const void* key, std::size_t n, const void* room, std::size_t room_bytes) {
  const auto k = reinterpret_cast<std::uintptr_t>(key), r = reinterpret_cast<std::uintptr_t>(room);
  return k < r + room_bytes && r < k + n;
}
/// A copy, which `own` has.
inline const std::byte* copied(std::vector<std::byte>& own, const void* bytes, std::size_t n) {
  const auto* from = static_cast<const std::byte*>(bytes);
  own.assign(from, from + n);
  return own.data();
}
/// What is read, where results may be written before it is: the bytes, or a copy.
inline const std::byte* apart(std::vector<std::byte>& own, const void* bytes, std::size_t n,
                              const void* results, std::size_t result_bytes) {
  return overlap(bytes, n, results, result_bytes) ? copied(own, bytes, n)
                                                  : static_cast<const std::byte*>(bytes);
}

inline void check_value(Call call, const char* argument, const void* value, std::size_t n) {
  if (value == nullptr && n != 0) [[unlikely]]
    refuse_value(call, argument);
}

/// Of apply.
void check_function(Call call, const Table& table, int function, std::size_t operand_bytes);

/// Says of a request that gives a value how much room that has, and of apply which function it is.
inline void ask_for_value(KvRequest& request, const Table& table, std::size_t room, int function) {
  if (request.op == KvOp::apply) {
    request.offset = in_offset(0, static_cast<std::uint32_t>(function));
    room = std::min<std::size_t>(room, table.layout().value_bytes);
  }
  set_room(request, room);
}

/// Where the program wants what is under way, if it does; complete by now, perhaps.
inline void give_request(Handle* handle, shmemx_kv_request_t* request) {
  if (request == nullptr) return;
  if (handle != nullptr && handle->is_complete()) {
    delete handle;
    handle = nullptr;
  }
  *request = reinterpret_cast<shmemx_kv_request_t>(handle);
}

/// table.issue() with copies of the key and of what the request brings, where the result may be written over
/// them: they are read again after that, by a get if the element changes meanwhile, and by what stores once
/// it has said what was there.
void issue_apart(Call call, Table& table, const KvRequest& request, void* result, ResultsTo later);

/// The request of an accumulate or upsert.
KvRequest word_request(Call call, KvOp op, const Key& key, std::size_t offset, int type, int operation,
                       const void* operand);

}  // namespace shm::kv

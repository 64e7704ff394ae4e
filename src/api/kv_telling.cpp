// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: changes that say what was there before (shmem/kv.h).
#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"
#include "kv/functions.hpp"
#include "kv/tables.hpp"

namespace shm::kv {
namespace {

// What a call on one key is passed, checked but for the key.
struct Arguments {
  const void* key;
  std::size_t key_bytes;
  const void* value;
  std::size_t value_bytes;
  void* old;
  std::size_t room;
  std::size_t* old_bytes;
  int function = 0;  // of apply
};

// What is read may be where the old value goes, which is given before it is read for the last time.
Code tell_apart(Call call, KvOp op, Table& table, Arguments given) {
  std::vector<std::byte> own_key, own_value;
  given.key = apart(own_key, given.key, given.key_bytes, given.old, given.room);
  given.value = apart(own_value, given.value, given.value_bytes, given.old, given.room);
  KvRequest request{.op = op, .key = table.key(given.key, given.key_bytes)};
  request.value = given.value;
  request.n = given.value_bytes;
  if (gives_value(op)) ask_for_value(request, table, given.room, given.function);
  ValueRoom result{given.old, 0};
  const Code status = table.execute(call, request, result);
  if (given.old_bytes != nullptr && has_length(status)) *given.old_bytes = result.n;
  return status;
}

Code tell(Call call, KvOp op, const char* old_name, shmemx_kv_t kv, const Arguments& given) {
  Table& table = table_of(call, kv);
  check_value(call, "val", given.value, given.value_bytes);
  check_value(call, old_name, given.old, given.room);
  (void)key_of(call, table, given.key, given.key_bytes);
  if (op != KvOp::apply && given.value_bytes > table.layout().value_bytes) return SHMEMX_KV_TOO_LARGE;
  return tell_apart(call, op, table, given);
}

}  // namespace
}  // namespace shm::kv

using shm::kv::KvOp;

extern "C" {

int pshmemx_kv_insert_or_update(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value,
                                size_t n) {
  return shm::kv::tell({"shmemx_kv_insert_or_update"}, KvOp::insert_or_update, "old", kv,
                       {key, key_bytes, value, n, nullptr, 0, nullptr});
}

int pshmemx_kv_get_or_insert(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                             void* old, size_t room, size_t* old_bytes) {
  return shm::kv::tell({"shmemx_kv_get_or_insert"}, KvOp::get_or_insert, "old", kv,
                       {key, key_bytes, value, n, old, room, old_bytes});
}

int pshmemx_kv_exchange(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                        void* old, size_t room, size_t* old_bytes) {
  return shm::kv::tell({"shmemx_kv_exchange"}, KvOp::exchange, "old", kv,
                       {key, key_bytes, value, n, old, room, old_bytes});
}

int pshmemx_kv_take(shmemx_kv_t kv, const void* key, size_t key_bytes, void* value, size_t room, size_t* n) {
  return shm::kv::tell({"shmemx_kv_take"}, KvOp::take, "val", kv,
                       {key, key_bytes, nullptr, 0, value, room, n});
}

int pshmemx_kv_register(shmemx_kv_function_t function) {
  const shm::Call call{"shmemx_kv_register"};
  shm::check_started(call);
  if (function == nullptr) shm::fatal("%s: function is NULL; allowed is one of the program", call.name);
  return static_cast<int>(shm::kv::register_function(call, function));
}

int pshmemx_kv_apply(shmemx_kv_t kv, const void* key, size_t key_bytes, int function, const void* operand,
                     size_t operand_bytes, void* old, size_t room, size_t* old_bytes) {
  const shm::Call call{"shmemx_kv_apply"};
  shm::kv::check_value(call, "operand", operand, operand_bytes);
  shm::kv::check_function(call, shm::kv::table_of(call, kv), function, operand_bytes);
  return shm::kv::tell(call, KvOp::apply, "old", kv,
                       {key, key_bytes, operand, operand_bytes, old, room, old_bytes, function});
}

uint64_t pshmemx_kv_remove_if(shmemx_kv_t kv, shmemx_kv_predicate_t predicate, void* context) {
  const shm::Call call{"shmemx_kv_remove_if"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  if (predicate == nullptr) shm::fatal("%s: predicate is NULL; allowed is a function", call.name);
  return table.remove_mine_if({predicate, context});
}

void pshmemx_kv_clear(shmemx_kv_t kv) {
  const shm::Call call{"shmemx_kv_clear"};
  shm::kv::clear_table(call, shm::kv::table_of(call, kv));
}

SHMEMX_KV_FUNCS_TELLING(ATOLL_ALIAS_)

}  // extern "C"

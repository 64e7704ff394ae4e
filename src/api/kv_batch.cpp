// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: many keys in one call (shmem/kv.h).
#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"
#include "kv/batch.hpp"

namespace shm::kv {
namespace {

// Checked arguments that all batches have; the request is without its operation.
Many many_of(Call call, const Table& table, std::size_t count, const void* keys, std::size_t key_bytes,
             int* status) {
  check_array(call, "keys", keys, count);
  if (count != 0) (void)key_of(call, table, keys, key_bytes);
  Many many{.like = {}, .keys = static_cast<const std::byte*>(keys), .key_bytes = key_bytes};
  many.status = status;
  return many;
}

Code store_all(Call call, KvOp op, shmemx_kv_t kv, std::size_t count, const void* keys, std::size_t key_bytes,
               const void* values, std::size_t value_bytes, int* status) {
  Table& table = table_of(call, kv);
  check_value(call, "values", values, value_bytes * count);
  Many many = many_of(call, table, count, keys, key_bytes, status);
  if (value_bytes > table.layout().value_bytes) {
    if (status != nullptr) std::fill_n(status, count, int{SHMEMX_KV_TOO_LARGE});
    return count == 0 ? SHMEMX_KV_OK : SHMEMX_KV_TOO_LARGE;
  }
  many.like.op = op;
  many.like.n = value_bytes;
  many.values = static_cast<const std::byte*>(values);
  many.value_bytes = value_bytes;
  return execute_many(call, table, many, count);
}

Code ask_all(Call call, KvOp op, shmemx_kv_t kv, std::size_t count, const void* keys, std::size_t key_bytes,
             void* values, std::size_t room, std::size_t* lengths, int* status) {
  Table& table = table_of(call, kv);
  check_value(call, "values", values, room * count);
  Many many = many_of(call, table, count, keys, key_bytes, status);
  std::vector<std::byte> own_keys;
  if (overlap(keys, key_bytes * count, values, room * count))
    many.keys = copied(own_keys, keys, key_bytes * count);
  many.like.op = op;
  many.like.n = room;
  many.results = static_cast<std::byte*>(values);
  many.lengths = lengths;
  many.value_bytes = room;
  return execute_many(call, table, many, count);
}

}  // namespace
}  // namespace shm::kv

using shm::kv::KvOp;

extern "C" {

int pshmemx_kv_put_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, const void* values,
                         size_t value_bytes, int* status) {
  return shm::kv::store_all({"shmemx_kv_put_batch"}, KvOp::put, kv, count, keys, key_bytes, values,
                            value_bytes, status);
}
int pshmemx_kv_insert_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                            const void* values, size_t value_bytes, int* status) {
  return shm::kv::store_all({"shmemx_kv_insert_batch"}, KvOp::insert, kv, count, keys, key_bytes, values,
                            value_bytes, status);
}
int pshmemx_kv_update_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                            const void* values, size_t value_bytes, int* status) {
  return shm::kv::store_all({"shmemx_kv_update_batch"}, KvOp::update, kv, count, keys, key_bytes, values,
                            value_bytes, status);
}
int pshmemx_kv_get_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, void* values,
                         size_t room, size_t* value_bytes, int* status) {
  return shm::kv::ask_all({"shmemx_kv_get_batch"}, KvOp::get, kv, count, keys, key_bytes, values, room,
                          value_bytes, status);
}
int pshmemx_kv_contains_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status) {
  return shm::kv::ask_all({"shmemx_kv_contains_batch"}, KvOp::contains, kv, count, keys, key_bytes, nullptr,
                          0, nullptr, status);
}
int pshmemx_kv_remove_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status) {
  return shm::kv::ask_all({"shmemx_kv_remove_batch"}, KvOp::remove, kv, count, keys, key_bytes, nullptr, 0,
                          nullptr, status);
}

int pshmemx_kv_upsert_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int type,
                            int op, const void* operands, void* olds, int* status) {
  const shm::Call call{"shmemx_kv_upsert_batch"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::check_array(call, "operands", operands, count);
  shm::kv::Many many = shm::kv::many_of(call, table, count, keys, key_bytes, status);
  const std::uint64_t none = 0;
  many.like = shm::kv::word_request(call, KvOp::upsert, {}, 0, type, op, count == 0 ? &none : operands);
  many.values = static_cast<const std::byte*>(operands);
  many.results = static_cast<std::byte*>(olds);
  many.value_bytes = shm::atomic_size(many.like.type);
  std::vector<std::byte> own_keys;
  if (shm::kv::overlap(keys, key_bytes * count, olds, many.value_bytes * count))
    many.keys = shm::kv::copied(own_keys, keys, key_bytes * count);
  std::vector<std::byte> own_operands;
  if (olds != operands &&
      shm::kv::overlap(operands, many.value_bytes * count, olds, many.value_bytes * count))
    many.values = shm::kv::copied(own_operands, operands, many.value_bytes * count);
  return shm::kv::execute_many(call, table, many, count);
}

SHMEMX_KV_FUNCS_BATCH(ATOLL_ALIAS_)

}  // extern "C"

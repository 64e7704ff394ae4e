// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: many keys in one call (shmem/kv.h).
#include <algorithm>

#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"

namespace shm::kv {
namespace {

constexpr std::size_t kAtOnce = 8192;  // requests: more than fill the packets of some PEs
constexpr std::size_t kAhead = 16;     // keys whose groups come from memory at the same time

// Arrays of a batch; what a call has not is null.
struct Arrays {
  std::size_t count;
  const void* keys;
  std::size_t key_bytes;
  std::size_t value_bytes;
  int* status;
};

template <class T>
T* at(T* array, std::size_t i, std::size_t bytes) {
  using Bytes = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return array == nullptr ? nullptr : static_cast<Bytes*>(array) + i * bytes;
}

// Calls of `make(key, i)`, all at once; `value(i)` is where what it gives goes.
template <class Make, class Value>
Status run(Call call, Table& table, const Arrays& arrays, Make make, Value value) {
  check_array(call, "keys", arrays.keys, arrays.count);
  Status first = SHMEMX_KV_OK;
  for (std::size_t begin = 0; begin < arrays.count; begin += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, arrays.count - begin);
    Table::Batch batch(call, table, n);
    for (std::size_t some = 0; some < n; some += kAhead) {
      const std::size_t these = std::min(kAhead, n - some);
      Key keys[kAhead];
      for (std::size_t i = 0; i < these; ++i) {
        keys[i] = key_of(call, table, at(arrays.keys, begin + some + i, arrays.key_bytes), arrays.key_bytes);
        table.prefetch(keys[i]);
      }
      for (std::size_t i = 0; i < these; ++i)
        batch.add(some + i, make(keys[i], begin + some + i), value(begin + some + i));
    }
    batch.wait();
    for (std::size_t i = 0; i < n; ++i) {
      const Status status = batch.status(i);
      if (arrays.status != nullptr) arrays.status[begin + i] = status;
      if (first == SHMEMX_KV_OK) first = status;
    }
  }
  return first;
}

void* nowhere(std::size_t) { return nullptr; }

Status store_all(Call call, Op op, shmemx_kv_t kv, const Arrays& arrays, const void* values) {
  Table& table = table_of(call, kv);
  check_value(call, "values", values, arrays.value_bytes * arrays.count);
  if (arrays.value_bytes > table.layout().value_bytes) {
    if (arrays.status != nullptr) std::fill_n(arrays.status, arrays.count, int{SHMEMX_KV_TOO_LARGE});
    return arrays.count == 0 ? SHMEMX_KV_OK : SHMEMX_KV_TOO_LARGE;
  }
  const auto make = [&](const Key& key, std::size_t i) {
    return Request{.op = op, .key = key, .value = at(values, i, arrays.value_bytes), .n = arrays.value_bytes};
  };
  return run(call, table, arrays, make, nowhere);
}

Status ask_all(Call call, Op op, shmemx_kv_t kv, const Arrays& arrays, void* values) {
  Table& table = table_of(call, kv);
  check_value(call, "values", values, arrays.value_bytes * arrays.count);
  const auto make = [&](const Key& key, std::size_t) {
    return Request{.op = op, .key = key, .n = arrays.value_bytes};
  };
  return run(call, table, arrays, make, [&](std::size_t i) { return at(values, i, arrays.value_bytes); });
}

}  // namespace
}  // namespace shm::kv

using shm::kv::Op;

extern "C" {

int pshmemx_kv_put_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, const void* values,
                         size_t value_bytes, int* status) {
  return shm::kv::store_all({"shmemx_kv_put_batch"}, Op::put, kv,
                            {count, keys, key_bytes, value_bytes, status}, values);
}
int pshmemx_kv_insert_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                            const void* values, size_t value_bytes, int* status) {
  return shm::kv::store_all({"shmemx_kv_insert_batch"}, Op::insert, kv,
                            {count, keys, key_bytes, value_bytes, status}, values);
}
int pshmemx_kv_update_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                            const void* values, size_t value_bytes, int* status) {
  return shm::kv::store_all({"shmemx_kv_update_batch"}, Op::update, kv,
                            {count, keys, key_bytes, value_bytes, status}, values);
}
int pshmemx_kv_get_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, void* values,
                         size_t value_bytes, int* status) {
  return shm::kv::ask_all({"shmemx_kv_get_batch"}, Op::get, kv, {count, keys, key_bytes, value_bytes, status},
                          values);
}
int pshmemx_kv_contains_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status) {
  return shm::kv::ask_all({"shmemx_kv_contains_batch"}, Op::contains, kv, {count, keys, key_bytes, 0, status},
                          nullptr);
}
int pshmemx_kv_remove_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status) {
  return shm::kv::ask_all({"shmemx_kv_remove_batch"}, Op::remove, kv, {count, keys, key_bytes, 0, status},
                          nullptr);
}

int pshmemx_kv_upsert_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int type,
                            int op, const void* operands, void* olds, int* status) {
  const shm::Call call{"shmemx_kv_upsert_batch"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::check_array(call, "operands", operands, count);
  const std::size_t bytes =
      type == SHMEMX_KV_INT32 || type == SHMEMX_KV_UINT32 || type == SHMEMX_KV_FLOAT ? 4 : 8;
  const auto make = [&](const shm::kv::Key& key, std::size_t i) {
    return shm::kv::word_request(call, Op::upsert, key, 0, type, op, shm::kv::at(operands, i, bytes));
  };
  return shm::kv::run(call, table, {count, keys, key_bytes, bytes, status}, make,
                      [&](std::size_t i) { return shm::kv::at(olds, i, bytes); });
}

SHMEMX_KV_FUNCS_BATCH(ATOLL_ALIAS_)

}  // extern "C"

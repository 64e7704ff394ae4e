// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: many keys in one call (shmem/kv.h).
#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"
#include "kv/batch.hpp"

namespace shm::kv {
namespace {

// A batch, and how it is to be carried out.
struct Batched {
  Call call;
  KvOp op;
  Table& table;
  std::size_t count;
  const void* keys;
  std::size_t key_bytes;
  int* status;
  bool waits = true;
  shmemx_kv_request_t* request = nullptr;  // of one that does not

  Batched later(shmemx_kv_request_t* to) const {
    Batched batched = *this;
    batched.waits = false;
    batched.request = to;
    return batched;
  }
};

Batched batched(Call call, KvOp op, shmemx_kv_t kv, std::size_t count, const void* keys,
                std::size_t key_bytes, int* status) {
  return {call, op, table_of(call, kv), count, keys, key_bytes, status};
}

// Checked arguments that all batches have; the request has nothing but its operation.
Many many_of(const Batched& given) {
  check_array(given.call, "keys", given.keys, given.count);
  if (given.count != 0) (void)key_of(given.call, given.table, given.keys, given.key_bytes);
  Many many{.like = {}, .keys = static_cast<const std::byte*>(given.keys), .key_bytes = given.key_bytes};
  many.like.op = given.op;
  many.status = given.status;
  return many;
}

Code carry_out(const Batched& given, const Many& many) {
  if (given.waits) return execute_many(given.call, given.table, many, given.count);
  Handle* handle = nullptr;
  issue_many(given.call, given.table, many, given.count, given.request == nullptr ? nullptr : &handle);
  give_request(handle, given.request);
  return SHMEMX_KV_OK;
}

Code refuse_all(const Batched& given, Code status) {
  if (given.status != nullptr) std::fill_n(given.status, given.count, int{status});
  if (given.request != nullptr) *given.request = nullptr;
  return given.count == 0 ? SHMEMX_KV_OK : status;
}

Code store_all(const Batched& given, const void* values, std::size_t value_bytes) {
  check_value(given.call, "values", values, value_bytes * given.count);
  Many many = many_of(given);
  if (value_bytes > given.table.layout().value_bytes) return refuse_all(given, SHMEMX_KV_TOO_LARGE);
  many.like.n = value_bytes;
  many.values = static_cast<const std::byte*>(values);
  many.value_bytes = value_bytes;
  return carry_out(given, many);
}

Code ask_all(const Batched& given, void* values, std::size_t room, std::size_t* lengths) {
  check_value(given.call, "values", values, room * given.count);
  Many many = many_of(given);
  std::vector<std::byte> own_keys;
  many.keys = apart(own_keys, many.keys, given.key_bytes * given.count, values, room * given.count);
  many.like.n = room;
  many.results = static_cast<std::byte*>(values);
  many.lengths = lengths;
  many.value_bytes = room;
  return carry_out(given, many);
}

// Words, or of compare_swap bytes: `many` is without their arrays.
Code change_all(const Batched& given, Many many, const void* operands, const void* expected, void* olds) {
  const std::size_t all = many.value_bytes * given.count;
  std::vector<std::byte> own_keys, own_operands, own_expected;
  many.keys = apart(own_keys, many.keys, given.key_bytes * given.count, olds, all);
  many.values = static_cast<const std::byte*>(operands);
  many.expected = static_cast<const std::byte*>(expected);
  many.results = static_cast<std::byte*>(olds);
  if (olds != operands) many.values = apart(own_operands, many.values, all, olds, all);
  if (expected != nullptr && olds != expected)
    many.expected = apart(own_expected, many.expected, all, olds, all);
  return carry_out(given, many);
}

Code words_all(const Batched& given, std::size_t offset, int type, int op, const void* operands, void* olds) {
  check_array(given.call, "operands", operands, given.count);
  Many many = many_of(given);
  const std::uint64_t none = 0;
  many.like = word_request(given.call, given.op, {}, offset, type, op, given.count == 0 ? &none : operands);
  many.value_bytes = atomic_size(many.like.type);
  return change_all(given, many, operands, nullptr, olds);
}

Code swap_all(const Batched& given, std::size_t offset, std::size_t n, const void* expected,
              const void* desired, void* olds) {
  check_value(given.call, "expected", expected, n * given.count);
  check_value(given.call, "desired", desired, n * given.count);
  Many many = many_of(given);
  if (n > given.table.layout().value_bytes) {  // as of one: is there an element at all?
    Batched asked = given;
    asked.op = many.like.op = KvOp::contains;
    asked.waits = true;
    std::vector<int> own(given.status == nullptr ? given.count : 0);
    many.status = asked.status = given.status == nullptr ? own.data() : given.status;
    (void)carry_out(asked, many);
    std::replace(many.status, many.status + given.count, int{SHMEMX_KV_OK}, int{SHMEMX_KV_TOO_LARGE});
    if (given.request != nullptr) *given.request = nullptr;
    return given.count == 0 ? SHMEMX_KV_OK : many.status[0];
  }
  many.like.n = n;
  many.like.offset = offset;
  many.value_bytes = n;
  return change_all(given, many, desired, expected, olds);
}

}  // namespace
}  // namespace shm::kv

using shm::kv::batched;
using shm::kv::KvOp;

extern "C" {

int pshmemx_kv_put_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, const void* values,
                         size_t value_bytes, int* status) {
  return shm::kv::store_all(batched({"shmemx_kv_put_batch"}, KvOp::put, kv, count, keys, key_bytes, status),
                            values, value_bytes);
}
void pshmemx_kv_put_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                              const void* values, size_t value_bytes, int* status,
                              shmemx_kv_request_t* request) {
  shm::kv::store_all(
      batched({"shmemx_kv_put_batch_nbi"}, KvOp::put, kv, count, keys, key_bytes, status).later(request),
      values, value_bytes);
}

int pshmemx_kv_insert_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                            const void* values, size_t value_bytes, int* status) {
  return shm::kv::store_all(
      batched({"shmemx_kv_insert_batch"}, KvOp::insert, kv, count, keys, key_bytes, status), values,
      value_bytes);
}
void pshmemx_kv_insert_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                 const void* values, size_t value_bytes, int* status,
                                 shmemx_kv_request_t* request) {
  shm::kv::store_all(batched({"shmemx_kv_insert_batch_nbi"}, KvOp::insert, kv, count, keys, key_bytes, status)
                         .later(request),
                     values, value_bytes);
}

int pshmemx_kv_update_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                            const void* values, size_t value_bytes, int* status) {
  return shm::kv::store_all(
      batched({"shmemx_kv_update_batch"}, KvOp::update, kv, count, keys, key_bytes, status), values,
      value_bytes);
}
void pshmemx_kv_update_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                 const void* values, size_t value_bytes, int* status,
                                 shmemx_kv_request_t* request) {
  shm::kv::store_all(batched({"shmemx_kv_update_batch_nbi"}, KvOp::update, kv, count, keys, key_bytes, status)
                         .later(request),
                     values, value_bytes);
}

int pshmemx_kv_get_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, void* values,
                         size_t room, size_t* value_bytes, int* status) {
  return shm::kv::ask_all(batched({"shmemx_kv_get_batch"}, KvOp::get, kv, count, keys, key_bytes, status),
                          values, room, value_bytes);
}
void pshmemx_kv_get_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, void* values,
                              size_t room, size_t* value_bytes, int* status, shmemx_kv_request_t* request) {
  shm::kv::ask_all(
      batched({"shmemx_kv_get_batch_nbi"}, KvOp::get, kv, count, keys, key_bytes, status).later(request),
      values, room, value_bytes);
}

int pshmemx_kv_contains_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status) {
  return shm::kv::ask_all(
      batched({"shmemx_kv_contains_batch"}, KvOp::contains, kv, count, keys, key_bytes, status), nullptr, 0,
      nullptr);
}
void pshmemx_kv_contains_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                   int* status, shmemx_kv_request_t* request) {
  shm::kv::ask_all(
      batched({"shmemx_kv_contains_batch_nbi"}, KvOp::contains, kv, count, keys, key_bytes, status)
          .later(request),
      nullptr, 0, nullptr);
}

int pshmemx_kv_remove_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status) {
  return shm::kv::ask_all(
      batched({"shmemx_kv_remove_batch"}, KvOp::remove, kv, count, keys, key_bytes, status), nullptr, 0,
      nullptr);
}
void pshmemx_kv_remove_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                 int* status, shmemx_kv_request_t* request) {
  shm::kv::ask_all(batched({"shmemx_kv_remove_batch_nbi"}, KvOp::remove, kv, count, keys, key_bytes, status)
                       .later(request),
                   nullptr, 0, nullptr);
}

int pshmemx_kv_upsert_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int type,
                            int op, const void* operands, void* olds, int* status) {
  return shm::kv::words_all(
      batched({"shmemx_kv_upsert_batch"}, KvOp::upsert, kv, count, keys, key_bytes, status), 0, type, op,
      operands, olds);
}
void pshmemx_kv_upsert_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int type,
                                 int op, const void* operands, void* olds, int* status,
                                 shmemx_kv_request_t* request) {
  shm::kv::words_all(batched({"shmemx_kv_upsert_batch_nbi"}, KvOp::upsert, kv, count, keys, key_bytes, status)
                         .later(request),
                     0, type, op, operands, olds);
}

int pshmemx_kv_accumulate_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                size_t offset, int type, int op, const void* operands, void* olds,
                                int* status) {
  return shm::kv::words_all(
      batched({"shmemx_kv_accumulate_batch"}, KvOp::accumulate, kv, count, keys, key_bytes, status), offset,
      type, op, operands, olds);
}
void pshmemx_kv_accumulate_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                     size_t offset, int type, int op, const void* operands, void* olds,
                                     int* status, shmemx_kv_request_t* request) {
  shm::kv::words_all(
      batched({"shmemx_kv_accumulate_batch_nbi"}, KvOp::accumulate, kv, count, keys, key_bytes, status)
          .later(request),
      offset, type, op, operands, olds);
}

int pshmemx_kv_compare_swap_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                  size_t offset, size_t n, const void* expected, const void* desired,
                                  void* olds, int* status) {
  return shm::kv::swap_all(
      batched({"shmemx_kv_compare_swap_batch"}, KvOp::compare_swap, kv, count, keys, key_bytes, status),
      offset, n, expected, desired, olds);
}
void pshmemx_kv_compare_swap_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                                       size_t offset, size_t n, const void* expected, const void* desired,
                                       void* olds, int* status, shmemx_kv_request_t* request) {
  shm::kv::swap_all(
      batched({"shmemx_kv_compare_swap_batch_nbi"}, KvOp::compare_swap, kv, count, keys, key_bytes, status)
          .later(request),
      offset, n, expected, desired, olds);
}

SHMEMX_KV_FUNCS_BATCH(ATOLL_ALIAS_)
SHMEMX_KV_FUNCS_BATCH_LATER(ATOLL_ALIAS_)

}  // extern "C"

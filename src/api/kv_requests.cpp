// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: nonblocking calls that give a request, and batches in which each operation has its own
// arguments (shmem/kv.h).
#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"
#include "kv/stages.hpp"

namespace shm::kv {
namespace {

constexpr KvOp kOps[] = {
    KvOp::put,           KvOp::insert,     KvOp::update, KvOp::get,          KvOp::contains,
    KvOp::remove,        KvOp::accumulate, KvOp::upsert, KvOp::compare_swap, KvOp::insert_or_update,
    KvOp::get_or_insert, KvOp::exchange,   KvOp::take,   KvOp::apply};
static_assert(std::size(kOps) == SHMEMX_KV_APPLY + 1);

KvOp op_of(Call call, int number) {
  if (number < 0 || number > SHMEMX_KV_APPLY)
    fatal("%s: call is %d; allowed are SHMEMX_KV_PUT to SHMEMX_KV_APPLY", call.name, number);
  return kOps[number];
}

bool is_of_a_word(KvOp op) { return op == KvOp::accumulate || op == KvOp::upsert; }

// With checked arguments, but for lengths that the table has no room for.
KvRequest request_of(Call call, const Table& table, const shmemx_kv_call_t& given, const Key& key) {
  const KvOp op = op_of(call, given.call);
  if (is_of_a_word(op))
    return word_request(call, op, key, op == KvOp::upsert ? 0 : given.offset, given.type, given.op,
                        given.val);
  KvRequest request{.op = op, .key = key};
  if (brings_value(op) || op == KvOp::compare_swap) {
    check_value(call, "val", given.val, given.value_bytes);
    request.value = given.val;
    request.n = given.value_bytes;
  }
  if (op == KvOp::compare_swap) {
    check_value(call, "expected", given.expected, given.value_bytes);
    request.expected = given.expected;
    request.offset = given.offset;
  }
  if (gives_value(op)) {
    check_value(call, "old", given.old, given.room);
    if (op == KvOp::apply) check_function(call, table, given.function, given.value_bytes);
    ask_for_value(request, table, given.room, given.function);
  }
  return request;
}

bool is_too_large(const Table& table, const KvRequest& request) {
  return request.op != KvOp::apply && (brings_value(request.op) || request.op == KvOp::compare_swap) &&
         request.n > table.layout().value_bytes;
}

void issue_one(Call call, Table& table, const KvRequest& request, void* old, ResultsTo later) {
  if (!is_too_large(table, request)) return issue_apart(call, table, request, old, later);
  Code status = SHMEMX_KV_TOO_LARGE;
  if (request.op == KvOp::compare_swap) {  // is there an element at all?
    ValueRoom none;
    status = table.execute(call, {.op = KvOp::contains, .key = request.key}, none);
    if (status == SHMEMX_KV_OK) status = SHMEMX_KV_TOO_LARGE;
  }
  if (later.status != nullptr) *later.status = status;
}

void* old_of(const shmemx_kv_call_t& given, KvOp op) {
  const bool gives = gives_value(op) || is_of_a_word(op) || op == KvOp::compare_swap;
  return gives ? given.old : nullptr;
}

void issue_all(Call call, Table& table, std::size_t count, shmemx_kv_call_t* calls, Handle** handle) {
  check_array(call, "calls", calls, count);
  struct Asked {
    Key key;
    int pe;
  };
  in_stages<Asked>(
      count,
      [&](std::size_t i, Asked& asked) {
        asked.key = key_of(call, table, calls[i].key, calls[i].key_bytes);
        asked.pe = table.pe_of_key(asked.key);
        table.prefetch_home(asked.key, asked.pe);
      },
      [&](std::size_t, const Asked& asked) { table.prefetch_slot(asked.key, asked.pe); },
      [&](std::size_t i, const Asked& asked) {
        const KvRequest request = request_of(call, table, calls[i], asked.key);
        issue_one(call, table, request, old_of(calls[i], request.op),
                  {&calls[i].status, &calls[i].old_bytes, handle});
        return true;
      });
}

void issue_with_request(Call call, shmemx_kv_t kv, const shmemx_kv_call_t& given, int* status, std::size_t* n,
                        shmemx_kv_request_t* request) {
  Table& table = table_of(call, kv);
  const Key key = key_of(call, table, given.key, given.key_bytes);
  const KvRequest wanted = request_of(call, table, given, key);
  Handle* handle = nullptr;
  issue_one(call, table, wanted, old_of(given, wanted.op),
            {status, n, request == nullptr ? nullptr : &handle});
  give_request(handle, request);
}

shmemx_kv_call_t call_of(int call, const void* key, std::size_t key_bytes, const void* val = nullptr,
                         std::size_t n = 0) {
  shmemx_kv_call_t given{};
  given.call = call;
  given.key = key;
  given.key_bytes = key_bytes;
  given.val = val;
  given.value_bytes = n;
  return given;
}

Handle*& handle_of(Call call, shmemx_kv_request_t* request) {
  check_started(call);
  check_result(call, "request", request);
  return reinterpret_cast<Handle*&>(*request);
}

// A request that has outlived the library, which has completed it.
bool has_outlived(shmemx_kv_request_t* request) {
  return !initialised() && request != nullptr && end_if_complete(reinterpret_cast<Handle*&>(*request));
}

}  // namespace
}  // namespace shm::kv

using shm::Call;
using shm::kv::call_of;
using shm::kv::issue_with_request;

extern "C" {

void pshmemx_kv_put_nbr(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                        int* status, shmemx_kv_request_t* request) {
  issue_with_request({"shmemx_kv_put_nbr"}, kv, call_of(SHMEMX_KV_PUT, key, key_bytes, value, n), status,
                     nullptr, request);
}
void pshmemx_kv_insert_nbr(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                           int* status, shmemx_kv_request_t* request) {
  issue_with_request({"shmemx_kv_insert_nbr"}, kv, call_of(SHMEMX_KV_INSERT, key, key_bytes, value, n),
                     status, nullptr, request);
}
void pshmemx_kv_update_nbr(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                           int* status, shmemx_kv_request_t* request) {
  issue_with_request({"shmemx_kv_update_nbr"}, kv, call_of(SHMEMX_KV_UPDATE, key, key_bytes, value, n),
                     status, nullptr, request);
}
void pshmemx_kv_remove_nbr(shmemx_kv_t kv, const void* key, size_t key_bytes, int* status,
                           shmemx_kv_request_t* request) {
  issue_with_request({"shmemx_kv_remove_nbr"}, kv, call_of(SHMEMX_KV_REMOVE, key, key_bytes), status, nullptr,
                     request);
}

void pshmemx_kv_get_nbr(shmemx_kv_t kv, const void* key, size_t key_bytes, void* value, size_t room,
                        size_t* n, int* status, shmemx_kv_request_t* request) {
  const Call call{"shmemx_kv_get_nbr"};
  shm::kv::check_value(call, "val", value, room);
  shmemx_kv_call_t given = call_of(SHMEMX_KV_GET, key, key_bytes);
  given.old = value;
  given.room = room;
  issue_with_request(call, kv, given, status, n, request);
}

void pshmemx_kv_accumulate_nbr(shmemx_kv_t kv, const void* key, size_t key_bytes, size_t offset, int type,
                               int op, const void* operand, void* old, int* status,
                               shmemx_kv_request_t* request) {
  shmemx_kv_call_t given = call_of(SHMEMX_KV_ACCUMULATE, key, key_bytes, operand);
  given.offset = offset;
  given.type = type;
  given.op = op;
  given.old = old;
  issue_with_request({"shmemx_kv_accumulate_nbr"}, kv, given, status, nullptr, request);
}
void pshmemx_kv_upsert_nbr(shmemx_kv_t kv, const void* key, size_t key_bytes, int type, int op,
                           const void* operand, void* old, int* status, shmemx_kv_request_t* request) {
  shmemx_kv_call_t given = call_of(SHMEMX_KV_UPSERT, key, key_bytes, operand);
  given.type = type;
  given.op = op;
  given.old = old;
  issue_with_request({"shmemx_kv_upsert_nbr"}, kv, given, status, nullptr, request);
}

int pshmemx_kv_batch(shmemx_kv_t kv, size_t count, shmemx_kv_call_t* calls) {
  const Call call{"shmemx_kv_batch"};
  shm::kv::Handle* handle = nullptr;
  shm::kv::issue_all(call, shm::kv::table_of(call, kv), count, calls, &handle);
  shm::kv::wait(call, handle);
  for (size_t i = 0; i < count; ++i)
    if (!shm::kv::is_done(calls[i].status)) return calls[i].status;
  return SHMEMX_KV_OK;
}

void pshmemx_kv_batch_nbi(shmemx_kv_t kv, size_t count, shmemx_kv_call_t* calls,
                          shmemx_kv_request_t* request) {
  const Call call{"shmemx_kv_batch_nbi"};
  shm::kv::Handle* handle = nullptr;
  shm::kv::issue_all(call, shm::kv::table_of(call, kv), count, calls, request == nullptr ? nullptr : &handle);
  shm::kv::give_request(handle, request);
}

int pshmemx_kv_request_test(shmemx_kv_request_t* request) {
  if (shm::kv::has_outlived(request)) return 1;
  return shm::kv::test(shm::kv::handle_of({"shmemx_kv_request_test"}, request)) ? 1 : 0;
}

void pshmemx_kv_request_wait(shmemx_kv_request_t* request) {
  if (shm::kv::has_outlived(request)) return;
  const Call call{"shmemx_kv_request_wait"};
  shm::kv::wait(call, shm::kv::handle_of(call, request));
}

size_t pshmemx_kv_request_wait_any(size_t count, shmemx_kv_request_t* requests) {
  const Call call{"shmemx_kv_request_wait_any"};
  shm::check_started(call);
  shm::check_array(call, "requests", requests, count);
  return shm::kv::wait_any(call, reinterpret_cast<shm::kv::Handle**>(requests), count);
}

SHMEMX_KV_FUNCS_REQUEST(ATOLL_ALIAS_)

}  // extern "C"

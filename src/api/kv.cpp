// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: calls on a table and on one key (shmem/kv.h).
#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"
#include "core/wait.hpp"
#include "kv/functions.hpp"
#include "kv/tables.hpp"
#include "setup/named_objects.hpp"

namespace shm::kv {

void refuse_table(Call call, shmemx_kv_t handle) {
  check_started(call);
  if (handle == nullptr)
    fatal("%s: kv is NULL; allowed is what shmemx_kv_create gave where it returned SHMEMX_KV_OK", call.name);
  fatal(
      "%s: kv is no table; allowed is what shmemx_kv_create gave and this PE has neither left nor destroyed",
      call.name);
}

void refuse_key(Call call, const Table& table, const void* bytes, std::size_t n) {
  if (bytes == nullptr) fatal("%s: key is NULL; allowed is where key_bytes bytes are", call.name);
  fatal("%s: key_bytes is %zu; allowed are 1 to %zu, which the table was created with", call.name, n,
        static_cast<std::size_t>(table.layout().key_bytes));
}

void refuse_value(Call call, const char* argument) {
  fatal("%s: %s is NULL, and its length is not 0; allowed is where so many bytes are", call.name, argument);
}

KvRequest word_request(Call call, KvOp op, const Key& key, std::size_t offset, int type, int operation,
                       const void* operand) {
  static constexpr AtomicType kTypes[] = {AtomicType::i32, AtomicType::i64, AtomicType::u32,
                                          AtomicType::u64, AtomicType::f32, AtomicType::f64};
  static constexpr AtomicOp kOps[] = {AtomicOp::set,     AtomicOp::add,    AtomicOp::min,    AtomicOp::max,
                                      AtomicOp::bit_and, AtomicOp::bit_or, AtomicOp::bit_xor};
  if (type < SHMEMX_KV_INT32 || type > SHMEMX_KV_DOUBLE)
    fatal("%s: type is %d; allowed are SHMEMX_KV_INT32 to SHMEMX_KV_DOUBLE", call.name, type);
  if (operation < SHMEMX_KV_SET || operation > SHMEMX_KV_XOR)
    fatal("%s: op is %d; allowed are SHMEMX_KV_SET to SHMEMX_KV_XOR", call.name, operation);
  if (operand == nullptr) fatal("%s: operand is NULL; allowed is where a word of the type is", call.name);
  KvRequest request{.op = op, .key = key, .value = operand, .offset = offset};
  request.type = kTypes[type];
  request.atomic = kOps[operation];
  if (!is_defined(request.atomic, request.type))
    fatal("%s: op is a bitwise one, and type a floating-point one; allowed are SET, ADD, MIN and MAX",
          call.name);
  return request;
}

void check_function(Call call, const Table& table, int function, std::size_t operand_bytes) {
  if (function < 0 || registered(static_cast<std::uint32_t>(function)) == nullptr)
    fatal("%s: function is %d; allowed is what shmemx_kv_register has returned", call.name, function);
  const std::size_t longest = std::max(table.layout().value_bytes, kLongestOperand);
  if (operand_bytes > longest)
    fatal("%s: operand_bytes is %zu; allowed are up to %zu", call.name, operand_bytes, longest);
}

[[gnu::cold, gnu::noinline]] static void issue_over(Call call, Table& table, KvRequest request, void* result,
                                                    ResultsTo later) {
  std::vector<std::byte> own_key, own_value;
  request.key.bytes = copied(own_key, request.key.bytes, request.key.n);
  if (brings_value(request.op)) request.value = copied(own_value, request.value, request.n);
  table.issue(call, request, result, later);
}

void issue_apart(Call call, Table& table, const KvRequest& request, void* result, ResultsTo later) {
  const std::uint64_t room = gives_value(request.op) ? room_of(request) : 0;
  const std::uint64_t brought = brings_value(request.op) ? request.n : 0;
  if (room != 0 && (overlap(request.key.bytes, request.key.n, result, room) ||
                    overlap(request.value, brought, result, room))) [[unlikely]]
    return issue_over(call, table, request, result, later);
  table.issue(call, request, result, later);
}

namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;

void check_capacity(Call call, std::uint64_t capacity) {
  if (capacity == 0 || capacity > kMostElements)
    fatal("%s: capacity is %zu; allowed are 1 to 2^40 elements", call.name,
          static_cast<std::size_t>(capacity));
}

void check_options(Call call, const shmemx_kv_options_t* options) {
  if (options == nullptr) fatal("%s: options is NULL; allowed is where a shmemx_kv_options_t is", call.name);
  if (options->key_bytes == 0 || options->key_bytes > kLongestKey)
    fatal("%s: key_bytes is %zu; allowed are 1 to 65536", call.name, options->key_bytes);
  if (options->value_bytes > kLongestValue)
    fatal("%s: value_bytes is %zu; allowed are 0 to 2^30", call.name, options->value_bytes);
  check_capacity(call, options->capacity);
}

KvRequest store_request(Call call, KvOp op, const Table& table, const void* key, std::size_t key_bytes,
                        const void* value, std::size_t n) {
  check_value(call, "val", value, n);
  return {.op = op, .key = key_of(call, table, key, key_bytes), .value = value, .n = n};
}

Code store_anyhow(Call call, KvOp op, Table& table, const void* key, std::size_t key_bytes, const void* value,
                  std::size_t n) {
  const KvRequest request = store_request(call, op, table, key, key_bytes, value, n);
  if (n > table.layout().value_bytes) return SHMEMX_KV_TOO_LARGE;
  ValueRoom result;
  return table.execute(call, request, result);
}

Code store(Call call, KvOp op, shmemx_kv_t kv, const void* key, std::size_t key_bytes, const void* value,
           std::size_t n) {
  return store_anyhow(call, op, table_of(call, kv), key, key_bytes, value, n);
}

void store_nbi(Call call, KvOp op, shmemx_kv_t kv, const void* key, std::size_t key_bytes, const void* value,
               std::size_t n, int* status) {
  Table& table = table_of(call, kv);
  const KvRequest request = store_request(call, op, table, key, key_bytes, value, n);
  if (n <= table.layout().value_bytes) return table.issue(call, request, nullptr, {.status = status});
  if (status != nullptr) *status = SHMEMX_KV_TOO_LARGE;
}

// The same where the value may be written over the key, which is looked at again if the element changes
// meanwhile.
[[gnu::cold, gnu::noinline]] Code get_over_key(Call call, Table& table, Key key, void* value,
                                               std::size_t room, std::uint64_t& n) {
  std::vector<std::byte> own;
  key.bytes = copied(own, key.bytes, key.n);
  return table.get(call, key, value, room, n);
}

Code get_anyhow(Call call, Table& table, const void* key, std::size_t key_bytes, void* value,
                std::size_t room, std::size_t* n) {
  check_value(call, "val", value, room);
  std::uint64_t bytes = 0;
  const Key wanted = key_of(call, table, key, key_bytes);
  const Code status = overlap(key, key_bytes, value, room)
                          ? get_over_key(call, table, wanted, value, room, bytes)
                          : table.get(call, wanted, value, room, bytes);
  if (n != nullptr && has_length(status)) *n = bytes;
  return status;
}

constexpr KvCalls kOtherWays{
    [](LeanTable& table, const void* key, std::size_t key_bytes, void* value, std::size_t room,
       std::size_t* n) {
      return get_anyhow({"shmemx_kv_get"}, static_cast<Table&>(table), key, key_bytes, value, room, n);
    },
    [](LeanTable& table, const void* key, std::size_t key_bytes, const void* value, std::size_t n) {
      return store_anyhow({"shmemx_kv_put"}, KvOp::put, static_cast<Table&>(table), key, key_bytes, value, n);
    }};

int give_handle(Table* table, shmemx_kv_t* kv) {
  if (table != nullptr) table->others = kOtherWays;
  *kv = reinterpret_cast<shmemx_kv_t>(static_cast<LeanTable*>(table));
  return table == nullptr ? SHMEMX_KV_FULL : SHMEMX_KV_OK;
}

Code word(Call call, KvOp op, shmemx_kv_t kv, const void* key, std::size_t key_bytes, std::size_t offset,
          int type, int operation, const void* operand, void* old) {
  Table& table = table_of(call, kv);
  const Key where = key_of(call, table, key, key_bytes);
  ValueRoom result{old, 0};
  return table.execute(call, word_request(call, op, where, offset, type, operation, operand), result);
}

void word_nbi(Call call, KvOp op, shmemx_kv_t kv, const void* key, std::size_t key_bytes, std::size_t offset,
              int type, int operation, const void* operand, void* old, int* status) {
  Table& table = table_of(call, kv);
  const Key where = key_of(call, table, key, key_bytes);
  table.issue(call, word_request(call, op, where, offset, type, operation, operand), old, {.status = status});
}

}  // namespace
}  // namespace shm::kv

using shm::Call;
using shm::kv::KvOp;

extern "C" {

int pshmemx_kv_create(const shmemx_kv_options_t* options, shmemx_kv_t* kv) {
  const Call call{"shmemx_kv_create"};
  shm::check_started(call);
  shm::kv::check_options(call, options);
  shm::check_result(call, "kv", kv);
  return shm::kv::give_handle(shm::kv::create_table(call, *options, shm::open_named), kv);
}

int pshmemx_kv_team_create(shmem_team_t team, const shmemx_kv_options_t* options, shmemx_kv_t* kv) {
  const Call call{"shmemx_kv_team_create"};
  shm::check_started(call);
  shm::kv::check_options(call, options);
  shm::check_result(call, "kv", kv);
  return shm::kv::give_handle(team == SHMEM_TEAM_WORLD
                                  ? shm::kv::create_table(call, *options, shm::open_named)
                                  : shm::kv::create_table_on(call, team, *options),
                              kv);
}

void pshmemx_kv_destroy(shmemx_kv_t kv) {
  const Call call{"shmemx_kv_destroy"};
  shm::kv::destroy_table(call, &shm::kv::table_of(call, kv));
}

// What is under way is completed, as there is no handle any more to wait for it with.
void pshmemx_kv_leave(shmemx_kv_t kv) {
  const Call call{"shmemx_kv_leave"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  table.quiet(call);
  if (table.is_of_team()) table.tell_left(call);
  table.leave();
}

int pshmemx_kv_resize(shmemx_kv_t kv, uint64_t capacity) {
  const Call call{"shmemx_kv_resize"};
  shm::kv::check_capacity(call, capacity);
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  if (table.is_named()) shm::fatal("%s: kv has a name; allowed are tables that end with the job", call.name);
  return shm::kv::resize_table(call, table, capacity);
}

void pshmemx_kv_persist(shmemx_kv_t kv) {
  const Call call{"shmemx_kv_persist"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  if (!table.is_named())
    shm::fatal("%s: kv has no name; allowed are tables that were created with one", call.name);
  table.quiet(call);  // and so has everybody when it begins: nobody changes an element meanwhile
  shm::persist_named(call, table.memory());
}

int pshmemx_kv_put(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n) {
  shm::kv::LeanTable& table = shm::kv::lean_table_of({"shmemx_kv_put"}, kv);
  return table.calls().one.put(table, key, key_bytes, value, n);
}
int pshmemx_kv_insert(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n) {
  return shm::kv::store({"shmemx_kv_insert"}, KvOp::insert, kv, key, key_bytes, value, n);
}
int pshmemx_kv_update(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n) {
  return shm::kv::store({"shmemx_kv_update"}, KvOp::update, kv, key, key_bytes, value, n);
}

int pshmemx_kv_get(shmemx_kv_t kv, const void* key, size_t key_bytes, void* value, size_t room, size_t* n) {
  shm::kv::LeanTable& table = shm::kv::lean_table_of({"shmemx_kv_get"}, kv);
  return table.calls().one.get(table, key, key_bytes, value, room, n);
}

int pshmemx_kv_get_wait(shmemx_kv_t kv, const void* key, size_t key_bytes, void* value, size_t room,
                        size_t* n) {
  const Call call{"shmemx_kv_get_wait"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::kv::Key wanted = shm::kv::key_of(call, table, key, key_bytes);
  shm::kv::check_value(call, "val", value, room);
  std::vector<std::byte> own_key;
  wanted.bytes = key = shm::kv::apart(own_key, key, key_bytes, value, room);
  const int pe = table.pe_of_key(wanted);
  int status = SHMEMX_KV_NOT_FOUND;
  if (table.is_here(pe)) {
    shm::wait_for(
        [&] {
          return (status = shm::kv::get_anyhow(call, table, key, key_bytes, value, room, n)) !=
                 SHMEMX_KV_NOT_FOUND;
        },
        [&](shm::WaitRecord& record) {
          shm::kv::describe_wait_for_key(record, call, table.members().world_pe(pe), wanted);
        });
    return status;
  }
  std::uint64_t bytes = 0;
  while (status == SHMEMX_KV_NOT_FOUND) status = table.get_when_there(call, wanted, value, room, bytes);
  if (n != nullptr && shm::kv::has_length(status)) *n = bytes;
  return status;
}

int pshmemx_kv_contains(shmemx_kv_t kv, const void* key, size_t key_bytes) {
  const Call call{"shmemx_kv_contains"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::kv::ValueRoom result;
  return table.execute(call, {.op = KvOp::contains, .key = shm::kv::key_of(call, table, key, key_bytes)},
                       result);
}

int pshmemx_kv_remove(shmemx_kv_t kv, const void* key, size_t key_bytes) {
  return shm::kv::store({"shmemx_kv_remove"}, KvOp::remove, kv, key, key_bytes, nullptr, 0);
}

int pshmemx_kv_accumulate(shmemx_kv_t kv, const void* key, size_t key_bytes, size_t offset, int type, int op,
                          const void* operand, void* old) {
  return shm::kv::word({"shmemx_kv_accumulate"}, KvOp::accumulate, kv, key, key_bytes, offset, type, op,
                       operand, old);
}
int pshmemx_kv_upsert(shmemx_kv_t kv, const void* key, size_t key_bytes, int type, int op,
                      const void* operand, void* old) {
  return shm::kv::word({"shmemx_kv_upsert"}, KvOp::upsert, kv, key, key_bytes, 0, type, op, operand, old);
}

int pshmemx_kv_compare_swap(shmemx_kv_t kv, const void* key, size_t key_bytes, size_t offset, size_t n,
                            const void* expected, const void* desired, void* old) {
  const Call call{"shmemx_kv_compare_swap"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::kv::check_value(call, "expected", expected, n);
  shm::kv::check_value(call, "desired", desired, n);
  shm::kv::KvRequest request{.op = KvOp::compare_swap, .key = shm::kv::key_of(call, table, key, key_bytes)};
  if (n > table.layout().value_bytes)
    return pshmemx_kv_contains(kv, key, key_bytes) == SHMEMX_KV_OK ? SHMEMX_KV_TOO_LARGE
                                                                   : SHMEMX_KV_NOT_FOUND;
  request.value = desired;
  request.expected = expected;
  request.n = n;
  request.offset = offset;
  shm::kv::ValueRoom result{old, 0};
  return table.execute(call, request, result);
}

void pshmemx_kv_put_nbi(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                        int* status) {
  shm::kv::store_nbi({"shmemx_kv_put_nbi"}, KvOp::put, kv, key, key_bytes, value, n, status);
}
void pshmemx_kv_insert_nbi(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                           int* status) {
  shm::kv::store_nbi({"shmemx_kv_insert_nbi"}, KvOp::insert, kv, key, key_bytes, value, n, status);
}
void pshmemx_kv_update_nbi(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* value, size_t n,
                           int* status) {
  shm::kv::store_nbi({"shmemx_kv_update_nbi"}, KvOp::update, kv, key, key_bytes, value, n, status);
}
void pshmemx_kv_remove_nbi(shmemx_kv_t kv, const void* key, size_t key_bytes, int* status) {
  shm::kv::store_nbi({"shmemx_kv_remove_nbi"}, KvOp::remove, kv, key, key_bytes, nullptr, 0, status);
}

void pshmemx_kv_get_nbi(shmemx_kv_t kv, const void* key, size_t key_bytes, void* value, size_t room,
                        size_t* n, int* status) {
  const Call call{"shmemx_kv_get_nbi"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::kv::check_value(call, "val", value, room);
  const shm::kv::KvRequest request{
      .op = KvOp::get, .key = shm::kv::key_of(call, table, key, key_bytes), .n = room};
  shm::kv::issue_apart(call, table, request, value, {.status = status, .n = n});
}

void pshmemx_kv_accumulate_nbi(shmemx_kv_t kv, const void* key, size_t key_bytes, size_t offset, int type,
                               int op, const void* operand, void* old, int* status) {
  shm::kv::word_nbi({"shmemx_kv_accumulate_nbi"}, KvOp::accumulate, kv, key, key_bytes, offset, type, op,
                    operand, old, status);
}
void pshmemx_kv_upsert_nbi(shmemx_kv_t kv, const void* key, size_t key_bytes, int type, int op,
                           const void* operand, void* old, int* status) {
  shm::kv::word_nbi({"shmemx_kv_upsert_nbi"}, KvOp::upsert, kv, key, key_bytes, 0, type, op, operand, old,
                    status);
}

int pshmemx_kv_test(shmemx_kv_t kv) { return shm::kv::table_of({"shmemx_kv_test"}, kv).test() ? 1 : 0; }

void pshmemx_kv_quiet(shmemx_kv_t kv) {
  const Call call{"shmemx_kv_quiet"};
  shm::kv::table_of(call, kv).quiet(call);
}

// What is complete is ordered.  Requests to one PE are in order anyway; those to several cannot be but by
// waiting.
void pshmemx_kv_fence(shmemx_kv_t kv) {
  const Call call{"shmemx_kv_fence"};
  shm::kv::table_of(call, kv).quiet(call);
}

int pshmemx_kv_pe(shmemx_kv_t kv, const void* key, size_t key_bytes) {
  const Call call{"shmemx_kv_pe"};
  const shm::kv::Table& table = shm::kv::table_of(call, kv);
  return table.pe_of_key(shm::kv::key_of(call, table, key, key_bytes));
}

uint64_t pshmemx_kv_count(shmemx_kv_t kv) {
  const Call call{"shmemx_kv_count"};
  return shm::kv::table_of(call, kv).count(call);
}

uint64_t pshmemx_kv_count_local(shmemx_kv_t kv) {
  return shm::kv::table_of({"shmemx_kv_count_local"}, kv).with_mine([](const auto& shard) {
    return shard.elements();
  });
}

int pshmemx_kv_next_local(shmemx_kv_t kv, uint64_t* cursor, void* key, size_t key_room, size_t* key_bytes,
                          void* value, size_t value_room, size_t* value_bytes) {
  const Call call{"shmemx_kv_next_local"};
  const shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::check_result(call, "cursor", cursor);
  shm::kv::check_value(call, "key", key, key_room);
  std::vector<std::byte> own_key, own_value;
  if (shm::kv::may_fault(key, key_room)) own_key.resize(key_room);
  if (shm::kv::may_fault(value, value_room)) own_value.resize(value_room);
  shm::kv::Element element{own_key.empty() ? key : own_key.data(),       key_room,   0,
                           own_value.empty() ? value : own_value.data(), value_room, 0};
  const int status = table.with_mine([&](const auto& shard) { return shard.next(*cursor, element); });
  if (status == SHMEMX_KV_OK && !own_key.empty()) std::memcpy(key, own_key.data(), element.key_bytes);
  if (status == SHMEMX_KV_OK && !own_value.empty()) std::memcpy(value, own_value.data(), element.value_bytes);
  if (status == SHMEMX_KV_NOT_FOUND) return status;
  if (key_bytes != nullptr) *key_bytes = element.key_bytes;
  if (value_bytes != nullptr) *value_bytes = element.value_bytes;
  return status;
}

void pshmemx_kv_stats(shmemx_kv_t kv, shmemx_kv_stats_t* stats) {
  const Call call{"shmemx_kv_stats"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::check_result(call, "stats", stats);
  const shm::kv::ShardLayout& layout = table.layout();
  *stats = {};
  stats->block_bytes = layout.chunks * layout.largest_block;
  stats->local_calls = table.local_calls();
  stats->remote_calls = table.remote_calls();
  stats->packets = table.packets();
  table.with_mine([&](const auto& shard) {
    stats->elements = shard.elements();
    stats->slots = shard.slots();
    stats->block_bytes_used = shard.block_bytes_used();
    stats->longest_probe = shard.longest_probe();
  });
}

SHMEMX_KV_FUNCS_SINGLE(ATOLL_ALIAS_)

}  // extern "C"

/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments of shmemx_kv end the job with one line that names the call, the argument and what is
 * allowed. */
#include <shmemx.h>

#include "../spec/failure/refused.h"

static shmemx_kv_t kv;
static const uint64_t one = 1;
static char key[64] = "key", value[200];
static int status;
static size_t bytes;

static shmemx_kv_options_t fine(void) {
  return (shmemx_kv_options_t){.key_bytes = 32, .value_bytes = 100, .capacity = 100};
}

static void prepare(void) {
  const shmemx_kv_options_t options = fine();
  if (shmemx_kv_create(&options, &kv) != SHMEMX_KV_OK) abort();
  if (shmemx_kv_put(kv, key, 3, value, 8) != SHMEMX_KV_OK) abort();
}

/* ---- create and resize */

static void create(size_t key_bytes, size_t value_bytes, uint64_t capacity) {
  const shmemx_kv_options_t options = {
      .key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = capacity};
  shmemx_kv_create(&options, &kv);
}
static void create_null(void) { shmemx_kv_create(NULL, &kv); }
static void create_nowhere(void) {
  const shmemx_kv_options_t options = fine();
  shmemx_kv_create(&options, NULL);
}
static void create_no_key(void) { create(0, 8, 100); }
static void create_long_key(void) { create(65537, 8, 100); }
static void create_wrapped_key(void) { create(SIZE_MAX, 8, 100); }
static void create_long_value(void) { create(8, ((size_t)1 << 30) + 1, 100); }
static void create_wrapped_value(void) { create(8, SIZE_MAX, 100); }
static void create_no_room(void) { create(8, 8, 0); }
static void create_too_much(void) { create(8, 8, UINT64_MAX); }
static void create_one_too_many(void) { create(8, 8, (UINT64_C(1) << 40) + 1); }
static void resize_to_0(void) { shmemx_kv_resize(kv, 0); }
static void resize_too_much(void) { shmemx_kv_resize(kv, UINT64_MAX); }
static void persist_unnamed(void) { shmemx_kv_persist(kv); }

/* ---- No table */

#define ON_NO_TABLE(CALL, ...)                                             \
  static void CALL##_null(void) { shmemx_kv_##CALL(NULL, ##__VA_ARGS__); } \
  static void CALL##_ended(void) {                                         \
    shmemx_kv_destroy(kv);                                                 \
    shmemx_kv_##CALL(kv, ##__VA_ARGS__);                                   \
  }
ON_NO_TABLE(destroy)
ON_NO_TABLE(resize, 100)
ON_NO_TABLE(persist)
ON_NO_TABLE(put, key, 3, value, 8)
ON_NO_TABLE(insert, key, 3, value, 8)
ON_NO_TABLE(update, key, 3, value, 8)
ON_NO_TABLE(get, key, 3, value, 8, NULL)
ON_NO_TABLE(get_wait, key, 3, value, 8, NULL)
ON_NO_TABLE(contains, key, 3)
ON_NO_TABLE(remove, key, 3)
ON_NO_TABLE(accumulate, key, 3, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL)
ON_NO_TABLE(upsert, key, 3, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL)
ON_NO_TABLE(compare_swap, key, 3, 0, 8, value, value, NULL)
ON_NO_TABLE(put_nbi, key, 3, value, 8, &status)
ON_NO_TABLE(get_nbi, key, 3, value, 8, &bytes, &status)
ON_NO_TABLE(remove_nbi, key, 3, &status)
ON_NO_TABLE(upsert_nbi, key, 3, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status)
ON_NO_TABLE(put_batch, 1, key, 3, value, 8, &status)
ON_NO_TABLE(insert_nbi, key, 3, value, 8, &status)
ON_NO_TABLE(update_nbi, key, 3, value, 8, &status)
ON_NO_TABLE(accumulate_nbi, key, 3, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status)
ON_NO_TABLE(insert_batch, 1, key, 3, value, 8, &status)
ON_NO_TABLE(update_batch, 1, key, 3, value, 8, &status)
ON_NO_TABLE(get_batch, 1, key, 3, value, 8, NULL, &status)
ON_NO_TABLE(contains_batch, 1, key, 3, &status)
ON_NO_TABLE(remove_batch, 1, key, 3, &status)
ON_NO_TABLE(test)
ON_NO_TABLE(upsert_batch, 1, key, 3, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status)
ON_NO_TABLE(quiet)
ON_NO_TABLE(fence)
ON_NO_TABLE(pe, key, 3)
ON_NO_TABLE(count)
ON_NO_TABLE(count_local)
static uint64_t cursor;
static shmemx_kv_stats_t stats;
ON_NO_TABLE(next_local, &cursor, key, sizeof key, NULL, NULL, 0, NULL)
ON_NO_TABLE(stats, &stats)

static shmemx_kv_report_t report;
static shmemx_kv_request_t request;
static shmemx_kv_call_t calls[1] = {{.call = SHMEMX_KV_REMOVE, .key = key, .key_bytes = 3}};
static int all(const void* k, size_t n, const void* v, size_t m, void* context) {
  (void)k, (void)n, (void)v, (void)m, (void)context;
  return 1;
}
static int keep(const void* k, size_t n, const void* o, size_t old_n, const void* p, size_t p_n, void* v,
                size_t* v_n) {
  (void)k, (void)n, (void)o, (void)old_n, (void)p, (void)p_n, (void)v, (void)v_n;
  return SHMEMX_KV_KEEP;
}
ON_NO_TABLE(leave)
ON_NO_TABLE(insert_or_update, key, 3, value, 8)
ON_NO_TABLE(get_or_insert, key, 3, value, 8, value, 8, NULL)
ON_NO_TABLE(exchange, key, 3, value, 8, value, 8, NULL)
ON_NO_TABLE(take, key, 3, value, 8, NULL)
ON_NO_TABLE(apply, key, 3, shmemx_kv_register(keep), value, 8, NULL, 0, NULL)
ON_NO_TABLE(remove_if, all, NULL)
ON_NO_TABLE(clear)
ON_NO_TABLE(scan, 0, &cursor, 1, value, 8, NULL, NULL, 0, NULL, &bytes)
ON_NO_TABLE(export, "/dev/null")
ON_NO_TABLE(import, "/dev/null")
ON_NO_TABLE(report, &report, sizeof report)
ON_NO_TABLE(watch, 1)
ON_NO_TABLE(hot_keys, 1, value, 8, NULL, NULL)
ON_NO_TABLE(put_nbr, key, 3, value, 8, &status, &request)
ON_NO_TABLE(insert_nbr, key, 3, value, 8, &status, &request)
ON_NO_TABLE(update_nbr, key, 3, value, 8, &status, &request)
ON_NO_TABLE(get_nbr, key, 3, value, 8, NULL, &status, &request)
ON_NO_TABLE(remove_nbr, key, 3, &status, &request)
ON_NO_TABLE(accumulate_nbr, key, 3, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status, &request)
ON_NO_TABLE(upsert_nbr, key, 3, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status, &request)
ON_NO_TABLE(batch, 1, calls)
ON_NO_TABLE(batch_nbi, 1, calls, &request)
ON_NO_TABLE(put_batch_nbi, 1, key, 3, value, 8, &status, &request)
ON_NO_TABLE(get_batch_nbi, 1, key, 3, value, 8, NULL, &status, &request)
static void put_left(void) {
  shmemx_kv_leave(kv);
  shmemx_kv_put(kv, key, 3, value, 8);
}
static void report_null_result(void) { shmemx_kv_report(kv, NULL, sizeof report); }
static void hot_keys_nowhere(void) { shmemx_kv_hot_keys(kv, 1, NULL, 8, NULL, NULL); }
static void scan_of_1(void) { shmemx_kv_scan(kv, 1, &cursor, 1, value, 8, NULL, NULL, 0, NULL, &bytes); }
static void scan_of_less(void) { shmemx_kv_scan(kv, -1, &cursor, 1, value, 8, NULL, NULL, 0, NULL, &bytes); }
static void scan_of_none(void) { shmemx_kv_scan(kv, 0, &cursor, 0, value, 8, NULL, NULL, 0, NULL, &bytes); }
static void scan_no_cursor(void) { shmemx_kv_scan(kv, 0, NULL, 1, value, 8, NULL, NULL, 0, NULL, &bytes); }
static void scan_no_count(void) { shmemx_kv_scan(kv, 0, &cursor, 1, value, 8, NULL, NULL, 0, NULL, NULL); }
static void scan_no_keys(void) { shmemx_kv_scan(kv, 0, &cursor, 1, NULL, 8, NULL, NULL, 0, NULL, &bytes); }
static void remove_if_nothing(void) { shmemx_kv_remove_if(kv, NULL, NULL); }
static void register_null(void) { shmemx_kv_register(NULL); }
static void apply_unknown(void) { shmemx_kv_apply(kv, key, 3, 77, value, 8, NULL, 0, NULL); }
static void export_nowhere(void) { shmemx_kv_export(kv, NULL); }
static void import_nowhere(void) { shmemx_kv_import(kv, NULL); }
static void batch_of_what(void) {
  calls[0].call = 14;
  shmemx_kv_batch(kv, 1, calls);
}
static void team_create_nowhere(void) {
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = 8};
  shmemx_kv_team_create(SHMEM_TEAM_SHARED, &options, NULL);
}
static void team_create_on_none(void) {
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = 8};
  shmemx_kv_team_create(SHMEM_TEAM_INVALID, &options, &kv);
}
static void team_create_named(void) {
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = 8, .name = "mine"};
  shmemx_kv_team_create(SHMEM_TEAM_SHARED, &options, &kv);
}
static void wait_for_what(void) { shmemx_kv_request_wait(NULL); }

/* ---- Keys: of no bytes, of more than the table's, and none at all */

#define ON_NO_KEY(CALL, ...)                                                        \
  static void CALL##_key_0(void) { shmemx_kv_##CALL(kv, key, 0, ##__VA_ARGS__); }   \
  static void CALL##_key_33(void) { shmemx_kv_##CALL(kv, key, 33, ##__VA_ARGS__); } \
  static void CALL##_key_null(void) { shmemx_kv_##CALL(kv, NULL, 3, ##__VA_ARGS__); }
ON_NO_KEY(put, value, 8)
ON_NO_KEY(insert, value, 8)
ON_NO_KEY(update, value, 8)
ON_NO_KEY(get, value, 8, NULL)
ON_NO_KEY(get_wait, value, 8, NULL)
ON_NO_KEY(contains)
ON_NO_KEY(remove)
ON_NO_KEY(accumulate, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL)
ON_NO_KEY(upsert, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL)
ON_NO_KEY(compare_swap, 0, 8, value, value, NULL)
ON_NO_KEY(put_nbi, value, 8, &status)
ON_NO_KEY(insert_nbi, value, 8, &status)
ON_NO_KEY(update_nbi, value, 8, &status)
ON_NO_KEY(get_nbi, value, 8, &bytes, &status)
ON_NO_KEY(remove_nbi, &status)
ON_NO_KEY(accumulate_nbi, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status)
ON_NO_KEY(upsert_nbi, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status)
ON_NO_KEY(pe)
ON_NO_KEY(insert_or_update, value, 8)
ON_NO_KEY(get_or_insert, value, 8, value, 8, NULL)
ON_NO_KEY(exchange, value, 8, value, 8, NULL)
ON_NO_KEY(take, value, 8, NULL)
ON_NO_KEY(put_nbr, value, 8, &status, &request)
ON_NO_KEY(get_nbr, value, 8, NULL, &status, &request)
ON_NO_KEY(remove_nbr, &status, &request)

#define ON_NO_KEYS(CALL, ...)                                                          \
  static void CALL##_key_0(void) { shmemx_kv_##CALL(kv, 2, key, 0, ##__VA_ARGS__); }   \
  static void CALL##_key_33(void) { shmemx_kv_##CALL(kv, 1, key, 33, ##__VA_ARGS__); } \
  static void CALL##_key_null(void) { shmemx_kv_##CALL(kv, 1, NULL, 3, ##__VA_ARGS__); }
ON_NO_KEYS(put_batch, value, 8, &status)
ON_NO_KEYS(insert_batch, value, 101, &status)
ON_NO_KEYS(update_batch, value, 8, &status)
ON_NO_KEYS(get_batch, value, 8, NULL, &status)
ON_NO_KEYS(contains_batch, &status)
ON_NO_KEYS(remove_batch, &status)
ON_NO_KEYS(upsert_batch, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL, &status)
static void swap_too_much_key_null(void) { shmemx_kv_compare_swap(kv, NULL, 3, 0, 101, value, value, NULL); }

/* ---- Values, operations and results */

static void put_val_null(void) { shmemx_kv_put(kv, key, 3, NULL, 8); }
static void get_val_null(void) { shmemx_kv_get(kv, key, 3, NULL, 8, NULL); }
static void get_nbi_val_null(void) { shmemx_kv_get_nbi(kv, key, 3, NULL, 8, NULL, NULL); }
static void put_batch_val_null(void) { shmemx_kv_put_batch(kv, 1, key, 3, NULL, 8, NULL); }
static void insert_batch_val_null(void) { shmemx_kv_insert_batch(kv, 1, key, 3, NULL, 8, NULL); }
static void update_batch_val_null(void) { shmemx_kv_update_batch(kv, 1, key, 3, NULL, 8, NULL); }
static void get_batch_val_null(void) { shmemx_kv_get_batch(kv, 1, key, 3, NULL, 8, NULL, NULL); }
static void operand_null(void) {
  shmemx_kv_accumulate(kv, key, 3, 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD, NULL, NULL);
}
static void operands_null(void) {
  shmemx_kv_upsert_batch(kv, 1, key, 3, SHMEMX_KV_INT64, SHMEMX_KV_ADD, NULL, NULL, NULL);
}
static void swap_expected_null(void) { shmemx_kv_compare_swap(kv, key, 3, 0, 8, NULL, value, NULL); }
static void swap_desired_null(void) { shmemx_kv_compare_swap(kv, key, 3, 0, 8, value, NULL, NULL); }
static void type_negative(void) { shmemx_kv_accumulate(kv, key, 3, 0, -1, SHMEMX_KV_ADD, &one, NULL); }
static void type_6(void) { shmemx_kv_upsert(kv, key, 3, 6, SHMEMX_KV_ADD, &one, NULL); }
static void type_6_nbi(void) { shmemx_kv_upsert_nbi(kv, key, 3, 6, SHMEMX_KV_ADD, &one, NULL, NULL); }
static void type_99_empty_batch(void) {
  shmemx_kv_upsert_batch(kv, 0, key, 3, 99, SHMEMX_KV_ADD, &one, NULL, NULL);
}
static void type_6_batch(void) { shmemx_kv_upsert_batch(kv, 1, key, 3, 6, SHMEMX_KV_ADD, &one, NULL, NULL); }
static void op_negative(void) { shmemx_kv_upsert(kv, key, 3, SHMEMX_KV_INT64, -1, &one, NULL); }
static void op_7(void) { shmemx_kv_accumulate(kv, key, 3, 0, SHMEMX_KV_INT64, 7, &one, NULL); }
static void op_7_nbi(void) { shmemx_kv_accumulate_nbi(kv, key, 3, 0, SHMEMX_KV_INT64, 7, &one, NULL, NULL); }
static void xor_of_double(void) {
  shmemx_kv_accumulate(kv, key, 3, 0, SHMEMX_KV_DOUBLE, SHMEMX_KV_XOR, &one, NULL);
}
static void and_of_float(void) { shmemx_kv_upsert(kv, key, 3, SHMEMX_KV_FLOAT, SHMEMX_KV_AND, &one, NULL); }
static void cursor_null(void) { shmemx_kv_next_local(kv, NULL, key, 64, NULL, NULL, 0, NULL); }
static void next_key_null(void) { shmemx_kv_next_local(kv, &cursor, NULL, 64, NULL, NULL, 0, NULL); }
static void stats_null_result(void) { shmemx_kv_stats(kv, NULL); }

#define NO_TABLE(CALL)                                                                   \
  {"shmemx_kv_" #CALL, "kv is NULL. allowed is what shmemx_kv_create", CALL##_null}, {   \
    "shmemx_kv_" #CALL, "kv is no table. allowed is what shmemx_kv_create", CALL##_ended \
  }
#define NO_KEY(CALL)                                                                 \
  {"shmemx_kv_" #CALL, "key_bytes is 0. allowed are 1 to 32", CALL##_key_0},         \
      {"shmemx_kv_" #CALL, "key_bytes is 33. allowed are 1 to 32", CALL##_key_33}, { \
    "shmemx_kv_" #CALL, "key is NULL. allowed", CALL##_key_null                      \
  }

#define NO_KEYS(CALL)                                                                \
  {"shmemx_kv_" #CALL, "key_bytes is 0. allowed are 1 to 32", CALL##_key_0},         \
      {"shmemx_kv_" #CALL, "key_bytes is 33. allowed are 1 to 32", CALL##_key_33}, { \
    "shmemx_kv_" #CALL, "keys is NULL. allowed", CALL##_key_null                     \
  }

#define NO_TABLES                                                                                            \
  NO_TABLE(destroy), NO_TABLE(resize), NO_TABLE(persist), NO_TABLE(put), NO_TABLE(insert), NO_TABLE(update), \
      NO_TABLE(get), NO_TABLE(get_wait), NO_TABLE(contains), NO_TABLE(remove), NO_TABLE(accumulate),         \
      NO_TABLE(upsert), NO_TABLE(compare_swap), NO_TABLE(put_nbi), NO_TABLE(get_nbi), NO_TABLE(remove_nbi),  \
      NO_TABLE(upsert_nbi), NO_TABLE(put_batch), NO_TABLE(insert_nbi), NO_TABLE(update_nbi),                 \
      NO_TABLE(accumulate_nbi), NO_TABLE(insert_batch), NO_TABLE(update_batch), NO_TABLE(get_batch),         \
      NO_TABLE(contains_batch), NO_TABLE(remove_batch), NO_TABLE(test), NO_TABLE(upsert_batch),              \
      NO_TABLE(quiet), NO_TABLE(fence), NO_TABLE(pe), NO_TABLE(count), NO_TABLE(count_local),                \
      NO_TABLE(next_local), NO_TABLE(stats)

#define NO_TABLES_OF_LATER_CALLS                                                                            \
  NO_TABLE(leave), NO_TABLE(insert_or_update), NO_TABLE(get_or_insert), NO_TABLE(exchange), NO_TABLE(take), \
      NO_TABLE(apply), NO_TABLE(remove_if), NO_TABLE(clear), NO_TABLE(scan), NO_TABLE(export),              \
      NO_TABLE(import), NO_TABLE(report), NO_TABLE(watch), NO_TABLE(hot_keys), NO_TABLE(put_nbr),           \
      NO_TABLE(insert_nbr), NO_TABLE(update_nbr), NO_TABLE(get_nbr), NO_TABLE(remove_nbr),                  \
      NO_TABLE(accumulate_nbr), NO_TABLE(upsert_nbr), NO_TABLE(batch), NO_TABLE(batch_nbi),                 \
      NO_TABLE(put_batch_nbi), NO_TABLE(get_batch_nbi)

#define NO_KEY_OF_ONE                                                                                      \
  NO_KEY(put), NO_KEY(insert), NO_KEY(update), NO_KEY(get), NO_KEY(get_wait), NO_KEY(contains),            \
      NO_KEY(remove), NO_KEY(accumulate), NO_KEY(upsert), NO_KEY(compare_swap), NO_KEY(put_nbi),           \
      NO_KEY(insert_nbi), NO_KEY(update_nbi), NO_KEY(get_nbi), NO_KEY(remove_nbi), NO_KEY(accumulate_nbi), \
      NO_KEY(upsert_nbi), NO_KEY(pe), NO_KEY(insert_or_update), NO_KEY(get_or_insert), NO_KEY(exchange),   \
      NO_KEY(take), NO_KEY(put_nbr), NO_KEY(get_nbr), NO_KEY(remove_nbr)

#define NO_KEY_OF_BATCHES                                                               \
  NO_KEYS(put_batch), NO_KEYS(insert_batch), NO_KEYS(update_batch), NO_KEYS(get_batch), \
      NO_KEYS(contains_batch), NO_KEYS(remove_batch), NO_KEYS(upsert_batch)

static const struct {
  const char *name, *what;
  void (*call)(void);
} cases[] = {
    {"shmemx_kv_create", "options is NULL. allowed", create_null},
    {"shmemx_kv_create", "kv is NULL. allowed", create_nowhere},
    {"shmemx_kv_create", "key_bytes is 0. allowed are 1 to 65536", create_no_key},
    {"shmemx_kv_create", "key_bytes is 65537. allowed are 1 to 65536", create_long_key},
    {"shmemx_kv_create", "key_bytes is 18446744073709551615. allowed are 1 to 65536", create_wrapped_key},
    {"shmemx_kv_create", "value_bytes is 1073741825. allowed are 0 to 2.30", create_long_value},
    {"shmemx_kv_create", "value_bytes is 18446744073709551615. allowed", create_wrapped_value},
    {"shmemx_kv_create", "capacity is 0. allowed", create_no_room},
    {"shmemx_kv_create", "capacity is 18446744073709551615. allowed", create_too_much},
    {"shmemx_kv_create", "capacity is 1099511627777. allowed are 1 to 2.40 elements", create_one_too_many},
    {"shmemx_kv_team_create", "kv is NULL. allowed", team_create_nowhere},
    {"shmemx_kv_team_create", "team is SHMEM_TEAM_INVALID. allowed are", team_create_on_none},
    {"shmemx_kv_team_create", "name is 'mine'. allowed is NULL", team_create_named},
    {"shmemx_kv_resize", "capacity is 0. allowed are 1 to 2.40 elements", resize_to_0},
    {"shmemx_kv_resize", "capacity is 18446744073709551615. allowed", resize_too_much},
    {"shmemx_kv_persist", "kv has no name. allowed are tables that were created with", persist_unnamed},

    NO_TABLES,
    NO_TABLES_OF_LATER_CALLS,
    {"shmemx_kv_put", "kv is no table. allowed", put_left},

    NO_KEY_OF_ONE,
    NO_KEY_OF_BATCHES,
    {"shmemx_kv_compare_swap", "key is NULL. allowed", swap_too_much_key_null},

    {"shmemx_kv_put", "val is NULL.*allowed", put_val_null},
    {"shmemx_kv_get", "val is NULL.*allowed", get_val_null},
    {"shmemx_kv_get_nbi", "val is NULL.*allowed", get_nbi_val_null},
    {"shmemx_kv_put_batch", "values is NULL.*allowed", put_batch_val_null},
    {"shmemx_kv_insert_batch", "values is NULL.*allowed", insert_batch_val_null},
    {"shmemx_kv_update_batch", "values is NULL.*allowed", update_batch_val_null},
    {"shmemx_kv_get_batch", "values is NULL.*allowed", get_batch_val_null},
    {"shmemx_kv_accumulate", "operand is NULL.*allowed", operand_null},
    {"shmemx_kv_upsert_batch", "operands? is NULL.*allowed", operands_null},
    {"shmemx_kv_compare_swap", "expected is NULL.*allowed", swap_expected_null},
    {"shmemx_kv_compare_swap", "desired is NULL.*allowed", swap_desired_null},
    {"shmemx_kv_accumulate", "type is -1. allowed are SHMEMX_KV_INT32 to SHMEMX_KV_DOUBLE", type_negative},
    {"shmemx_kv_upsert", "type is 6. allowed are", type_6},
    {"shmemx_kv_upsert_nbi", "type is 6. allowed are", type_6_nbi},
    {"shmemx_kv_upsert_batch", "type is 6. allowed are", type_6_batch},
    {"shmemx_kv_upsert_batch", "type is 99. allowed are", type_99_empty_batch},
    {"shmemx_kv_upsert", "op is -1. allowed are SHMEMX_KV_SET to SHMEMX_KV_XOR", op_negative},
    {"shmemx_kv_accumulate", "op is 7. allowed are", op_7},
    {"shmemx_kv_accumulate_nbi", "op is 7. allowed are", op_7_nbi},
    {"shmemx_kv_accumulate", "op is a bitwise one, .*allowed are SET, ADD, MIN and MAX", xor_of_double},
    {"shmemx_kv_upsert", "op is a bitwise one, .*allowed are SET, ADD, MIN and MAX", and_of_float},
    {"shmemx_kv_next_local", "cursor is NULL. allowed", cursor_null},
    {"shmemx_kv_next_local", "key is NULL.*allowed", next_key_null},
    {"shmemx_kv_stats", "stats is NULL. allowed", stats_null_result},
    {"shmemx_kv_report", "report is NULL. allowed", report_null_result},
    {"shmemx_kv_hot_keys", "keys is NULL.*allowed", hot_keys_nowhere},
    {"shmemx_kv_scan", "pe is 1. allowed are 0 to 0", scan_of_1},
    {"shmemx_kv_scan", "pe is -1. allowed are 0 to 0", scan_of_less},
    {"shmemx_kv_scan", "most is 0. allowed are 1 and more", scan_of_none},
    {"shmemx_kv_scan", "cursor is NULL. allowed", scan_no_cursor},
    {"shmemx_kv_scan", "count is NULL. allowed", scan_no_count},
    {"shmemx_kv_scan", "keys is NULL.*allowed", scan_no_keys},
    {"shmemx_kv_remove_if", "predicate is NULL. allowed", remove_if_nothing},
    {"shmemx_kv_register", "function is NULL. allowed", register_null},
    {"shmemx_kv_apply", "function is 77. allowed is what shmemx_kv_register has returned", apply_unknown},
    {"shmemx_kv_export", "path is NULL. allowed", export_nowhere},
    {"shmemx_kv_import", "path is NULL. allowed", import_nowhere},
    {"shmemx_kv_batch", "call is 14. allowed are SHMEMX_KV_PUT to SHMEMX_KV_APPLY", batch_of_what},
    {"shmemx_kv_request_wait", "request is NULL. allowed", wait_for_what},
};

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0); /* or each child would print what is in its copy of the buffer */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    expect_refusal(cases[i].name, cases[i].what, prepare, cases[i].call);
  return report_cases();
}

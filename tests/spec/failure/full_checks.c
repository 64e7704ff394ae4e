/* SPDX-License-Identifier: BSD-3-Clause */
/* What SHMEM_CHECKS=full alone refuses: what is beyond the block or variable that an argument is in, in
 * blocks that were freed, in none, too short an array.  Each in one line that says what it is, and where it
 * comes from. */
#include <shmemx.h>

#include "refused.h"

static long variable[4], big[64], four[4];
static uint64_t signal_word;
static long sync_four[4], sync_whole[SHMEM_BARRIER_SYNC_SIZE], work[1];
static size_t two_indices[2];
static int two_flags[2], two_pes[2];
static char short_name[8];
static struct { long head, array[4]; } compound;
static long *block, *other, *old;

static void prepare(void) {
  block = shmem_calloc(8, sizeof *block);
  other = shmem_malloc(8 * sizeof *other);
  for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; ++i) sync_whole[i] = SHMEM_SYNC_VALUE;
}
static void prepare_freed(void) {
  prepare();
  old = block;
  shmem_free(block);
}
static void prepare_moved(void) {
  prepare();
  old = block;
  block = shmem_realloc(block, 100000);
  if (block == old) abort();
}
static void prepare_shrunk(void) {
  prepare();
  block = shmem_realloc(block, 4 * sizeof *block);
}

/* ---- Blocks: past the end, behind the end, freed */

static void put_nine(void) { shmem_long_put(block, big, 9, 0); }
static void put_from_the_middle(void) { shmem_long_put(block + 4, big, 5, 0); }
static void put_far(void) { shmem_long_put_nbi(block, big, SIZE_MAX / 8 + 9, 0); }
static void putmem_nine(void) { shmem_putmem_nbi(block, big, 65, 0); }
static void put32_nine(void) { shmem_put32(block, big, 17, 0); }
static void p_behind(void) { shmem_long_p(block + 8, 1, 0); }
static void g_far_behind(void) { shmem_long_g(block + 12, 0); }
static void get_nine(void) { shmem_long_get(big, block, 9, 0); }
static void getmem_nine(void) { shmem_ctx_getmem(SHMEM_CTX_DEFAULT, big, block, 65, 0); }
static void put_to_freed(void) { shmem_long_put(old, big, 1, 0); }
static void signal_of_freed(void) { shmem_signal_wait_until((uint64_t*)old, SHMEM_CMP_EQ, 0); }

/* ---- The caller's side */

static void put_from_behind(void) { shmem_long_put(other, block + 4, 5, 0); }
static void put_from_freed(void) { shmem_long_put(big, old, 1, 0); }
static void put_from_null(void) { shmem_long_put(block, NULL, 1, 0); }
static void put_from_peer(void) { shmem_long_put(other, (long*)shmem_ptr(block, 0) + 4, 5, 0); }
static void put_from_high(void) { shmem_putmem(block, (void*)(UINTPTR_MAX - 7), 64, 0); }
static void get_into_four(void) { shmem_long_get(four, block, 5, 0); }
static void get_nbi_into_null(void) { shmem_long_get_nbi(NULL, block, 1, 0); }
static void get_into_member(void) { shmem_long_get(compound.array + 1, block, 4, 0); }
static void fetch_into_behind(void) { shmem_long_atomic_fetch_add_nbi(block + 8, other, 1, 0); }

/* ---- Variables */

static void put_past_variable(void) { shmem_long_put(variable, big, 5, 0); }

/* ---- NULL */

static void put_to_null(void) { shmem_long_put(NULL, big, 2, 0); }

/* ---- Strides and blocks */

static void iput_four(void) { shmem_long_iput(block, big, 3, 1, 4, 0); }
static void iget_source(void) { shmem_long_iget(big, block, 1, 3, 4, 0); }
static void ibput_blocks(void) { shmem_long_ibput(block, big, 3, 2, 2, 4, 0); }
static void ibget_into(void) { shmem_long_ibget(block, big, 3, 2, 2, 4, 0); }
static void iput_wraps(void) { shmem_long_iput(block, big, PTRDIFF_MAX / 8, 1, 4, 0); }

/* ---- Signals, atomics, waits, locks */

static void payload_of_signal(void) {
  shmem_long_put_signal(block, big, 9, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
}
static void word_of_signal(void) {
  shmem_long_put_signal_nbi(block, big, 1, (uint64_t*)(block + 8), 1, SHMEM_SIGNAL_SET, 0);
}
static void signal_set_behind(void) { shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, (uint64_t*)(block + 8), 1, 0); }
static void fetch_add_behind(void) { shmem_long_atomic_fetch_add(block + 8, 1, 0); }
static void xor_behind(void) { shmem_ctx_uint64_atomic_xor(SHMEM_CTX_DEFAULT, (uint64_t*)(block + 8), 1, 0); }
static void fetch_freed(void) { shmem_long_atomic_fetch(old, 0); }
static void swap_nbi_behind(void) { shmem_long_atomic_swap_nbi(big, block + 8, 1, 0); }
static void max_behind(void) { shmemx_long_atomic_max(block + 8, 1, 0); }
static void wait_behind(void) { shmem_long_wait_until(block + 8, SHMEM_CMP_EQ, 0); }
static void wait_for_nine(void) { shmem_long_wait_until_all(block, 9, NULL, SHMEM_CMP_EQ, 0); }
static void indices_of_eight(void) {
  shmem_long_wait_until_some(block, 8, two_indices, NULL, SHMEM_CMP_EQ, 0);
}
static void status_of_eight(void) { shmem_long_test_any(block, 8, two_flags, SHMEM_CMP_EQ, 0); }
static void values_of_eight(void) { shmem_long_test_all_vector(block, 8, NULL, SHMEM_CMP_EQ, four); }
static void lock_behind(void) { shmem_set_lock(block + 8); }
static void pes_of_three(void) { shmem_pe_quiet(two_pes, 3); }

/* ---- Collectives */

static void broadcast_nine(void) { shmem_long_broadcast(SHMEM_TEAM_WORLD, big, block, 9, 0); }
static void reduce_nine(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, big, 9); }
static void fcollect_nine(void) { shmem_long_fcollect(SHMEM_TEAM_WORLD, block, big, 9); }
static void collectmem_nine(void) { shmem_collectmem(SHMEM_TEAM_WORLD, block, big, 65); }
static void alltoall_nine(void) { shmem_long_alltoall(SHMEM_TEAM_WORLD, big, block, 9); }
static void alltoalls_five(void) { shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, big, 2, 1, 5); }
static void scan_nine(void) { shmem_long_sum_exscan(SHMEM_TEAM_WORLD, block, big, 9); }
static void barrier_sync(void) { shmem_barrier(0, 0, 1, sync_four); }
static void to_all_nine(void) { shmem_long_sum_to_all(block, big, 9, 0, 0, 1, NULL, sync_whole); }
static void to_all_work(void) { shmem_long_sum_to_all(block, big, 4, 0, 0, 1, work, sync_whole); }
static void broadcast64_sync(void) { shmem_broadcast64(block, big, 4, 0, 0, 0, 1, sync_four); }

/* ---- Blocks that are freed, and their sizes */

static void free_middle(void) { shmem_free(block + 1); }
static void free_twice(void) { shmem_free(old); }
static void realloc_behind(void) { shmem_realloc(block + 8, 100); }
static void put_to_moved(void) { shmem_long_put(old, big, 1, 0); }
static void put_to_shrunk(void) { shmem_long_put(block, big, 5, 0); }

/* ---- Places for results */

static void name_short(void) { shmem_info_get_name(short_name); }

/* ---- Tables */

static shmemx_kv_t table;
static char four_bytes[4], many_bytes[256];

static void make_table(void) {
  prepare();
  if (shmemx_kv_create(&(shmemx_kv_options_t){.key_bytes = 8, .value_bytes = 64, .capacity = 100}, &table) !=
      0)
    abort();
}
static void kv_key(void) { shmemx_kv_put(table, four_bytes, 8, many_bytes, 8); }
static void kv_value(void) { shmemx_kv_put(table, many_bytes, 8, four_bytes, 8); }
static void kv_value_null(void) { shmemx_kv_insert(table, many_bytes, 8, NULL, 8); }
static void kv_room(void) { shmemx_kv_get(table, many_bytes, 8, four_bytes, 64, NULL); }
static void kv_get_nbi_length(void) {
  shmemx_kv_get_nbi(table, many_bytes, 8, many_bytes + 64, 64, (size_t*)(block + 8), NULL);
}
static void kv_operand(void) {
  shmemx_kv_upsert(table, many_bytes, 8, SHMEMX_KV_INT64, SHMEMX_KV_ADD, four_bytes, NULL);
}
static void kv_keys(void) { shmemx_kv_put_batch(table, 33, many_bytes, 8, block, 0, NULL); }
static void kv_statuses(void) { shmemx_kv_contains_batch(table, 3, many_bytes, 8, two_flags); }
static void kv_call_in_batch(void) {
  shmemx_kv_call_t calls[2] = {
      {.call = SHMEMX_KV_CONTAINS, .key = many_bytes, .key_bytes = 8},
      {.call = SHMEMX_KV_GET, .key = many_bytes, .key_bytes = 8, .old = four_bytes, .room = 8}};
  shmemx_kv_batch(table, 2, calls);
}
static void kv_apply_old(void) {
  shmemx_kv_apply(table, many_bytes, 8, 0, many_bytes, 8, four_bytes, 8, NULL);
}
static void kv_scan_keys(void) {
  uint64_t cursor = 0;
  size_t n;
  shmemx_kv_scan(table, 0, &cursor, 33, many_bytes, 8, NULL, NULL, 0, NULL, &n);
}

#define PLACE "(at [^ ]*full_checks.c:[0-9]+|in [a-z_]+ .[^ ]*.)"
#define AND_BYTES "0x[0-9a-f]+ and the [0-9]+ bytes from there reach past the end of "
#define THE_BLOCK "the block of 64 bytes at 0x[0-9a-f]+ that shmem_calloc " PLACE " has made"
#define PAST_BLOCK AND_BYTES THE_BLOCK "; allowed are at most "
#define BEHIND \
  "0x[0-9a-f]+ lies in no block, [0-9]+ bytes behind the end of " THE_BLOCK "; allowed are memory from"
#define PAST(variable, bytes, most)                                                                \
  AND_BYTES "the variable " variable ", " bytes " bytes at 0x[0-9a-f]+; allowed are at most " most \
            " bytes from there$"
#define WAS_FREED(by)                                         \
  "0x[0-9a-f]+ lies in " THE_BLOCK ", and that " by " " PLACE \
  " has freed; allowed are blocks until they are freed$"

static const struct {
  const char *name, *what;
  void (*prepare)(void), (*call)(void);
} cases[] = {
    {"shmem_long_put", "dest " PAST_BLOCK "64 bytes from there$", prepare, put_nine},
    {"shmem_long_put", "dest " PAST_BLOCK "32 bytes from there$", prepare, put_from_the_middle},
    {"shmem_long_put_nbi",
     "dest 0x[0-9a-f]+ and more bytes than can be counted reach past the end of the block", prepare, put_far},
    {"shmem_putmem_nbi", "dest " PAST_BLOCK, prepare, putmem_nine},
    {"shmem_put32", "dest " PAST_BLOCK, prepare, put32_nine},
    {"shmem_long_p", "dest " BEHIND, prepare, p_behind},
    {"shmem_long_g", "source 0x[0-9a-f]+ lies in no block, 32 bytes behind", prepare, g_far_behind},
    {"shmem_long_get", "source " PAST_BLOCK, prepare, get_nine},
    {"shmem_ctx_getmem", "source " PAST_BLOCK, prepare, getmem_nine},
    {"shmem_long_put", "dest " WAS_FREED("shmem_free"), prepare_freed, put_to_freed},
    {"shmem_signal_wait_until", "sig_addr " WAS_FREED("shmem_free"), prepare_freed, signal_of_freed},

    {"shmem_long_put", "source " PAST_BLOCK "32 bytes from there$", prepare, put_from_behind},
    {"shmem_long_put", "source " WAS_FREED("shmem_free"), prepare_freed, put_from_freed},
    {"shmem_long_put", "source is NULL; allowed is memory of 8 bytes$", prepare, put_from_null},
    {"shmem_long_put", "source " PAST_BLOCK "32 bytes from there$", prepare, put_from_peer},
    {"shmem_putmem", "source 0x[0-9a-f]+ and the bytes from there, 64, are more than a process has", prepare,
     put_from_high},
    {"shmem_long_get", "dest " PAST("four", "32", "32"), prepare, get_into_four},
    {"shmem_long_get_nbi", "dest is NULL; allowed is memory of 8 bytes$", prepare, get_nbi_into_null},
    {"shmem_long_get", "dest " PAST("compound", "40", "24"), prepare, get_into_member},
    {"shmem_long_atomic_fetch_add_nbi", "fetch " BEHIND, prepare, fetch_into_behind},

    {"shmem_long_put", "dest " PAST("variable", "32", "32"), prepare, put_past_variable},

    {"shmem_long_put",
     "dest NULL is not a symmetric address, and 16 bytes are needed there; allowed are memory", prepare,
     put_to_null},

    {"shmem_long_iput", "dest " PAST_BLOCK, prepare, iput_four},
    {"shmem_long_iget", "source " PAST_BLOCK, prepare, iget_source},
    {"shmem_long_ibput", "dest " PAST_BLOCK, prepare, ibput_blocks},
    {"shmem_long_ibget", "dest " PAST_BLOCK, prepare, ibget_into},
    {"shmem_long_iput", "dest 0x[0-9a-f]+ and .* reach past the end of the block", prepare, iput_wraps},

    {"shmem_long_put_signal", "dest " PAST_BLOCK, prepare, payload_of_signal},
    {"shmem_long_put_signal_nbi", "sig_addr " BEHIND, prepare, word_of_signal},
    {"shmem_ctx_signal_set", "sig_addr " BEHIND, prepare, signal_set_behind},
    {"shmem_long_atomic_fetch_add", "dest " BEHIND, prepare, fetch_add_behind},
    {"shmem_ctx_uint64_atomic_xor", "dest " BEHIND, prepare, xor_behind},
    {"shmem_long_atomic_fetch", "source " WAS_FREED("shmem_free"), prepare_freed, fetch_freed},
    {"shmem_long_atomic_swap_nbi", "dest " BEHIND, prepare, swap_nbi_behind},
    {"shmemx_long_atomic_max", "dest " BEHIND, prepare, max_behind},
    {"shmem_long_wait_until", "ivar " BEHIND, prepare, wait_behind},
    {"shmem_long_wait_until_all", "ivars " PAST_BLOCK, prepare, wait_for_nine},
    {"shmem_long_wait_until_some", "indices " PAST("two_indices", "16", "16"), prepare, indices_of_eight},
    {"shmem_long_test_any", "status " PAST("two_flags", "8", "8"), prepare, status_of_eight},
    {"shmem_long_test_all_vector", "cmp_values " PAST("four", "32", "32"), prepare, values_of_eight},
    {"shmem_set_lock", "lock " BEHIND, prepare, lock_behind},
    {"shmem_pe_quiet", "target_pes " PAST("two_pes", "8", "8"), prepare, pes_of_three},

    {"shmem_long_broadcast", "source " PAST_BLOCK, prepare, broadcast_nine},
    {"shmem_long_sum_reduce", "dest " PAST_BLOCK, prepare, reduce_nine},
    {"shmem_long_fcollect", "dest " PAST_BLOCK, prepare, fcollect_nine},
    {"shmem_collectmem", "dest " PAST_BLOCK, prepare, collectmem_nine},
    {"shmem_long_alltoall", "source " PAST_BLOCK, prepare, alltoall_nine},
    {"shmem_long_alltoalls", "dest " PAST_BLOCK, prepare, alltoalls_five},
    {"shmem_long_sum_exscan", "dest " PAST_BLOCK, prepare, scan_nine},
    {"shmem_barrier", "pSync " PAST("sync_four", "32", "32"), prepare, barrier_sync},
    {"shmem_long_sum_to_all", "dest " PAST_BLOCK, prepare, to_all_nine},
    {"shmem_long_sum_to_all", "pWrk " PAST("work", "8", "8"), prepare, to_all_work},
    {"shmem_broadcast64", "pSync " PAST("sync_four", "32", "32"), prepare, broadcast64_sync},

    {"shmem_free",
     "ptr 0x[0-9a-f]+ is not the start of an allocated block: it lies 8 bytes into " THE_BLOCK "$", prepare,
     free_middle},
    {"shmem_free",
     "ptr 0x[0-9a-f]+ is not the start of an allocated block: shmem_free " PLACE " has freed " THE_BLOCK "$",
     prepare_freed, free_twice},
    {"shmem_realloc",
     "ptr 0x[0-9a-f]+ is not the start of an allocated block: lies in no block, 0 bytes behind", prepare,
     realloc_behind},
    {"shmem_long_put", "dest " WAS_FREED("shmem_realloc"), prepare_moved, put_to_moved},
    {"shmem_long_put", "dest " AND_BYTES "the block of 32 bytes at 0x[0-9a-f]+ that shmem_realloc",
     prepare_shrunk, put_to_shrunk},

    {"shmem_info_get_name", "name " PAST("short_name", "8", "8"), prepare, name_short},

    {"shmemx_kv_put", "key " PAST("four_bytes", "4", "4"), make_table, kv_key},
    {"shmemx_kv_put", "val " PAST("four_bytes", "4", "4"), make_table, kv_value},
    {"shmemx_kv_insert", "val is NULL; allowed is memory of 8 bytes$", make_table, kv_value_null},
    {"shmemx_kv_get", "val " PAST("four_bytes", "4", "4"), make_table, kv_room},
    {"shmemx_kv_get_nbi", "value_bytes " BEHIND, make_table, kv_get_nbi_length},
    {"shmemx_kv_upsert", "operand " PAST("four_bytes", "4", "4"), make_table, kv_operand},
    {"shmemx_kv_put_batch", "keys " PAST("many_bytes", "256", "256"), make_table, kv_keys},
    {"shmemx_kv_contains_batch", "status " PAST("two_flags", "8", "8"), make_table, kv_statuses},
    {"shmemx_kv_batch", "old " PAST("four_bytes", "4", "4"), make_table, kv_call_in_batch},
    {"shmemx_kv_apply", "old " PAST("four_bytes", "4", "4"), make_table, kv_apply_old},
    {"shmemx_kv_scan", "keys " PAST("many_bytes", "256", "256"), make_table, kv_scan_keys},
};

int main(void) {
  setenv("SHMEM_CHECKS", "full", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    expect_refusal(cases[i].name, cases[i].what, cases[i].prepare, cases[i].call);
  return report_cases();
}

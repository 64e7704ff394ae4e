/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls, by name: `bad_calls <name>`.  PE 0 makes one, the other PEs wait in a barrier. */
#include <string.h>

#include "check.h"

static long variable[4];
static uint64_t signal_word;
static long *block, *no_block, local[4];
static size_t heap_end; /* bytes from block to well beyond the heap's end */

/* PE numbers. */
static void put_negative(void) { shmem_long_put(block, block, 1, -1); }
static void put_too_high(void) { shmem_long_put(variable, block, 1, shmem_n_pes()); }
static void get_negative(void) { shmem_long_get(local, block, 1, -1); }
static void get_nbi_too_high(void) { shmem_long_get_nbi(local, block, 1, shmem_n_pes()); }
static void p_too_high(void) { shmem_long_p(block, 1, 1000000); }
static void g_negative(void) { shmem_long_g(block, INT32_MIN); }
static void putmem_empty(void) { shmem_putmem(NULL, NULL, 0, -1); }
static void put32_too_high(void) { shmem_put32(block, block, 1, shmem_n_pes()); }
static void add_negative(void) { shmem_long_atomic_add(block, 1, -1); }
static void fetch_too_high(void) { shmem_long_atomic_fetch(block, shmem_n_pes()); }
static void iput_too_high(void) { shmem_long_iput(block, block, 1, 1, 1, shmem_n_pes()); }
static void iget_negative(void) { shmem_long_iget(local, block, 1, 1, 1, -1); }
static void put_signal_too_high(void) {
  shmem_long_put_signal(block, local, 1, &signal_word, 1, SHMEM_SIGNAL_SET, shmem_n_pes());
}
static void signal_add_negative(void) { shmem_signal_add(&signal_word, 1, -1); }
static void pe_quiet_too_high(void) { shmem_pe_quiet(&(int){shmem_n_pes()}, 1); }

/* Addresses. */
static void put_to_stack(void) {
  long stack = 0;
  shmem_long_put(&stack, block, 1, right_pe());
}
static void put_to_private(void) { shmem_putmem(no_block, block, 8, right_pe()); }
static void put_to_null(void) { shmem_long_put(NULL, block, 1, right_pe()); }
static void p_to_private(void) { shmem_long_p(no_block, 1, right_pe()); }
static void get_from_stack(void) {
  long stack = 0;
  shmem_long_get(local, &stack, 1, right_pe());
}
static void get_from_private(void) { shmem_long_get_nbi(local, no_block, 1, right_pe()); }
static void g_from_null(void) { shmem_long_g(NULL, right_pe()); }
static void add_to_private(void) { shmem_long_atomic_add(no_block, 1, right_pe()); }
static void fetch_from_private(void) { shmem_long_atomic_fetch(no_block, right_pe()); }
static void iput_to_private(void) { shmem_long_iput(no_block, local, 1, 1, 1, right_pe()); }
static void iget_from_private(void) { shmem_long_iget(local, no_block, 1, 1, 1, right_pe()); }
static void signal_in_private(void) {
  shmem_long_put_signal(block, local, 1, (uint64_t*)no_block, 1, SHMEM_SIGNAL_SET, right_pe());
}
static void payload_in_private(void) {
  shmem_long_put_signal(no_block, local, 1, &signal_word, 1, SHMEM_SIGNAL_SET, right_pe());
}
static void wait_on_private(void) { shmem_long_wait_until(no_block, SHMEM_CMP_EQ, 0); }
static void test_on_private(void) { shmem_long_test(no_block, SHMEM_CMP_EQ, 0); }
static void wait_all_on_private(void) { shmem_long_wait_until_all(no_block, 2, NULL, SHMEM_CMP_EQ, 0); }
static void signal_wait_on_private(void) { shmem_signal_wait_until((uint64_t*)no_block, SHMEM_CMP_EQ, 0); }

/* Ranges. */
static void put_past_heap(void) { shmem_putmem(block, block, heap_end, right_pe()); }
static void get_past_heap(void) { shmem_getmem(block, block, heap_end, right_pe()); }
static void iput_past_heap(void) { shmem_long_iput(block, block, 1 << 20, 1, 4096, right_pe()); }
static void put_wraps(void) { shmem_long_put(block, local, SIZE_MAX / 8 + 2, right_pe()); }
static void put64_nbi_wraps(void) { shmem_put64_nbi(block, local, SIZE_MAX / 8 + 2, right_pe()); }
static void iput_wraps(void) {
  shmem_long_iput(block, local, (ptrdiff_t)1 << 32, 1, (1 << 29) + 1, right_pe());
}
static void ibput_wraps(void) { shmem_long_ibput(block, local, 1, 1, SIZE_MAX / 8 + 2, 2, right_pe()); }
static void put_below_heap(void) { shmem_long_p(block - 512, 1, right_pe()); }
static void put_past_statics(void) { shmem_putmem(variable, block, (size_t)1 << 30, right_pe()); }

/* Memory. */
static void free_twice(void) {
  for (int i = 0; i < 2; ++i) shmem_free(block);
}
static void free_private(void) { shmem_free(no_block); }
static void free_middle(void) { shmem_free(block + 1); }
static void free_variable(void) { shmem_free(variable); }
// What a program does that looks at the result.
static void stop_without(const void* result) {
  if (result == NULL) shmem_global_exit(EXIT_FAILURE);
}
static void realloc_private(void) { shmem_realloc(no_block, 100); }
static void realloc_freed(void) {
  shmem_free(block);
  stop_without(shmem_realloc(block, 100));
}
static void align_3(void) { stop_without(shmem_align(3, 8)); }
static void align_24(void) { stop_without(shmem_align(24, 8)); }
static void align_0(void) { stop_without(shmem_align(0, 8)); }
/* Semantics 34: undefined, and found out. */
static void different_sizes(void) { shmem_malloc(shmem_my_pe() == 0 ? 100 : 200); }

/* Operators, strides and contexts. */
static void cmp_wrong(void) { shmem_long_wait_until(block, 77, 0); }
static void cmp_negative(void) { shmem_int_test((int*)block, -1, 0); }
static void cmp_wrong_in_any(void) { shmem_long_wait_until_any(block, 1, NULL, 6, 0); }
static void put_signal_misaligned(void) {
  uint64_t* odd = (uint64_t*)(void*)((char*)block + 1);
  shmem_long_put_signal(block + 2, local, 1, odd, 1, SHMEM_SIGNAL_SET, right_pe());
}
static void sig_op_wrong(void) { shmem_long_put_signal(block, local, 1, &signal_word, 1, 5, right_pe()); }
static void stride_0(void) { shmem_long_iput(block, local, 0, 1, 2, right_pe()); }
static void stride_negative(void) { shmem_long_iget(local, block, 1, -1, 2, right_pe()); }
static void stride_below_block(void) { shmem_long_ibput(block, local, 1, 2, 2, 2, right_pe()); }
static void ctx_invalid_put(void) { shmem_ctx_long_put(SHMEM_CTX_INVALID, block, local, 1, 0); }
static void ctx_invalid_add(void) { shmem_ctx_long_atomic_add(SHMEM_CTX_INVALID, block, 1, 0); }

/* Addresses of words that are not where a word can lie. */
static void* between(void* word, size_t bytes) { return (char*)word + bytes; }
static void add_misaligned(void) { shmem_long_atomic_add(between(block, 4), 1, right_pe()); }
static void fetch_misaligned(void) { shmem_long_atomic_fetch(between(block, 1), right_pe()); }
static void swap_misaligned(void) { shmem_int_atomic_swap(between(block, 2), 1, right_pe()); }
static void fetch_add_nbi_misaligned(void) {
  shmem_long_atomic_fetch_add_nbi(local, between(block, 7), 1, right_pe());
}
static void static_misaligned(void) { shmem_long_atomic_inc(between(variable, 4), right_pe()); }
static void signal_add_misaligned(void) { shmem_signal_add(between(block, 4), 1, right_pe()); }
static void signal_wait_misaligned(void) { shmem_signal_wait_until(between(block, 4), SHMEM_CMP_EQ, 0); }
static void wait_misaligned(void) { shmem_long_wait_until(between(block, 4), SHMEM_CMP_EQ, 0); }
static void test_misaligned(void) { shmem_int_test(between(block, 2), SHMEM_CMP_EQ, 0); }
static void wait_any_misaligned(void) {
  shmem_long_wait_until_any(between(block, 1), 2, NULL, SHMEM_CMP_EQ, 0);
}
static void lock_misaligned(void) { shmem_set_lock(between(block, 4)); }
static void test_lock_misaligned(void) { shmem_test_lock(between(variable, 2)); }
static void clear_lock_misaligned(void) { shmem_clear_lock(between(block, 1)); }

/* Counts whose bytes do not fit a size_t. */
static void wait_past_heap(void) {
  shmem_long_wait_until_all(block, SIZE_MAX / sizeof *block + 2, NULL, SHMEM_CMP_EQ, 0);
}
static void wait_any_past_heap(void) { shmem_long_wait_until_any(block, SIZE_MAX, NULL, SHMEM_CMP_NE, 0); }

/* Places for results. */
static void fetch_add_nbi_to_null(void) { shmem_long_atomic_fetch_add_nbi(NULL, block, 1, right_pe()); }
static void fetch_nbi_to_null(void) { shmem_long_atomic_fetch_nbi(NULL, block, right_pe()); }
static void cswap_nbi_to_null(void) { shmem_long_atomic_compare_swap_nbi(NULL, block, 1, 2, right_pe()); }
static void ctx_create_null(void) { shmem_ctx_create(0, NULL); }
static void team_create_ctx_null(void) { shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, NULL); }
static void ctx_get_team_null(void) { shmem_ctx_get_team(SHMEM_CTX_DEFAULT, NULL); }
static void split_null(void) { shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, NULL); }
static void split_2d_null(void) {
  shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &(shmem_team_t){0}, NULL, 0, NULL);
}
static void get_name_null(void) { shmem_info_get_name(NULL); }
static void get_version_null(void) { shmem_info_get_version(&(int){0}, NULL); }
static void query_thread_null(void) { shmem_query_thread(NULL); }
static void query_initialized_null(void) { shmem_query_initialized(NULL); }

/* Collectives: refused by each PE for itself, whether or not the data would ride in a message. */
static long big[8192], psync[SHMEM_REDUCE_SYNC_SIZE];
static void reduce_to_private(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, no_block, big, 1); }
static void reduce_from_private(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, big, no_block, 1); }
static void broadcast_to_private(void) { shmem_long_broadcast(SHMEM_TEAM_WORLD, no_block, big, 1, 0); }
static void collect_from_private(void) { shmem_long_collect(SHMEM_TEAM_WORLD, big, no_block, 1); }
static void fcollect_to_private(void) { shmem_long_fcollect(SHMEM_TEAM_WORLD, no_block, big, 1); }
static void alltoall_from_private(void) { shmem_long_alltoall(SHMEM_TEAM_WORLD, big, no_block, 1); }
static void alltoalls_to_private(void) { shmem_long_alltoalls(SHMEM_TEAM_WORLD, no_block, big, 1, 1, 1); }
static void scan_from_private(void) { shmem_long_sum_inscan(SHMEM_TEAM_WORLD, big, no_block, 1); }
static void reduce_to_private_large(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, no_block, big, 4096); }
static void reduce_from_private_large(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, big, no_block, 4096); }
static void broadcast_to_private_large(void) {
  shmem_long_broadcast(SHMEM_TEAM_WORLD, no_block, big, 4096, 0);
}
static void collect_from_private_large(void) { shmem_long_collect(SHMEM_TEAM_WORLD, big, no_block, 4096); }
static void fcollect_to_private_large(void) { shmem_long_fcollect(SHMEM_TEAM_WORLD, no_block, big, 4096); }
static void alltoall_from_private_large(void) { shmem_long_alltoall(SHMEM_TEAM_WORLD, big, no_block, 4096); }
static void alltoalls_to_private_large(void) {
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, no_block, big, 1, 1, 4096);
}
static void scan_from_private_large(void) { shmem_long_sum_inscan(SHMEM_TEAM_WORLD, big, no_block, 4096); }
static void broadcast64_from_private(void) {
  shmem_broadcast64(big, no_block, 1, 0, 0, 0, shmem_n_pes(), psync);
}
static void to_all_to_private(void) {
  shmem_long_sum_to_all(no_block, big, 1, 0, 0, shmem_n_pes(), NULL, psync);
}
static void fcollect64_to_private(void) { shmem_fcollect64(no_block, big, 1, 0, 0, shmem_n_pes(), psync); }
static void not_a_member(void) { shmem_barrier(1, 0, 1, psync); }
static void fcollect_past_heap(void) { shmem_long_fcollect(SHMEM_TEAM_WORLD, big, big, heap_end / 16); }

#define CASE(NAME) \
  { #NAME, NAME }
static const struct {
  const char* name;
  void (*call)(void);
} cases[] = {
    CASE(put_negative),
    CASE(put_too_high),
    CASE(get_negative),
    CASE(get_nbi_too_high),
    CASE(p_too_high),
    CASE(g_negative),
    CASE(putmem_empty),
    CASE(put32_too_high),
    CASE(add_negative),
    CASE(fetch_too_high),
    CASE(iput_too_high),
    CASE(iget_negative),
    CASE(put_signal_too_high),
    CASE(signal_add_negative),
    CASE(pe_quiet_too_high),
    CASE(put_to_stack),
    CASE(put_to_private),
    CASE(put_to_null),
    CASE(p_to_private),
    CASE(get_from_stack),
    CASE(get_from_private),
    CASE(g_from_null),
    CASE(add_to_private),
    CASE(fetch_from_private),
    CASE(iput_to_private),
    CASE(iget_from_private),
    CASE(signal_in_private),
    CASE(payload_in_private),
    CASE(wait_on_private),
    CASE(test_on_private),
    CASE(wait_all_on_private),
    CASE(signal_wait_on_private),
    CASE(put_past_heap),
    CASE(get_past_heap),
    CASE(iput_past_heap),
    CASE(put_past_statics),
    CASE(free_twice),
    CASE(free_private),
    CASE(free_middle),
    CASE(free_variable),
    CASE(realloc_private),
    CASE(realloc_freed),
    CASE(align_3),
    CASE(align_24),
    CASE(align_0),
    CASE(different_sizes),
    CASE(cmp_wrong),
    CASE(cmp_negative),
    CASE(cmp_wrong_in_any),
    CASE(sig_op_wrong),
    CASE(stride_0),
    CASE(stride_negative),
    CASE(stride_below_block),
    CASE(ctx_invalid_put),
    CASE(ctx_invalid_add),
    CASE(add_misaligned),
    CASE(fetch_misaligned),
    CASE(swap_misaligned),
    CASE(fetch_add_nbi_misaligned),
    CASE(static_misaligned),
    CASE(signal_add_misaligned),
    CASE(signal_wait_misaligned),
    CASE(wait_misaligned),
    CASE(test_misaligned),
    CASE(wait_any_misaligned),
    CASE(lock_misaligned),
    CASE(test_lock_misaligned),
    CASE(clear_lock_misaligned),
    CASE(wait_past_heap),
    CASE(put_wraps),
    CASE(put64_nbi_wraps),
    CASE(iput_wraps),
    CASE(ibput_wraps),
    CASE(put_below_heap),
    CASE(put_signal_misaligned),
    CASE(wait_any_past_heap),
    CASE(fetch_add_nbi_to_null),
    CASE(fetch_nbi_to_null),
    CASE(cswap_nbi_to_null),
    CASE(ctx_create_null),
    CASE(team_create_ctx_null),
    CASE(ctx_get_team_null),
    CASE(split_null),
    CASE(split_2d_null),
    CASE(get_name_null),
    CASE(get_version_null),
    CASE(query_thread_null),
    CASE(query_initialized_null),
    CASE(reduce_to_private),
    CASE(reduce_from_private),
    CASE(broadcast_to_private),
    CASE(collect_from_private),
    CASE(fcollect_to_private),
    CASE(alltoall_from_private),
    CASE(alltoalls_to_private),
    CASE(scan_from_private),
    CASE(reduce_to_private_large),
    CASE(reduce_from_private_large),
    CASE(broadcast_to_private_large),
    CASE(collect_from_private_large),
    CASE(fcollect_to_private_large),
    CASE(alltoall_from_private_large),
    CASE(alltoalls_to_private_large),
    CASE(scan_from_private_large),
    CASE(broadcast64_from_private),
    CASE(to_all_to_private),
    CASE(fcollect64_to_private),
    CASE(fcollect_past_heap),
    CASE(not_a_member),
};

/* These are collective. */
static int everybody_calls(const char* name) {
  static const char* const names[] = {"free_twice", "free_middle", "realloc_freed", "different_sizes"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(name, names[i]) == 0) return 1;
  return 0;
}

int main(int count, char** arguments) {
  shmem_init();
  block = shmem_calloc(4, sizeof *block);
  heap_end = (size_t)1 << 40;
  no_block = calloc(4, sizeof *no_block);
  for (size_t i = 0; count == 2 && i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, arguments[1]) != 0) continue;
    if (shmem_my_pe() == 0 || everybody_calls(arguments[1])) cases[i].call();
    shmem_barrier_all();
    break;
  }
  shmem_finalize();
  return 0; /* which the test takes for a failure */
}

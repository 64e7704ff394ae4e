/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls, by name: `bad_calls <name>`.  PE 0 makes one, the other PEs wait in a barrier.  Here is what
 * may go another way between PEs, on a node or across; the rest is in bad_addresses.c and its neighbours. */
#include <shmemx.h>
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
static void add_negative(void) { shmem_long_atomic_add(block, 1, -1); }
static void max_negative(void) { shmemx_long_atomic_max(block, 1, -1); }
static void put_signal_too_high(void) {
  shmem_long_put_signal(block, local, 1, &signal_word, 1, SHMEM_SIGNAL_SET, shmem_n_pes());
}

/* Addresses. */
static void put_to_stack(void) {
  long stack = 0;
  shmem_long_put(&stack, block, 1, right_pe());
}
static void put_to_private(void) { shmem_putmem(no_block, block, 8, right_pe()); }
static void get_from_stack(void) {
  long stack = 0;
  shmem_long_get(local, &stack, 1, right_pe());
}
static void add_to_private(void) { shmem_long_atomic_add(no_block, 1, right_pe()); }
static void iput_to_private(void) { shmem_long_iput(no_block, local, 1, 1, 1, right_pe()); }
static void signal_in_private(void) {
  shmem_long_put_signal(block, local, 1, (uint64_t*)no_block, 1, SHMEM_SIGNAL_SET, right_pe());
}
static void wait_on_private(void) { shmem_long_wait_until(no_block, SHMEM_CMP_EQ, 0); }

/* Ranges. */
static void put_past_heap(void) { shmem_putmem(block, block, heap_end, right_pe()); }
static void get_past_heap(void) { shmem_getmem(block, block, heap_end, right_pe()); }
static void iput_past_heap(void) { shmem_long_iput(block, block, 1 << 20, 1, 4096, right_pe()); }
static void put_wraps(void) { shmem_long_put(block, local, SIZE_MAX / 8 + 2, right_pe()); }
static void iput_wraps(void) {
  shmem_long_iput(block, local, (ptrdiff_t)1 << 32, 1, (1 << 29) + 1, right_pe());
}
static void put_below_heap(void) { shmem_long_p(block - 512, 1, right_pe()); }
static void put_past_statics(void) { shmem_putmem(variable, block, (size_t)1 << 30, right_pe()); }

/* Memory. */
static void free_twice(void) {
  for (int i = 0; i < 2; ++i) shmem_free(block);
}
/* Semantics 34: undefined, and found out. */
static void different_sizes(void) { shmem_malloc(shmem_my_pe() == 0 ? 100 : 200); }

/* Operators, strides and contexts. */
static void sig_op_wrong(void) { shmem_long_put_signal(block, local, 1, &signal_word, 1, 5, right_pe()); }
static void stride_0(void) { shmem_long_iput(block, local, 0, 1, 2, right_pe()); }

/* Addresses of words that are not where a word can lie. */
static void* between(void* word, size_t bytes) { return (char*)word + bytes; }
static void add_misaligned(void) { shmem_long_atomic_add(between(block, 4), 1, right_pe()); }
static void fetch_misaligned(void) { shmem_long_atomic_fetch(between(block, 1), right_pe()); }
static void fetch_add_nbi_misaligned(void) {
  shmem_long_atomic_fetch_add_nbi(local, between(block, 7), 1, right_pe());
}
static void fetch_min_misaligned(void) { shmemx_long_atomic_fetch_min(between(block, 4), 1, right_pe()); }
static void signal_add_misaligned(void) { shmem_signal_add(between(block, 4), 1, right_pe()); }

/* Places for results. */
static void fetch_add_nbi_to_null(void) { shmem_long_atomic_fetch_add_nbi(NULL, block, 1, right_pe()); }
static void fetch_max_nbi_to_null(void) { shmemx_long_atomic_fetch_max_nbi(NULL, block, 1, right_pe()); }
static void fetch_nbi_to_null(void) { shmem_long_atomic_fetch_nbi(NULL, block, right_pe()); }
static void cswap_nbi_to_null(void) { shmem_long_atomic_compare_swap_nbi(NULL, block, 1, 2, right_pe()); }

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

#define CASE(NAME) \
  { #NAME, NAME }
static const struct {
  const char* name;
  void (*call)(void);
} cases[] = {
    CASE(put_negative),
    CASE(put_too_high),
    CASE(get_negative),
    CASE(add_negative),
    CASE(max_negative),
    CASE(put_signal_too_high),
    CASE(put_to_stack),
    CASE(put_to_private),
    CASE(get_from_stack),
    CASE(add_to_private),
    CASE(iput_to_private),
    CASE(signal_in_private),
    CASE(wait_on_private),
    CASE(put_past_heap),
    CASE(get_past_heap),
    CASE(iput_past_heap),
    CASE(put_past_statics),
    CASE(free_twice),
    CASE(different_sizes),
    CASE(sig_op_wrong),
    CASE(stride_0),
    CASE(add_misaligned),
    CASE(fetch_misaligned),
    CASE(fetch_add_nbi_misaligned),
    CASE(fetch_min_misaligned),
    CASE(signal_add_misaligned),
    CASE(put_wraps),
    CASE(iput_wraps),
    CASE(put_below_heap),
    CASE(fetch_add_nbi_to_null),
    CASE(fetch_max_nbi_to_null),
    CASE(fetch_nbi_to_null),
    CASE(cswap_nbi_to_null),
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
    CASE(not_a_member),
};

/* These are collective. */
static int everybody_calls(const char* name) {
  static const char* const names[] = {"free_twice", "different_sizes"};
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

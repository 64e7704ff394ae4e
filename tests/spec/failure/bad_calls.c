/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls of a job: those that may go another way between PEs, on a node or across; the rest is in
 * bad_addresses.c and its neighbours.  PE 0 makes them all, each in a copy of itself; `bad_calls <name>`
 * makes one that ends the job. */
#include <shmemx.h>

#include "check.h"
#include "refused.h"

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
static void different_calls(void) {
  if (shmem_my_pe() == 0) shmem_free(block);
  if (shmem_my_pe() != 0) shmem_malloc(64);
}
static void different_alignments(void) { shmem_align(shmem_my_pe() == 0 ? 64 : 128, 100); }
static void different_hints(void) {
  shmem_malloc_with_hints(100, shmem_my_pe() == 0 ? SHMEM_MALLOC_ATOMICS_REMOTE : 0);
}

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
/* There is room for one PE's part, but not for both. */
enum { kPart = 40 << 20 };
static void fcollect_to_one_part(void) { shmem_fcollectmem(SHMEM_TEAM_WORLD, block, no_block, kPart); }
static void alltoalls_to_one_part(void) { shmem_alltoallsmem(SHMEM_TEAM_WORLD, block, big, kPart, 1, 2); }
static void alltoalls_from_one_part(void) { shmem_alltoallsmem(SHMEM_TEAM_WORLD, big, block, 1, kPart, 2); }
static void fcollect64_to_one_part(void) {
  shmem_fcollect64(block, no_block, kPart / 8, 0, 0, shmem_n_pes(), psync);
}
static void alltoalls64_to_one_part(void) {
  shmem_alltoalls64(block, big, kPart / 8, 1, 2, 0, 0, shmem_n_pes(), psync);
}
static void alltoalls64_from_one_part(void) {
  shmem_alltoalls64(big, block, 1, kPart / 8, 2, 0, 0, shmem_n_pes(), psync);
}
static void not_a_member(void) { shmem_barrier(1, 0, 1, psync); }

#define RANGE "allowed is 0 to 1$"
#define NOT_SYMMETRIC "0x[0-9a-f]+ is not a symmetric address; allowed are memory from shmem_malloc"
#define PAST_END "0x[0-9a-f]+ and the [0-9]+ bytes from there reach past the end of the"
#define MISALIGNED "0x[0-9a-f]+ is not aligned to"

static const struct {
  const char *name, *what;
  void (*call)(void);
} cases[] = {
    {"shmem_long_put", "pe is -1; " RANGE, put_negative},
    {"shmem_long_put", "pe is 2; " RANGE, put_too_high},
    {"shmem_long_get", "pe is -1; " RANGE, get_negative},
    {"shmem_long_atomic_add", "pe is -1; " RANGE, add_negative},
    {"shmemx_long_atomic_max", "pe is -1; " RANGE, max_negative},
    {"shmem_long_put_signal", "pe is 2; " RANGE, put_signal_too_high},
    {"shmem_long_put", "dest " NOT_SYMMETRIC, put_to_stack},
    {"shmem_putmem", "dest " NOT_SYMMETRIC, put_to_private},
    {"shmem_long_get", "source " NOT_SYMMETRIC, get_from_stack},
    {"shmem_long_atomic_add", "dest " NOT_SYMMETRIC, add_to_private},
    {"shmem_long_iput", "dest " NOT_SYMMETRIC, iput_to_private},
    {"shmem_long_put_signal", "sig_addr " NOT_SYMMETRIC, signal_in_private},
    {"shmem_long_wait_until", "ivar " NOT_SYMMETRIC, wait_on_private},
    {"shmem_putmem", "dest " PAST_END " symmetric heap", put_past_heap},
    {"shmem_getmem", "source " PAST_END " symmetric heap", get_past_heap},
    {"shmem_long_iput", "dest " PAST_END " symmetric heap", iput_past_heap},
    {"shmem_long_put", "dest " PAST_END " symmetric heap", put_wraps},
    {"shmem_long_iput", "dest " PAST_END " symmetric heap", iput_wraps},
    {"shmem_long_p", "dest 0x[0-9a-f]+ is not a symmetric address", put_below_heap},
    {"shmem_putmem", "dest " PAST_END " program's variables", put_past_statics},
    {"shmem_long_put_signal", "sig_op is 5; allowed are SHMEM_SIGNAL_SET", sig_op_wrong},
    {"shmem_long_iput", ".*dst.*; allowed is at least", stride_0},
    {"shmem_long_atomic_add", "dest " MISALIGNED " 8 bytes$", add_misaligned},
    {"shmem_long_atomic_fetch", "source " MISALIGNED " 8 bytes$", fetch_misaligned},
    {"shmem_long_atomic_fetch_add_nbi", "dest " MISALIGNED " 8 bytes$", fetch_add_nbi_misaligned},
    {"shmemx_long_atomic_fetch_min", "dest " MISALIGNED " 8 bytes$", fetch_min_misaligned},
    {"shmem_signal_add", "sig_addr " MISALIGNED " 8 bytes$", signal_add_misaligned},
    {"shmem_long_atomic_fetch_add_nbi", "fetch is NULL; allowed is the address", fetch_add_nbi_to_null},
    {"shmemx_long_atomic_fetch_max_nbi", "fetch is NULL; allowed is the address", fetch_max_nbi_to_null},
    {"shmem_long_atomic_fetch_nbi", "fetch is NULL; allowed is the address", fetch_nbi_to_null},
    {"shmem_long_atomic_compare_swap_nbi", "fetch is NULL; allowed is the address", cswap_nbi_to_null},
    {"shmem_long_sum_reduce", "dest " NOT_SYMMETRIC, reduce_to_private},
    {"shmem_long_sum_reduce", "source " NOT_SYMMETRIC, reduce_from_private},
    {"shmem_long_broadcast", "dest " NOT_SYMMETRIC, broadcast_to_private},
    {"shmem_long_collect", "source " NOT_SYMMETRIC, collect_from_private},
    {"shmem_long_fcollect", "dest " NOT_SYMMETRIC, fcollect_to_private},
    {"shmem_long_alltoall", "source " NOT_SYMMETRIC, alltoall_from_private},
    {"shmem_long_alltoalls", "dest " NOT_SYMMETRIC, alltoalls_to_private},
    {"shmem_long_sum_inscan", "source " NOT_SYMMETRIC, scan_from_private},
    {"shmem_long_sum_reduce", "dest " NOT_SYMMETRIC, reduce_to_private_large},
    {"shmem_long_sum_reduce", "source " NOT_SYMMETRIC, reduce_from_private_large},
    {"shmem_long_broadcast", "dest " NOT_SYMMETRIC, broadcast_to_private_large},
    {"shmem_long_collect", "source " NOT_SYMMETRIC, collect_from_private_large},
    {"shmem_long_fcollect", "dest " NOT_SYMMETRIC, fcollect_to_private_large},
    {"shmem_long_alltoall", "source " NOT_SYMMETRIC, alltoall_from_private_large},
    {"shmem_long_alltoalls", "dest " NOT_SYMMETRIC, alltoalls_to_private_large},
    {"shmem_long_sum_inscan", "source " NOT_SYMMETRIC, scan_from_private_large},
    {"shmem_broadcast64", "source " NOT_SYMMETRIC, broadcast64_from_private},
    {"shmem_long_sum_to_all", "dest " NOT_SYMMETRIC, to_all_to_private},
    {"shmem_fcollect64", "dest " NOT_SYMMETRIC, fcollect64_to_private},
    {"shmem_fcollectmem", "dest " PAST_END " symmetric heap", fcollect_to_one_part},
    {"shmem_alltoallsmem", "dest " PAST_END " symmetric heap", alltoalls_to_one_part},
    {"shmem_alltoallsmem", "source " PAST_END " symmetric heap", alltoalls_from_one_part},
    {"shmem_fcollect64", "dest " PAST_END " symmetric heap", fcollect64_to_one_part},
    {"shmem_alltoalls64", "dest " PAST_END " symmetric heap", alltoalls64_to_one_part},
    {"shmem_alltoalls64", "source " PAST_END " symmetric heap", alltoalls64_from_one_part},
    {"shmem_barrier", "PE_start 1, logPE_stride 0 and PE_size 1 do not include this PE", not_a_member},
};

/* One of them, and what needs all PEs: these end the job. */
static const struct {
  const char* name;
  void (*call)(void);
  int by_all;
} ends[] = {{"put_negative", put_negative, 0},       {"free_twice", free_twice, 1},
            {"different_calls", different_calls, 1}, {"different_alignments", different_alignments, 1},
            {"different_hints", different_hints, 1}, {"different_sizes", different_sizes, 1}};

static void end_job(const char* name) {
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i)
    if (strcmp(ends[i].name, name) == 0 && (ends[i].by_all || shmem_my_pe() == 0)) ends[i].call();
}

int main(int count, char** arguments) {
  shmem_init();
  block = shmem_calloc(4, sizeof *block);
  heap_end = (size_t)1 << 40;
  no_block = calloc(4, sizeof *no_block);
  if (count == 2) end_job(arguments[1]);
  for (size_t i = 0; count == 1 && shmem_my_pe() == 0 && i < sizeof cases / sizeof *cases; ++i)
    expect_refusal_in_job(cases[i].name, cases[i].what, cases[i].call);
  const int failed = cases_made > 0 && report_cases();
  shmem_barrier_all();
  shmem_finalize();
  return failed;
}

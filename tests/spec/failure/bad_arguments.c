/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that no call can do anything with: counts that overflow, PEs and roots that are not there, active
 * sets, pSync arrays and strides of wrong content, locks.  bad_calls.c has those that need a second PE. */
#include <limits.h>

#include "refused.h"

static long block_of_8[8], sync_[SHMEM_SYNC_SIZE], lock, *heap, *private_block;
static uint64_t signal_word;
static const size_t kWraps = SIZE_MAX / sizeof(long) + 2; /* longs: 8 bytes when it wraps around */

static long argument; /* of the case */

static void prepare(void) {
  heap = shmem_calloc(64, sizeof *heap);
  private_block = calloc(64, sizeof *private_block);
}

/* ---- Counts whose bytes wrap around, or do with the number of PEs or a stride */

static void get_wraps(void) { shmem_long_get(block_of_8, heap, kWraps, (int)argument); }
static void get_nbi_wraps(void) { shmem_long_get_nbi(block_of_8, heap, kWraps, (int)argument); }
static void put128_wraps(void) { shmem_put128(heap, block_of_8, SIZE_MAX / 16 + 2, (int)argument); }
static void iget_wraps(void) { shmem_long_iget(block_of_8, heap, 1, (ptrdiff_t)1 << 61, 9, (int)argument); }
static void ibget_wraps(void) { shmem_long_ibget(block_of_8, heap, 4, 4, 4, kWraps, (int)argument); }
static void put_signal_wraps(void) {
  shmem_long_put_signal(heap, block_of_8, kWraps, &signal_word, 1, SHMEM_SIGNAL_SET, (int)argument);
}
static void put_signal_nbi_wraps(void) {
  shmem_long_put_signal_nbi(heap, block_of_8, kWraps, &signal_word, 1, SHMEM_SIGNAL_SET, (int)argument);
}
static void test_some_wraps(void) {
  size_t found[8];
  shmem_long_test_some(heap, kWraps, found, NULL, (int)argument, 0);
}

static void broadcast_wraps(void) {
  shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, block_of_8, kWraps, (int)argument);
}
static void collect_wraps(void) {
  shmem_long_collect(SHMEM_TEAM_WORLD, heap, block_of_8, kWraps + (size_t)argument);
}
static void fcollect_wraps(void) {
  shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, block_of_8, kWraps + (size_t)argument);
}
static void alltoall_wraps(void) {
  shmem_long_alltoall(SHMEM_TEAM_WORLD, heap, block_of_8, kWraps + (size_t)argument);
}
static void alltoalls_wraps(void) {
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, block_of_8, 2, 2, SIZE_MAX / 16 + (size_t)argument);
}
static void reduce_wraps(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, block_of_8, kWraps + (size_t)argument);
}
static void scan_wraps(void) {
  shmem_long_sum_exscan(SHMEM_TEAM_WORLD, heap, block_of_8, kWraps + (size_t)argument);
}
static void broadcast32_wraps(void) {
  shmem_broadcast32(heap, block_of_8, SIZE_MAX / 4 + 2, (int)argument, 0, 0, 1, sync_);
}
static void collect64_wraps(void) {
  shmem_collect64(heap, block_of_8, kWraps + (size_t)argument, 0, 0, 1, sync_);
}
static void fcollect64_wraps(void) {
  shmem_fcollect64(heap, block_of_8, kWraps + (size_t)argument, 0, 0, 1, sync_);
}
static void alltoall64_wraps(void) {
  shmem_alltoall64(heap, block_of_8, kWraps + (size_t)argument, 0, 0, 1, sync_);
}
static void dst_of(void) {
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, block_of_8, (ptrdiff_t)argument, 1, 2);
}
static void sst_of(void) {
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, block_of_8, 1, (ptrdiff_t)argument, 2);
}
static void old_dst_of(void) {
  shmem_alltoalls64(heap, block_of_8, (ptrdiff_t)argument, 1, 2, 0, 0, 1, sync_);
}
static void nreduce_of(void) {
  static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  shmem_long_sum_to_all(heap, block_of_8, (int)argument, 0, 0, 1, work, sync_);
}

/* ---- Roots, active sets */

static void root_of(void) { shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, block_of_8, 1, (int)argument); }
static void old_root_of(void) { shmem_broadcast64(heap, block_of_8, 1, (int)argument, 0, 0, 1, sync_); }
static void start_of(void) { shmem_barrier((int)argument, 0, 1, sync_); }
static void log_stride_of(void) { shmem_sync(0, (int)argument, 1, sync_); }
static void stride_of_two(void) { shmem_sync(0, (int)argument, 2, sync_); }
static void size_of(void) { shmem_fcollect32(heap, block_of_8, 1, 0, 0, (int)argument, sync_); }

/* ---- pSync (semantics 127) */

static void psync_null(void) { shmem_barrier(0, 0, 1, NULL); }
static void psync_private(void) { shmem_broadcast64(heap, block_of_8, 1, 0, 0, 0, 1, private_block); }
static void psync_misaligned(void) { shmem_sync(0, 0, 1, (long*)(void*)((char*)sync_ + 4)); }
static void psync_with(void) {
  sync_[argument] = 42;
  shmem_fcollect64(heap, block_of_8, 1, 0, 0, 1, sync_);
}

/* The first two words count PEs that are here already. */
static void psync_arrived(void) {
  sync_[0] = argument;
  shmem_fcollect64(heap, block_of_8, 1, 0, 0, 1, sync_);
}
static void psync_released(void) {
  sync_[1] = argument;
  shmem_fcollect64(heap, block_of_8, 1, 0, 0, 1, sync_);
}

/* ---- Waiting, ordering, contexts, teams */

static void wait_some_null(void) {
  shmem_long_wait_until_some(heap, (size_t)argument, NULL, NULL, SHMEM_CMP_EQ, 0);
}
static void test_some_null(void) {
  shmem_long_test_some(heap, (size_t)argument, NULL, NULL, SHMEM_CMP_EQ, 0);
}
static void some_vector_null(void) {
  shmem_long_wait_until_some_vector(heap, (size_t)argument, NULL, NULL, SHMEM_CMP_EQ, block_of_8);
}
static void values_null(void) {
  shmem_long_test_all_vector(heap, (size_t)argument, NULL, SHMEM_CMP_EQ, NULL);
}
static void wait_values_null(void) {
  shmem_long_wait_until_any_vector(heap, (size_t)argument, NULL, SHMEM_CMP_EQ, NULL);
}
static void test_all_cmp(void) { shmem_long_test_all(heap, 2, NULL, (int)argument, 0); }
static void vector_cmp(void) { shmem_long_test_any_vector(heap, 2, NULL, (int)argument, block_of_8); }
static void signal_wait_cmp(void) { shmem_signal_wait_until(&signal_word, (int)argument, 0); }
static void signal_fetch_private(void) { shmem_signal_fetch((uint64_t*)private_block); }
static void test_some_private(void) {
  size_t found[8];
  shmem_long_test_some(private_block, (size_t)argument, found, NULL, SHMEM_CMP_EQ, 0);
}
static void pe_quiet_null(void) { shmem_pe_quiet(NULL, (size_t)argument); }
static void pe_quiet_of(void) { shmem_pe_quiet((const int[]){0, (int)argument}, 2); }

static shmem_ctx_t context_of_team(void) {
  shmem_team_t team;
  shmem_ctx_t ctx;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
  shmem_team_create_ctx(team, 0, &ctx);
  return ctx;
}
static void ctx_put_of(void) { shmem_ctx_long_p(context_of_team(), heap, 1, (int)argument); }
static void ctx_add_of(void) { shmem_ctx_long_atomic_add(context_of_team(), heap, 1, (int)argument); }
static void ctx_pe_quiet_of(void) { shmem_ctx_pe_quiet(context_of_team(), &(int){(int)argument}, 1); }
static void destroy_default(void) { shmem_ctx_destroy(SHMEM_CTX_DEFAULT); }
static void destroy_world(void) { shmem_team_destroy(SHMEM_TEAM_WORLD); }
static void destroy_shared(void) { shmem_team_destroy(SHMEM_TEAM_SHARED); }
static void config_null(void) { shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, NULL); }

/* ---- Locks (semantics 132) */

static void set_private(void) { shmem_set_lock(private_block); }
static void test_private(void) { shmem_test_lock(private_block); }
static void clear_private(void) { shmem_clear_lock(private_block); }
static void set_twice(void) {
  shmem_set_lock(&lock);
  shmem_set_lock(&lock);
}
static void clear_free(void) { shmem_clear_lock(&lock); }

static const struct {
  const char *name, *what;
  void (*call)(void);
  long argument;
} cases[] = {
    {"shmem_long_get", "source 0x", get_wraps, 0},
    {"shmem_long_get_nbi", " reach past the end of the symmetric heap", get_nbi_wraps, 0},
    {"shmem_put128", " reach past the end of the symmetric heap", put128_wraps, 0},
    {"shmem_long_iget", " reach past the end of the symmetric heap", iget_wraps, 0},
    {"shmem_long_ibget", " reach past the end of the symmetric heap", ibget_wraps, 0},
    {"shmem_long_put_signal", " reach past the end of the symmetric heap", put_signal_wraps, 0},
    {"shmem_long_put_signal_nbi", " reach past the end of the symmetric heap", put_signal_nbi_wraps, 0},
    {"shmem_long_test_some", "ivars 0x", test_some_wraps, SHMEM_CMP_EQ},
    {"shmem_long_broadcast", "nelems is 2305843009213693953, elements of 8 bytes for 1 PE\\(s\\);",
     broadcast_wraps, 0},
    {"shmem_long_collect", "nelems is 2305843009213693953", collect_wraps, 0},
    {"shmem_long_fcollect", "nelems is 2305843009213693953, elements of 8 bytes for 1 PE\\(s\\);",
     fcollect_wraps, 0},
    {"shmem_long_alltoall", "nelems is 2305843009213693953", alltoall_wraps, 0},
    {"shmem_long_alltoalls", "nelems is 1152921504606846977", alltoalls_wraps, 2},
    {"shmem_long_sum_reduce", "nelems is 2305843009213693953, elements of 8 bytes for 1 PE\\(s\\);",
     reduce_wraps, 0},
    {"shmem_long_sum_exscan", "nelems is 2305843009213693953", scan_wraps, 0},
    {"shmem_broadcast32", "nelems is 4611686018427387905, elements of 4 bytes for 1 PE\\(s\\);",
     broadcast32_wraps, 0},
    {"shmem_collect64", "nelems is 2305843009213693953, elements of 8 bytes for 1 PE\\(s\\);",
     collect64_wraps, 0},
    {"shmem_fcollect64", "nelems is 2305843009213693953, elements of 8 bytes for 1 PE\\(s\\);",
     fcollect64_wraps, 0},
    {"shmem_alltoall64", "nelems is 2305843009213693953", alltoall64_wraps, 0},
    {"shmem_long_alltoalls", "dst is 0; allowed is 1 and more", dst_of, 0},
    {"shmem_long_alltoalls", "dst is -3; allowed is 1 and more", dst_of, -3},
    {"shmem_long_alltoalls", "dst is 2305843009213693952 elements of 8 bytes;", dst_of, LONG_MAX / 4 + 1},
    {"shmem_long_alltoalls", "sst is 0; allowed is 1 and more", sst_of, 0},
    {"shmem_long_alltoalls", "sst is 9223372036854775807 elements", sst_of, LONG_MAX},
    {"shmem_alltoalls64", "dst is -1; allowed is 1 and more", old_dst_of, -1},
    {"shmem_long_sum_to_all", "nreduce is -1; allowed is 0 and more", nreduce_of, -1},
    {"shmem_long_sum_to_all", " reach past the end of the symmetric heap", nreduce_of, INT_MAX},

    {"shmem_long_broadcast", "PE_root is -1; allowed is 0 to 0", root_of, -1},
    {"shmem_long_broadcast", "PE_root is 1; allowed is 0 to 0", root_of, 1},
    {"shmem_broadcast64", "PE_root is 1; allowed is 0 to 0", old_root_of, 1},
    {"shmem_barrier", "PE_start -1,", start_of, -1},
    {"shmem_barrier", "PE_start 1,", start_of, 1},
    {"shmem_sync", "logPE_stride is -1; allowed is 0 to 30", log_stride_of, -1},
    {"shmem_sync", "logPE_stride is 31; allowed is 0 to 30", stride_of_two, 31},
    {"shmem_sync", "PE_start 0, logPE_stride 1 and PE_size 2 name PEs up to 2; allowed are PEs 0 to 0",
     stride_of_two, 1},
    {"shmem_sync", "logPE_stride 30 and PE_size 2 name PEs up to 1073741824;", stride_of_two, 30},
    {"shmem_fcollect32", " and PE_size 0 name PEs up to -1; allowed are PEs 0 to 0", size_of, 0},
    {"shmem_fcollect32", " and PE_size -5 name PEs", size_of, -5},
    {"shmem_fcollect32", " and PE_size 2 name PEs up to 1; allowed are PEs 0 to 0", size_of, 2},
    {"shmem_fcollect32", " and PE_size 2147483647 name PEs", size_of, INT_MAX},

    {"shmem_barrier", "pSync ", psync_null, 0},
    {"shmem_broadcast64", " is not a symmetric address", psync_private, 0},
    {"shmem_sync", " is not aligned to 8 bytes", psync_misaligned, 0},
    {"shmem_fcollect64", "pSync\\[0\\] is 42; every element must be SHMEM_SYNC_VALUE \\(0\\)", psync_with, 0},
    {"shmem_fcollect64", "pSync\\[1\\] is 42; every element must be SHMEM_SYNC_VALUE \\(0\\)", psync_with, 1},
    {"shmem_fcollect64", "pSync\\[2\\] is 42; every element must be SHMEM_SYNC_VALUE \\(0\\)", psync_with, 2},
    {"shmem_fcollect64", "pSync\\[15\\] is 42; every element must be SHMEM_SYNC_VALUE \\(0\\)", psync_with,
     15},
    {"shmem_fcollect64", "pSync\\[0\\] is 1; every element must be SHMEM_SYNC_VALUE", psync_arrived, 1},
    {"shmem_fcollect64", "pSync\\[0\\] is -1; every element must be SHMEM_SYNC_VALUE", psync_arrived, -1},
    {"shmem_fcollect64", "pSync\\[1\\] is 2; every element must be SHMEM_SYNC_VALUE", psync_released, 2},
    {"shmem_fcollect64", "pSync\\[1\\] is -1; every element must be SHMEM_SYNC_VALUE", psync_released, -1},

    {"shmem_long_wait_until_some", "indices is NULL; allowed is", wait_some_null, 2},
    {"shmem_long_test_some", "indices is NULL; allowed is", test_some_null, 2},
    {"shmem_long_wait_until_some_vector", "indices is NULL; allowed is", some_vector_null, 2},
    {"shmem_long_test_all_vector", "cmp_values is NULL; allowed is", values_null, 2},
    {"shmem_long_wait_until_any_vector", "cmp_values is NULL; allowed is", wait_values_null, 2},
    {"shmem_long_test_all", "cmp is 6; allowed are the SHMEM_CMP_ constants", test_all_cmp, 6},
    {"shmem_long_test_any_vector", "cmp is -1; allowed are the SHMEM_CMP_ constants", vector_cmp, -1},
    {"shmem_signal_wait_until", "cmp is 99; allowed are the SHMEM_CMP_ constants", signal_wait_cmp, 99},
    {"shmem_signal_fetch", " is not a symmetric address", signal_fetch_private, 0},
    {"shmem_long_test_some", " is not a symmetric address", test_some_private, 2},
    {"shmem_pe_quiet", "target_pes is NULL; allowed is", pe_quiet_null, 1},
    {"shmem_pe_quiet", "pe is -1; allowed is 0 to 0", pe_quiet_of, -1},

    {"shmem_ctx_long_p", "pe is 1; allowed in the context's team is 0 to 0", ctx_put_of, 1},
    {"shmem_ctx_long_atomic_add", "pe is -1; allowed in the context's team is 0 to 0", ctx_add_of, -1},
    {"shmem_ctx_pe_quiet", "pe is 7; allowed in the context's team is 0 to 0", ctx_pe_quiet_of, 7},
    {"shmem_ctx_destroy", "ctx is SHMEM_CTX_DEFAULT", destroy_default, 0},
    {"shmem_team_destroy", "team is predefined; allowed are teams that a split made", destroy_world, 0},
    {"shmem_team_destroy", "team is predefined; allowed are teams that a split made", destroy_shared, 0},
    {"shmem_team_get_config", "config is NULL; allowed is", config_null, 0},

    {"shmem_set_lock", " is not a symmetric address", set_private, 0},
    {"shmem_test_lock", " is not a symmetric address", test_private, 0},
    {"shmem_clear_lock", " is not a symmetric address", clear_private, 0},
    {"shmem_set_lock", " is held or waited for by this PE already", set_twice, 0},
    {"shmem_clear_lock", " is not held by anybody", clear_free, 0},
};

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    argument = cases[i].argument, expect_refusal(cases[i].name, cases[i].what, prepare, cases[i].call);
  return report_cases();
}

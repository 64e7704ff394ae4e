/* SPDX-License-Identifier: BSD-3-Clause */
/* PE numbers, addresses, ranges, blocks, alignments and places for results that no call can do anything with.
 */
#include "refused.h"

static long variable[4], big[8192], local[4];
static uint64_t signal_word;
static long *block, *no_block;
static const size_t heap_end = (size_t)1 << 40; /* bytes from block to well beyond the heap's end */

static void prepare(void) {
  block = shmem_calloc(4, sizeof *block);
  no_block = calloc(4, sizeof *no_block);
}

static void* between(void* word, size_t bytes) { return (char*)word + bytes; }

/* ---- PE numbers */

static void get_nbi_too_high(void) { shmem_long_get_nbi(local, block, 1, shmem_n_pes()); }
static void p_too_high(void) { shmem_long_p(block, 1, 1000000); }
static void g_negative(void) { shmem_long_g(block, INT32_MIN); }
static void putmem_empty(void) { shmem_putmem(NULL, NULL, 0, -1); }
static void put32_too_high(void) { shmem_put32(block, block, 1, shmem_n_pes()); }
static void fetch_too_high(void) { shmem_long_atomic_fetch(block, shmem_n_pes()); }
static void iput_too_high(void) { shmem_long_iput(block, block, 1, 1, 1, shmem_n_pes()); }
static void iget_negative(void) { shmem_long_iget(local, block, 1, 1, 1, -1); }
static void signal_add_negative(void) { shmem_signal_add(&signal_word, 1, -1); }
static void pe_quiet_too_high(void) { shmem_pe_quiet(&(int){shmem_n_pes()}, 1); }

/* ---- Addresses */

static void put_to_null(void) { shmem_long_put(NULL, block, 1, 0); }
static void p_to_private(void) { shmem_long_p(no_block, 1, 0); }
static void get_from_private(void) { shmem_long_get_nbi(local, no_block, 1, 0); }
static void g_from_null(void) { shmem_long_g(NULL, 0); }
static void fetch_from_private(void) { shmem_long_atomic_fetch(no_block, 0); }
static void iget_from_private(void) { shmem_long_iget(local, no_block, 1, 1, 1, 0); }
static void payload_in_private(void) {
  shmem_long_put_signal(no_block, local, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
}
static void signal_set_negative(void) { shmem_signal_set(&signal_word, 1, -1); }
static void test_on_private(void) { shmem_long_test(no_block, SHMEM_CMP_EQ, 0); }
static void wait_all_on_private(void) { shmem_long_wait_until_all(no_block, 2, NULL, SHMEM_CMP_EQ, 0); }
static void plain_wait_on_private(void) { (shmem_wait)(no_block, 0); }
static void plain_wait_until_on_private(void) { (shmem_wait_until)(no_block, SHMEM_CMP_EQ, 0); }
static void signal_wait_on_private(void) { shmem_signal_wait_until((uint64_t*)no_block, SHMEM_CMP_EQ, 0); }

/* ---- Ranges */

static void put64_nbi_wraps(void) { shmem_put64_nbi(block, local, SIZE_MAX / 8 + 2, 0); }
static void ibput_wraps(void) { shmem_long_ibput(block, local, 1, 1, SIZE_MAX / 8 + 2, 2, 0); }
static void fcollect_past_heap(void) { shmem_long_fcollect(SHMEM_TEAM_WORLD, big, big, heap_end / 16); }
static void wait_any_past_heap(void) { shmem_long_wait_until_any(block, SIZE_MAX, NULL, SHMEM_CMP_NE, 0); }
static void wait_past_heap(void) {
  shmem_long_wait_until_all(block, SIZE_MAX / sizeof *block + 2, NULL, SHMEM_CMP_EQ, 0);
}

/* ---- Blocks of the heap */

static void free_middle(void) { shmem_free(block + 1); }
static void free_private(void) { shmem_free(no_block); }
static void free_variable(void) { shmem_free(variable); }
static void realloc_private(void) { shmem_realloc(no_block, 100); }
static void old_free_private(void) { shfree(no_block); }
static void old_realloc_private(void) { shrealloc(no_block, 100); }

/* What fails with a return value says so, too; this is what a program does that looks at the value. */
static void stop_without(const void* result) {
  if (result == NULL) _exit(kRefused);
}

static void realloc_freed(void) {
  shmem_free(block);
  stop_without(shmem_realloc(block, 100));
}
static void align_3(void) { stop_without(shmem_align(3, 8)); }
static void align_24(void) { stop_without(shmem_align(24, 8)); }
static void align_0(void) { stop_without(shmem_align(0, 8)); }
static void old_align_0(void) { stop_without(shmemalign(0, 8)); }

static void align_128m(void) { stop_without(shmem_align((size_t)128 << 20, 8)); }

/* ---- Comparisons and strides */

static void cmp_wrong(void) { shmem_long_wait_until(block, 77, 0); }
static void cmp_negative(void) { shmem_int_test((int*)block, -1, 0); }
static void cmp_wrong_in_any(void) { shmem_long_wait_until_any(block, 1, NULL, 6, 0); }
static void stride_negative(void) { shmem_long_iget(local, block, 1, -1, 2, 0); }
static void stride_below_block(void) { shmem_long_ibput(block, local, 1, 2, 2, 2, 0); }

/* ---- Words that are not where one can lie */

static void put_signal_misaligned(void) {
  uint64_t* const odd = (uint64_t*)(void*)((char*)block + 1);
  shmem_long_put_signal(block + 2, local, 1, odd, 1, SHMEM_SIGNAL_SET, 0);
}
static void swap_misaligned(void) { shmem_int_atomic_swap(between(block, 2), 1, 0); }
static void static_misaligned(void) { shmem_long_atomic_inc(between(variable, 4), 0); }
static void signal_wait_misaligned(void) { shmem_signal_wait_until(between(block, 4), SHMEM_CMP_EQ, 0); }
static void wait_misaligned(void) { shmem_long_wait_until(between(block, 4), SHMEM_CMP_EQ, 0); }
static void test_misaligned(void) { shmem_int_test(between(block, 2), SHMEM_CMP_EQ, 0); }
static void wait_any_misaligned(void) {
  shmem_long_wait_until_any(between(block, 1), 2, NULL, SHMEM_CMP_EQ, 0);
}
static void lock_misaligned(void) { shmem_set_lock(between(block, 4)); }
static void test_lock_misaligned(void) { shmem_test_lock(between(variable, 2)); }
static void clear_lock_misaligned(void) { shmem_clear_lock(between(block, 1)); }

/* ---- Places for results */

static void ctx_create_null(void) { shmem_ctx_create(0, NULL); }
static void team_create_ctx_null(void) { shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, NULL); }
static void ctx_get_team_null(void) { shmem_ctx_get_team(SHMEM_CTX_DEFAULT, NULL); }
static void split_null(void) { shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, NULL); }
static void split_2d_x_null(void) {
  shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, NULL, NULL, 0, &(shmem_team_t){0});
}
static void split_2d_null(void) {
  shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &(shmem_team_t){0}, NULL, 0, NULL);
}
static void get_name_null(void) { shmem_info_get_name(NULL); }
static void get_version_major_null(void) { shmem_info_get_version(NULL, &(int){0}); }
static void get_version_null(void) { shmem_info_get_version(&(int){0}, NULL); }
static void query_thread_null(void) { shmem_query_thread(NULL); }
static void query_initialized_null(void) { shmem_query_initialized(NULL); }

#define IS_NULL "NULL is not a symmetric address"
#define NOT_SYMMETRIC "0x[0-9a-f]+ is not a symmetric address; allowed are memory from shmem_malloc"
#define PAST_END "0x[0-9a-f]+ and the [0-9]+ bytes from there reach past the end of the "
#define NO_BLOCK "ptr 0x[0-9a-f]+ is not in the symmetric heap; allowed are pointers that shmem_malloc"
#define MISALIGNED "0x[0-9a-f]+ is not aligned to"

static const struct {
  const char *name, *what;
  void (*call)(void);
} cases[] = {
    {"shmem_long_get_nbi", "pe is 1; allowed is 0 to 0$", get_nbi_too_high},
    {"shmem_long_p", "pe is 1000000; allowed is 0 to 0$", p_too_high},
    {"shmem_long_g", "pe is -2147483648; allowed is 0 to 0$", g_negative},
    {"shmem_putmem", "pe is -1; allowed is 0 to 0$", putmem_empty},
    {"shmem_put32", "pe is 1; allowed is 0 to 0$", put32_too_high},
    {"shmem_long_atomic_fetch", "pe is 1; allowed is 0 to 0$", fetch_too_high},
    {"shmem_long_iput", "pe is 1; allowed is 0 to 0$", iput_too_high},
    {"shmem_long_iget", "pe is -1; allowed is 0 to 0$", iget_negative},
    {"shmem_signal_add", "pe is -1; allowed is 0 to 0$", signal_add_negative},
    {"shmem_signal_set", "pe is -1; allowed is 0 to 0$", signal_set_negative},
    {"shmem_pe_quiet", "pe is 1; allowed is 0 to 0$", pe_quiet_too_high},

    {"shmem_long_put", "dest " IS_NULL, put_to_null},
    {"shmem_long_p", "dest " NOT_SYMMETRIC, p_to_private},
    {"shmem_long_get_nbi", "source " NOT_SYMMETRIC, get_from_private},
    {"shmem_long_g", "source " IS_NULL, g_from_null},
    {"shmem_long_atomic_fetch", "source " NOT_SYMMETRIC, fetch_from_private},
    {"shmem_long_iget", "source " NOT_SYMMETRIC, iget_from_private},
    {"shmem_long_put_signal", "dest " NOT_SYMMETRIC, payload_in_private},
    {"shmem_long_test", "ivar " NOT_SYMMETRIC, test_on_private},
    {"shmem_long_wait_until_all", "ivars " NOT_SYMMETRIC, wait_all_on_private},
    {"shmem_wait", "ivar " NOT_SYMMETRIC, plain_wait_on_private},
    {"shmem_wait_until", "ivar " NOT_SYMMETRIC, plain_wait_until_on_private},
    {"shmem_signal_wait_until", "sig_addr " NOT_SYMMETRIC, signal_wait_on_private},

    {"shmem_put64_nbi", "dest " PAST_END "symmetric heap", put64_nbi_wraps},
    {"shmem_long_ibput", "(dest " PAST_END "symmetric heap|.*allowed is at least)", ibput_wraps},
    {"shmem_long_fcollect", "dest " PAST_END "program.s variables", fcollect_past_heap},
    {"shmem_long_wait_until_any", "ivars " PAST_END "symmetric heap", wait_any_past_heap},
    {"shmem_long_wait_until_all", "ivars " PAST_END "symmetric heap", wait_past_heap},

    {"shmem_free", "ptr 0x[0-9a-f]+ is not the start of an allocated block", free_middle},
    {"shmem_free", NO_BLOCK, free_private},
    {"shmem_free", NO_BLOCK, free_variable},
    {"shmem_realloc", NO_BLOCK, realloc_private},
    {"shfree", NO_BLOCK, old_free_private},
    {"shrealloc", NO_BLOCK, old_realloc_private},
    {"shmem_realloc", "ptr 0x[0-9a-f]+ is not the start of an allocated block", realloc_freed},
    {"shmem_align", "alignment is 3; allowed are powers of two", align_3},
    {"shmem_align", "alignment is 24; allowed are powers of two", align_24},
    {"shmem_align", "alignment is 0; allowed are powers of two", align_0},
    {"shmemalign", "alignment is 0; allowed are powers of two", old_align_0},

    {"shmem_align", "alignment is 134217728; allowed are powers of two up to 67108864$", align_128m},

    {"shmem_long_wait_until", "cmp is 77; allowed are the SHMEM_CMP_ constants", cmp_wrong},
    {"shmem_int_test", "cmp is -1; allowed are the SHMEM_CMP_ constants", cmp_negative},
    {"shmem_long_wait_until_any", "cmp is 6; allowed are the SHMEM_CMP_ constants", cmp_wrong_in_any},
    {"shmem_long_iget", ".*sst.*allowed is at least", stride_negative},
    {"shmem_long_ibput", ".*dst.*allowed is at least", stride_below_block},

    {"shmem_long_put_signal", "sig_addr 0x[0-9a-f]+ is not aligned", put_signal_misaligned},
    {"shmem_int_atomic_swap", "dest " MISALIGNED " 4 bytes$", swap_misaligned},
    {"shmem_long_atomic_inc", "dest " MISALIGNED " 8 bytes$", static_misaligned},
    {"shmem_signal_wait_until", "sig_addr " MISALIGNED " 8 bytes$", signal_wait_misaligned},
    {"shmem_long_wait_until", "ivar " MISALIGNED " 8 bytes$", wait_misaligned},
    {"shmem_int_test", "ivar " MISALIGNED " 4 bytes$", test_misaligned},
    {"shmem_long_wait_until_any", "ivars " MISALIGNED " 8 bytes$", wait_any_misaligned},
    {"shmem_set_lock", "lock " MISALIGNED " 8 bytes$", lock_misaligned},
    {"shmem_test_lock", "lock " MISALIGNED " 8 bytes$", test_lock_misaligned},
    {"shmem_clear_lock", "lock " MISALIGNED " 8 bytes$", clear_lock_misaligned},

    {"shmem_ctx_create", "ctx is NULL; allowed is the address", ctx_create_null},
    {"shmem_team_create_ctx", "ctx is NULL; allowed is the address", team_create_ctx_null},
    {"shmem_ctx_get_team", "team is NULL; allowed is the address", ctx_get_team_null},
    {"shmem_team_split_strided", "new_team is NULL; allowed is the address", split_null},
    {"shmem_team_split_2d", "xaxis_team is NULL; allowed is the address", split_2d_x_null},
    {"shmem_team_split_2d", "yaxis_team is NULL; allowed is the address", split_2d_null},
    {"shmem_info_get_name", "name is NULL; allowed is the address", get_name_null},
    {"shmem_info_get_version", "major is NULL; allowed is the address", get_version_major_null},
    {"shmem_info_get_version", "minor is NULL; allowed is the address", get_version_null},
    {"shmem_query_thread", "provided is NULL; allowed is the address", query_thread_null},
    {"shmem_query_initialized", "initialized is NULL; allowed is the address", query_initialized_null},
};

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    expect_refusal(cases[i].name, cases[i].what, prepare, cases[i].call);
  return report_cases();
}

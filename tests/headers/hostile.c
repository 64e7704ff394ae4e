/* SPDX-License-Identifier: BSD-3-Clause */
/* A program's own macros do not reach into the headers: neither short upper-case ones, such as the columns of
 * the tables have, nor the words that make up the names of functions. */
#define p 3
#define g 4
#define get 5
#define put 6
#define set 7
#define add 8
#define mem 9
#define size 10
#define test 11
#define swap 12
#define value 13
#define T 14
#define X 15
#define F 16
#define P 17
#define G 18
#define OP 19
#define ROW 20
#define NAME 21
#define TYPE 22
#define TYPES 23
#define SHAPE 24
#define RMA 25
#define AMO 26
#define BITS 27
#define MEM 28
#define LOAD 29
#define STORE 30
#define COPY 31
#define WAIT 32
#define TEST 33
#define ANY 34
#define TEAM 35
#define ACTIVE 36
#define ONE 37
#define shmem 38
#define shmemx 39
#define max 40
#define min 41
#define atomic 42

#include <pshmem.h>
#include <pshmemx.h>

long hostile_calls(shmem_ctx_t ctx, long* word, size_t* count);

long hostile_calls(shmem_ctx_t ctx, long* word, size_t* count) {
  shmem_put(ctx, count, count, value, p);
  shmem_atomic_set(word, T, get);
  shmem_size_put(count, count, size, g);
  shmem_putmem(word, word, mem, put);
  shmem_wait_until(word, SHMEM_CMP_EQ, TEST);
  shmem_max_reduce(SHMEM_TEAM_WORLD, word, word, TEAM);
  shmemx_atomic_max(ctx, word, max, min);
  shmemx_long_atomic_fetch_min_nbi(word, word, shmemx, atomic);
  return shmem_g(word, p) + shmem_atomic_swap(word, swap, F);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operation copies from, or to, may lie in the heap on NVM itself: its pages come and go while the
 * network would use them, so they are copied by a buffer, a piece at a time. The other side is a variable in
 * memory, or on NVM too. */
#include <shmemx.h>
#include <string.h>

#include "check.h"

enum { kPiece = 65536, kMost = 2 * kPiece + 17, kMargin = 40, kAll = kMost + 2 * kMargin, kOutside = 0xee };
static const size_t kSizes[] = {1, 8, 4097, kPiece - 1, kPiece, kPiece + 1, kMost};
enum { kCount = sizeof kSizes / sizeof *kSizes };

static unsigned char in_memory[kAll];
static unsigned char* on_nvm;
static unsigned char* local; /* on NVM */
static uint64_t arrived;     /* signals */
static int me, round_number;

static unsigned char byte_of(int pe, size_t i) {
  return (unsigned char)(pe * 31 + round_number * 7 + i * 13 + i / 251);
}

/* All of `array` but n bytes, which PE `from` has filled, is as it was. */
static void check_array(const char* what, const unsigned char* array, size_t first, size_t n, int from) {
  for (size_t i = 0; i < kAll; ++i) {
    const int inside = i >= first && i < first + n;
    const int expected = inside ? byte_of(from, i - first) : kOutside;
    if (array[i] == expected) continue;
    fprintf(stderr, "%s of %zu bytes: byte %zu %s is %d, expected %d (from PE %d)\n", what, n, i - first,
            inside ? "of it" : "outside", array[i], expected, from);
    CHECK(!"bytes");
  }
}

static void clear(unsigned char* array) { memset(array, kOutside, kAll); }

static void fill(unsigned char* array, size_t first, size_t n) {
  clear(array);
  for (size_t i = 0; i < n; ++i) array[first + i] = byte_of(me, i);
}

/* The pages of `local` make way for others. */
static void make_them_leave(void) {
  enum { kOthers = 1 << 20 };
  static unsigned char* others;
  if (others == NULL) others = shmem_malloc(kOthers);
  for (size_t i = 0; i < kOthers; i += 4096) others[i]++;
}

/* ---- From NVM */

typedef void (*Put)(void* dest, const void* source, size_t n, int pe);

static void put(void* dest, const void* source, size_t n, int pe) { shmem_putmem(dest, source, n, pe); }
static void put_nbi(void* dest, const void* source, size_t n, int pe) {
  shmem_putmem_nbi(dest, source, n, pe);
}
static void put_signal(void* dest, const void* source, size_t n, int pe) {
  shmem_uint8_put_signal(dest, source, n, &arrived, 1, SHMEM_SIGNAL_ADD, pe);
}
static void put_signal_nbi(void* dest, const void* source, size_t n, int pe) {
  shmem_uint8_put_signal_nbi(dest, source, n, &arrived, 1, SHMEM_SIGNAL_ADD, pe);
}
/* Every third byte; check_put() looks at what lies between. */
static void put_strided(void* dest, const void* source, size_t n, int pe) {
  for (size_t k = 0; k < 3; ++k)
    shmem_uint8_iput((uint8_t*)dest + k, (const uint8_t*)source + k, 3, 3, (n + 2 - k) / 3, pe);
}

static void check_put(const char* what, Put operation, unsigned char* dest, size_t n) {
  const size_t first = kMargin - (size_t)round_number % 3; /* at any alignment */
  clear(dest);
  fill(local, first, n);
  make_them_leave();
  shmem_barrier_all();
  operation(dest + first, local + first, n, right_pe());
  shmem_barrier_all();
  check_array(what, dest, first, n, left_pe());
  ++round_number;
}

static void test_puts(unsigned char* dest) {
  for (int i = 0; i < kCount; ++i) {
    check_put("put", put, dest, kSizes[i]);
    check_put("put_nbi", put_nbi, dest, kSizes[i]);
    const uint64_t before = arrived;
    check_put("put_signal", put_signal, dest, kSizes[i]);
    check_put("put_signal_nbi", put_signal_nbi, dest, kSizes[i]);
    CHECK_EQ(arrived, before + 2);
  }
  check_put("iput", put_strided, dest, 100);
}

/* ---- To NVM */

static void check_get(const char* what, int nbi, unsigned char* source, size_t n) {
  const size_t first = kMargin - (size_t)round_number % 3;
  const int pe = right_pe();
  clear(local);
  fill(source, first, n);
  make_them_leave();
  shmem_barrier_all();
  if (nbi) {
    shmem_getmem_nbi(local + first, source + first, n, pe);
    shmem_quiet();
  } else {
    shmem_getmem(local + first, source + first, n, pe);
  }
  check_array(what, local, first, n, pe);
  shmem_barrier_all();
  ++round_number;
}

static void test_gets(unsigned char* source) {
  for (int i = 0; i < kCount; ++i) {
    check_get("get", 0, source, kSizes[i]);
    check_get("get_nbi", 1, source, kSizes[i]);
  }
}

/* What an atomic finds is written to NVM, and nothing beside it. */
static void test_atomics(void) {
  static long counter;
  static int small;
  const int pe = right_pe();
  long* found = (long*)local;
  int* found_small = (int*)(found + 100);
  memset(local, 0xff, 1000);
  counter = 1000 + me;
  small = 7 + me;
  shmem_barrier_all();
  for (int i = 0; i < 10; ++i) {
    shmem_long_atomic_fetch_add_nbi(&found[2 * i], &counter, 5, pe);
    shmem_int_atomic_fetch_add_nbi(&found_small[2 * i], &small, 3, pe);
    shmem_quiet();
    CHECK_EQ(found[2 * i], 1000 + pe + 5 * i);
    CHECK_EQ(found[2 * i + 1], -1);
    CHECK_EQ(found_small[2 * i], 7 + pe + 3 * i);
    CHECK_EQ(found_small[2 * i + 1], -1);
  }
  shmem_long_atomic_compare_swap_nbi(&found[1], &counter, 1050 + pe, 1, pe);
  shmem_long_atomic_fetch_nbi(&found[3], &counter, pe);
  shmem_quiet();
  CHECK_EQ(found[1], 1050 + pe);
  CHECK_EQ(found[3], 1);
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  local = shmem_malloc(kAll);
  on_nvm = shmem_malloc(kAll);
  CHECK(local != NULL && on_nvm != NULL);
  test_puts(in_memory);
  test_puts(on_nvm);
  test_gets(in_memory);
  test_gets(on_nvm);
  test_atomics();
  shmem_free(on_nvm);
  shmem_free(local);
  shmem_finalize();
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A named object, whose words all say how often it has been persisted.
 *
 * An argument of <n> persists it n times more (-1: until the end), each time after all PEs have written to
 * all, by stores, puts and atomics; PE 0 prints "epoch <e>" when a persist has returned.  `refused`: nothing
 * of what shmemx_nvm_open refuses is an object, and no object gets another size.  `pin`: pinned pages stay
 * where they are.
 *
 * What is there at the beginning must be one epoch, the same on all PEs, and none of what came after it. */
#include <shmemx.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kWords = 30000 };
static int me, npes;

/* By whom a word is written: its PE, by stores and atomics, or another one, by puts. */
static int is_put(size_t word) { return word / 100 % 3 == 0; }

static long check_object(const long* words) {
  const long epoch = words[0];
  for (size_t i = 0; i < kWords; ++i)
    CHECK_AT(words, i, epoch == 0 ? 0 : epoch + (i == 0 ? 0 : (long)i * 1000));
  for (int pe = 0; pe < npes; ++pe) CHECK_OF_PE(pe, shmem_long_g(&words[0], pe), epoch);
  shmem_barrier_all();
  return epoch;
}

static void write_all(long* words, long epoch) {
  long values[100];
  for (size_t i = 0; i < kWords; ++i) {
    if (!is_put(i)) {
      words[i] = epoch + (long)i * 1000;
      continue;
    }
    for (size_t k = 0; k < 100; ++k) values[k] = epoch + (i + k == 0 ? 0 : (long)(i + k) * 1000);
    shmem_long_put(&words[i], values, 100, (me + 1) % npes);
    i += 99;
  }
  shmem_barrier_all();
  shmem_long_atomic_set(&words[kWords - 1], epoch + (long)(kWords - 1) * 1000, (me + npes - 1) % npes);
}

static void persist_again_and_again(long* words, long n) {
  long epoch = check_object(words);
  if (me == 0) printf("found %ld\n", epoch);
  for (; n != 0; --n) {
    write_all(words, ++epoch);
    shmemx_nvm_persist(words);
    if (me == 0) printf("epoch %ld\n", epoch);
    fflush(stdout);
  }
  CHECK_EQ(check_object(words), epoch);
  /* What is not persisted is lost. */
  words[me + 1] = -1;
}

static void test_refusals(void) {
  CHECK_EQ(shmemx_nvm_open("object", kWords * sizeof(long) + 8), NULL);
  CHECK_EQ(shmemx_nvm_open("a/b", 100), NULL);
  CHECK_EQ(shmemx_nvm_open("", 100), NULL);
  long* twice = shmemx_nvm_open("object", kWords * sizeof(long));
  CHECK(twice != NULL);
  CHECK_EQ(shmemx_nvm_open("object", kWords * sizeof(long)), NULL);
  CHECK_EQ(shmem_realloc(twice, 2 * kWords * sizeof(long)), NULL);
  check_object(twice);
  shmemx_nvm_persist(twice); /* it is an object still */
  shmem_free(twice);
  long* again = shmemx_nvm_open("object", kWords * sizeof(long));
  CHECK(again != NULL);
  check_object(again);
  shmem_free(again);
}

/* Bytes of the largest block in memory that there is room for, about. */
static long largest_block(void) {
  long fits = 0, too_large = 1L << 32;
  while (too_large - fits > 4096) {
    const long n = (fits + too_large) / 2;
    void* block = shmem_malloc_with_hints((size_t)n, SHMEM_MALLOC_ATOMICS_REMOTE);
    *(block != NULL ? &fits : &too_large) = n;
    shmem_free(block);
  }
  return fits;
}

static void test_opening_takes_no_room_for_good(void) {
  const long before = largest_block();
  for (int i = 0; i < 300; ++i) {
    long* object = shmemx_nvm_open("object", kWords * sizeof(long));
    CHECK(object != NULL);
    shmem_free(object);
  }
  CHECK_CMP(before - largest_block(), <, 65536);
}

static void test_pins(long* words) {
  const size_t size = 1000 * sizeof(long);
  long* memory = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE);
  CHECK_EQ(shmemx_nvm_pin(memory, 64, SHMEMX_NVM_WRITE), 0);
  shmemx_nvm_unpin(memory, 64);
  CHECK_EQ(shmemx_nvm_pin(words, kWords * sizeof(long), SHMEMX_NVM_READ), 1);
  for (int round = 0; round < 20; ++round) {
    CHECK_EQ(shmemx_nvm_pin(words + 5000, size, SHMEMX_NVM_WRITE), 0);
    shmem_barrier_all();
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    for (size_t i = 5000; i < 6000; ++i) words[i] = (long)i + round;
    for (size_t i = 6100; i < kWords; i += 64) words[i] = round; /* has all others leave */
    CHECK_EQ(write(ends[1], words + 5000, size), (long)size);
    CHECK_EQ(read(ends[0], words + 5000, size), (long)size);
    for (size_t i = 5000; i < 6000; ++i) CHECK_AT(words, i, (long)i + round);
    close(ends[0]), close(ends[1]);
    shmemx_nvm_unpin(words + 5000, size);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&words[5500], (me + 1) % npes), 5500 + round);
    shmem_barrier_all();
  }
  shmem_free(memory);
}

/* Who has pinned a page goes on using it while another node waits for it; others read what is pinned to be
 * read. */
static void test_pins_that_others_want(long* words) {
  const int next = (me + 1) % npes, mine = 10000 + me;
  for (int mode = SHMEMX_NVM_READ; mode <= SHMEMX_NVM_WRITE; ++mode) {
    words[mine] = -1;
    shmem_barrier_all();
    CHECK_FOR(mode, shmemx_nvm_pin(&words[9000], 8000, mode), 0);
    shmem_barrier_all();
    if (mode == SHMEMX_NVM_READ) CHECK_EQ(shmem_long_g(&words[10000 + next], next), -1);
    shmem_barrier_all();
    if (mode == SHMEMX_NVM_READ || me % 2 == 0) {
      CHECK_FOR(mode, shmemx_nvm_pin(&words[9500], 800, mode), 0);
      for (int i = 0; i < 100; ++i) {
        const long seen = shmem_long_g(&words[mine], me);
        CHECK(seen == -1 || (seen == 7 && me % 2 != 0)); /* small operations of its node wait for nobody */
      }
      if (mode == SHMEMX_NVM_WRITE) shmem_long_p(&words[mine], -1, me);
      shmemx_nvm_unpin(&words[9500], 800);
    }
    if (mode == SHMEMX_NVM_WRITE && me % 2 != 0) shmemx_nvm_unpin(&words[9000], 8000);
    if (me % 2 == 0) shmem_long_p(&words[10000 + next], 7, next);
    if (mode == SHMEMX_NVM_WRITE && me % 2 == 0) shmemx_nvm_unpin(&words[9000], 8000);
    if (mode == SHMEMX_NVM_READ) shmemx_nvm_unpin(&words[9000], 8000);
    shmem_barrier_all();
    if (me % 2 != 0) CHECK_AT(words, mine, 7);
    shmem_barrier_all();
  }
}

/* Operations that go to the page wait for the pin as well, if they are of another node. */
static void test_pins_and_small_operations(long* words) {
  const int half = npes / 2, peer = (me + half) % npes, pins = me < half;
  volatile long* mine = &words[9500];
  for (int mode = SHMEMX_NVM_READ; mode <= SHMEMX_NVM_WRITE; ++mode) {
    mine[0] = mine[1] = 1;
    shmem_barrier_all();
    if (pins) CHECK_FOR(mode, shmemx_nvm_pin(&words[9500], 80, mode), 0);
    shmem_barrier_all();
    if (!pins) {
      if (mode == SHMEMX_NVM_READ) CHECK_EQ(shmem_long_g(&words[9500], peer), 1);
      if (mode == SHMEMX_NVM_WRITE) CHECK_EQ(shmem_long_g(&words[9500], peer), 2);
      shmem_barrier_all();
      shmem_long_p(&words[9500], 7, peer);
      shmem_long_atomic_add(&words[9501], 6, peer);
      CHECK_EQ(shmem_long_atomic_fetch(&words[9501], peer), 7);
    } else {
      usleep(50000); /* enough for who does not wait */
      CHECK_EQ(mine[0], 1);
      if (mode == SHMEMX_NVM_WRITE) shmem_long_p(&words[9500], 2, me);
      if (mode == SHMEMX_NVM_WRITE) shmemx_nvm_unpin(&words[9500], 80);
      shmem_barrier_all();
      if (mode == SHMEMX_NVM_READ) {
        usleep(50000);
        CHECK_EQ(mine[0], 1);
        CHECK_EQ(mine[1], 1);
        CHECK_EQ(shmem_long_g(&words[9501], me), 1);
        shmemx_nvm_unpin(&words[9500], 80);
      }
    }
    shmem_barrier_all();
    if (pins) {
      CHECK_EQ(mine[0], 7);
      CHECK_EQ(mine[1], 7);
    }
    shmem_barrier_all();
  }
}

int main(int argc, char** argv) {
  CHECK_EQ(argc, 2);
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  printf("pid %d\n", (int)getpid());
  fflush(stdout);
  if (strcmp(argv[1], "refused") == 0) {
    test_refusals();
    test_opening_takes_no_room_for_good();
  } else {
    long* words = shmemx_nvm_open(strcmp(argv[1], "pin") == 0 ? "pinned" : "object", kWords * sizeof(long));
    CHECK(words != NULL);
    if (strcmp(argv[1], "pin") == 0) {
      test_pins(words);
      test_pins_that_others_want(words);
      test_pins_and_small_operations(words);
    } else {
      persist_again_and_again(words, atol(argv[1]));
    }
  }
  shmem_finalize();
  return 0;
}

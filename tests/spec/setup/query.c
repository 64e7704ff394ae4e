/* SPDX-License-Identifier: BSD-3-Clause */
/* Who am I, how many are we, what is this library, and what can be reached. */
#include <shmemx.h>
#include <string.h>

#include "check.h"

static long variable;

static void test_numbers(void) { /* Semantics 13 */
  static int seen;
  CHECK_CMP(shmem_my_pe(), >=, 0);
  CHECK_CMP(shmem_my_pe(), <, shmem_n_pes());
  CHECK_EQ(_my_pe(), shmem_my_pe());
  CHECK_EQ(_num_pes(), shmem_n_pes());
  for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_int_atomic_inc(&seen, shmem_my_pe());
  shmem_barrier_all();
  CHECK_EQ(seen, shmem_n_pes());
  /* Each number is taken once: every PE counts itself in at PE 0. */
  static int taken[64];
  CHECK_EQ(shmem_int_atomic_fetch_inc(&taken[shmem_my_pe()], 0), 0);
  shmem_barrier_all();
}

static void test_library(void) { /* Semantics 14 */
  int major = 0, minor = 0;
  char name[SHMEM_MAX_NAME_LEN];
  memset(name, 'x', sizeof name);
  shmem_info_get_version(&major, &minor);
  shmem_info_get_name(name);
  CHECK_EQ(major, SHMEM_MAJOR_VERSION);
  CHECK_EQ(minor, SHMEM_MINOR_VERSION);
  CHECK_EQ(major, 1);
  CHECK_EQ(minor, 6);
  CHECK(memchr(name, '\0', sizeof name) != NULL);
  CHECK_STR(name, SHMEM_VENDOR_STRING);
}

static void test_network(void) {
  int others = 0;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) others |= shmem_ptr(&variable, pe) == NULL;
  CHECK_EQ(strstr(shmemx_network(), "libfabric ") != NULL, others);
  CHECK_EQ(shmemx_network()[0] != '\0', others);
}

static void test_reach(void) { /* Semantics 15 */
  long* block = shmem_malloc(2 * sizeof *block);
  long* private_block = malloc(sizeof *private_block);
  static long function_static;
  long local = 0;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    CHECK_OF_PE(pe, shmem_pe_accessible(pe), 1);
    CHECK_OF_PE(pe, shmem_addr_accessible(block, pe), 1);
    CHECK_OF_PE(pe, shmem_addr_accessible(block + 1, pe), 1);
    CHECK_OF_PE(pe, shmem_addr_accessible(&variable, pe), 1);
    CHECK_OF_PE(pe, shmem_addr_accessible(&function_static, pe), 1);
    CHECK_OF_PE(pe, shmem_addr_accessible(&local, pe), 0);
    CHECK_OF_PE(pe, shmem_addr_accessible(private_block, pe), 0);
    CHECK_OF_PE(pe, shmem_addr_accessible(NULL, pe), 0);
  }
  const int no_pes[] = {-1, shmem_n_pes(), 1 << 30};
  for (size_t i = 0; i < 3; ++i) {
    CHECK_FOR(i, shmem_pe_accessible(no_pes[i]), 0);
    CHECK_FOR(i, shmem_addr_accessible(block, no_pes[i]), 0);
  }
  free(private_block);
  shmem_free(block);
}

static void test_pointers(void) { /* Semantics 17 */
  long* block = shmem_malloc(64 * sizeof *block);
  long local = 0;
  CHECK_EQ(shmem_ptr(block, shmem_my_pe()), block);
  CHECK_EQ(shmem_ptr(&variable, shmem_my_pe()), &variable);
  CHECK_EQ(shmem_ptr(&local, shmem_my_pe()), NULL);
  CHECK_EQ(shmem_ptr(block, -1), NULL);
  CHECK_EQ(shmem_ptr(block, shmem_n_pes()), NULL);
  for (int i = 0; i < 64; ++i) block[i] = shmem_my_pe() * 100 + i;
  shmem_barrier_all();
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    const long* theirs = (const long*)shmem_ptr(block, pe);
    if (theirs == NULL) continue; /* another node */
    for (int i = 0; i < 64; ++i) CHECK_AT(theirs, i, pe * 100 + i);
  }
  shmem_barrier_all();
  /* Stores through the pointer are the owner's after a barrier. */
  long* rights = (long*)shmem_ptr(block, right_pe());
  if (rights != NULL) rights[5] = 4711;
  if (rights == NULL) shmem_long_p(&block[5], 4711, right_pe());
  shmem_barrier_all();
  CHECK_EQ(block[5], 4711);
  /* A fence orders them before what follows, a quiet before what a third PE is told. */
  static long told;
  for (int i = 1; i <= 200; ++i) {
    if (rights != NULL) rights[6] = i;
    if (rights == NULL) shmem_long_p(&block[6], i, right_pe());
    if (i % 2 == 0) shmem_fence();
    if (i % 2 != 0) shmem_quiet();
    shmem_long_atomic_set(&told, i, right_pe());
    shmem_long_wait_until(&told, SHMEM_CMP_GE, i);
    CHECK_CMP(block[6], >=, i);
  }
  shmem_barrier_all();
  shmem_free(block);
}

/* Exactly the PEs of the own node have a pointer. */
static void test_pointers_follow_the_nodes(void) {
  const int nodes = nodes_of_run();
  const int my_node = shmem_my_pe() * nodes / shmem_n_pes();
  long* block = shmem_malloc_with_hints(sizeof *block, SHMEM_MALLOC_ATOMICS_REMOTE); /* in memory */
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    const int same_node = pe * nodes / shmem_n_pes() == my_node;
    CHECK_OF_PE(pe, shmem_ptr(block, pe) != NULL, same_node);
    CHECK_OF_PE(pe, shmem_ptr(&variable, pe) != NULL, same_node);
  }
  shmem_free(block);
}

int main(void) {
  shmem_init();
  test_numbers();
  test_library();
  test_network();
  test_reach();
  test_pointers();
  test_pointers_follow_the_nodes();
  shmem_pcontrol(1);
  shmem_pcontrol(2, "anything", 3.0); /* Semantics 134 */
  shmem_finalize();
  return 0;
}

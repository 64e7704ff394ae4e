/* SPDX-License-Identifier: BSD-3-Clause */
/* A value may be read over the key that it is asked for with.  While others change the element, what has been
 * read may be thrown away and the key looked for again. */
#include "kv_check.h"

static int me, npes;

/* PE 0 changes the element, of which all bytes are the same; the others read it, one or several at once. */
static void test_over_key(size_t bytes, int times) {
  shmemx_kv_t kv = table_of(48, bytes, 64);
  const Key key = key_of(0, 17);
  int* ended = shmem_calloc(1, sizeof *ended);
  unsigned char* value = calloc(2, bytes);
  CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, bytes), SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int i = 0; me == 0 && shmem_int_atomic_fetch(ended, 0) < npes - 1; ++i) {
    memset(value, i % 100, bytes);
    CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, bytes), SHMEMX_KV_OK);
  }
  for (int i = 0; i < times && me != 0; ++i) {
    size_t n = 0;
    memcpy(value, key.text, key.n);
    if (i % 4 < 3) {
      CHECK_FOR(i,
                i % 4 < 2 ? shmemx_kv_get(kv, value, key.n, value, bytes, &n)
                          : shmemx_kv_get_wait(kv, value, key.n, value, bytes, &n),
                SHMEMX_KV_OK);
      CHECK_EQ(n, bytes);
    } else {
      memcpy(value + key.n, key.text, key.n);
      CHECK_FOR(i, shmemx_kv_get_batch(kv, 2, value, key.n, value, bytes, NULL, NULL), SHMEMX_KV_OK);
      for (size_t k = 1; k < bytes; ++k) CHECK_AT(value + bytes, k, value[bytes]);
    }
    for (size_t k = 1; k < bytes; ++k) CHECK_AT(value, k, value[0]);
  }
  if (me != 0) shmem_int_atomic_inc(ended, 0);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
  shmem_free(ended);
  free(value);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  test_over_key(40, rounds(3000, 100));
  test_over_key(2000, rounds(3000, 100));
  test_over_key(20000, rounds(300, 30));
  shmem_finalize();
  return 0;
}

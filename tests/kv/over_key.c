/* SPDX-License-Identifier: BSD-3-Clause */
/* A value may be read over the key that it is asked for with.  While others change the element, what has been
 * read may be thrown away and the key looked for again. */
#include "kv_check.h"

static int me, npes;

typedef struct {
  shmemx_kv_t kv;
  size_t key_bytes, bytes; /* of the value, which is to lie where the key is */
} Asked;

static void get_now(Asked asked, unsigned char* value, size_t* n) {
  CHECK_EQ(shmemx_kv_get(asked.kv, value, asked.key_bytes, value, asked.bytes, n), SHMEMX_KV_OK);
}
static void get_wait(Asked asked, unsigned char* value, size_t* n) {
  CHECK_EQ(shmemx_kv_get_wait(asked.kv, value, asked.key_bytes, value, asked.bytes, n), SHMEMX_KV_OK);
}
/* The same key twice. */
static void get_batch(Asked asked, unsigned char* value, size_t* n) {
  size_t both[2];
  memcpy(value + asked.key_bytes, value, asked.key_bytes);
  CHECK_EQ(shmemx_kv_get_batch(asked.kv, 2, value, asked.key_bytes, value, asked.bytes, both, NULL),
           SHMEMX_KV_OK);
  for (size_t k = 1; k < asked.bytes; ++k) CHECK_AT(value + asked.bytes, k, value[asked.bytes]);
  CHECK_EQ(both[1], asked.bytes);
  *n = both[0];
}
static void get_batch_nbi(Asked asked, unsigned char* value, size_t* n) {
  int status[2];
  size_t both[2];
  shmemx_kv_request_t request;
  memcpy(value + asked.key_bytes, value, asked.key_bytes);
  shmemx_kv_get_batch_nbi(asked.kv, 2, value, asked.key_bytes, value, asked.bytes, both, status, &request);
  shmemx_kv_request_wait(&request);
  for (int i = 0; i < 2; ++i) CHECK_AT(status, i, SHMEMX_KV_OK);
  *n = both[0];
}
static void get_nbi(Asked asked, unsigned char* value, size_t* n) {
  int status;
  shmemx_kv_get_nbi(asked.kv, value, asked.key_bytes, value, asked.bytes, n, &status);
  shmemx_kv_quiet(asked.kv);
  CHECK_EQ(status, SHMEMX_KV_OK);
}
static void get_nbr(Asked asked, unsigned char* value, size_t* n) {
  int status;
  shmemx_kv_request_t request;
  shmemx_kv_get_nbr(asked.kv, value, asked.key_bytes, value, asked.bytes, n, &status, &request);
  shmemx_kv_request_wait(&request);
  CHECK_EQ(status, SHMEMX_KV_OK);
}
static shmemx_kv_call_t call_of(Asked asked, unsigned char* value) {
  return (shmemx_kv_call_t){
      .call = SHMEMX_KV_GET, .key = value, .key_bytes = asked.key_bytes, .old = value, .room = asked.bytes};
}
static void get_in_batch(Asked asked, unsigned char* value, size_t* n) {
  shmemx_kv_call_t call = call_of(asked, value);
  CHECK_EQ(shmemx_kv_batch(asked.kv, 1, &call), SHMEMX_KV_OK);
  *n = call.old_bytes;
}
static void get_in_batch_nbi(Asked asked, unsigned char* value, size_t* n) {
  shmemx_kv_call_t call = call_of(asked, value);
  shmemx_kv_request_t request;
  shmemx_kv_batch_nbi(asked.kv, 1, &call, &request);
  shmemx_kv_request_wait(&request);
  CHECK_EQ(call.status, SHMEMX_KV_OK);
  *n = call.old_bytes;
}

static void (*const gets[])(Asked, unsigned char*, size_t*) = {
    get_now, get_wait, get_batch, get_batch_nbi, get_nbi, get_nbr, get_in_batch, get_in_batch_nbi};
enum { kGets = sizeof gets / sizeof *gets };

/* PE 0 changes the element, of which all bytes are the same; the others read it in all ways. */
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
    check_context("get number %d", i % kGets);
    memcpy(value, key.text, key.n);
    gets[i % kGets]((Asked){kv, key.n, bytes}, value, &n);
    CHECK_EQ(n, bytes);
    for (size_t k = 1; k < bytes; ++k) CHECK_AT(value, k, value[0]);
  }
  check_context("%s", "");
  if (me != 0) shmem_int_atomic_inc(ended, 0);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
  shmem_free(ended);
  free(value);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  test_over_key(40, rounds(6000, 200));
  test_over_key(2000, rounds(6000, 200));
  test_over_key(20000, rounds(800, 80));
  shmem_finalize();
  return 0;
}

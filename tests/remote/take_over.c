/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that are there already become remote memory where they are; the argument says what is done with
 * them. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kWords = 2 << 20, kPiece = 20000 };
static uint64_t of_zeros[kWords];
static uint64_t of_data[kWords] = {7, 8, [kWords / 2] = 9, [kWords - 1] = 10};
static uint64_t piece[kPiece];

/* Four times the local memory, loaded and stored by plain accesses, and by all calls for remote memory. */
static void use(void) {
  of_zeros[1000] = 3;
  const size_t zeros = shmemx_remote_take_over(of_zeros, sizeof of_zeros),
               data = shmemx_remote_take_over(of_data, sizeof of_data);
  CHECK(zeros > sizeof of_zeros - ((size_t)1 << 18) && zeros <= sizeof of_zeros);
  CHECK(data > sizeof of_data - ((size_t)1 << 18) && data <= sizeof of_data);
  for (size_t i = 0; i < kWords; i++) CHECK(of_zeros[i] == (i == 1000 ? 3 : 0));
  CHECK(of_data[0] == 7 && of_data[1] == 8 && of_data[kWords / 2] == 9 && of_data[kWords - 1] == 10);
  for (size_t i = 0; i < kWords; i++) of_zeros[i] = i * 3;
  for (size_t i = 0; i < kWords; i++) of_data[i] += of_zeros[i];
  for (size_t i = 5; i < kWords - 5; i++) CHECK(of_data[i] == i * 3 + (i == kWords / 2 ? 9 : 0));
  shmemx_remote_get(piece, of_zeros + 500000, sizeof piece);
  for (size_t i = 0; i < kPiece; i++) CHECK(piece[i] == (500000 + i) * 3);
  memset(piece, 1, sizeof piece);
  shmemx_remote_put(of_data + 500000, piece, sizeof piece);
  CHECK(memcmp(of_data + 500000, piece, sizeof piece) == 0);
  CHECK(shmemx_pin(of_data + 600000, 100, SHMEMX_NVM_WRITE) == 0);
  shmemx_unpin(of_data + 600000, 100);
  CHECK(shmemx_remote_size(of_data) == 0);
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  CHECK(stats.remote_read_bytes > sizeof of_zeros && stats.remote_write_bytes > sizeof of_zeros);
}

/* Operations of OpenSHMEM between such memory and the symmetric heap. */
static void operations(void) {
  CHECK(shmemx_remote_take_over(of_zeros, sizeof of_zeros) != 0);
  CHECK(shmemx_remote_take_over(of_data, sizeof of_data) != 0);
  for (size_t i = 0; i < kWords; i++) of_zeros[i] = i;
  uint64_t* const symmetric = shmem_malloc(kPiece * sizeof *symmetric);
  CHECK(symmetric != NULL);
  for (size_t at = 0; at + kPiece <= kWords; at += kPiece) {
    shmem_uint64_put(symmetric, of_zeros + at, kPiece, 0);
    shmem_uint64_get(of_data + at, symmetric, kPiece, 0);
  }
  for (size_t i = 0; i < kWords / kPiece * kPiece; i++) CHECK(of_data[i] == i);
  shmem_uint64_atomic_add(&of_data[1000000], 5, 0); /* a variable of one PE */
  CHECK(of_data[1000000] == 1000005);
  shmem_free(symmetric);
}

/* All of such an array, with its first and last bytes, which are no remote memory, to and from another node.
 */
static void transfers(void) {
  uint64_t *const data = malloc(sizeof of_data), *const back = malloc(sizeof of_data);
  CHECK(data != NULL && back != NULL);
  CHECK(shmemx_remote_take_over(data, sizeof of_data) != 0);
  CHECK(shmemx_remote_take_over(back, sizeof of_data) != 0);
  uint64_t* const symmetric = shmem_malloc(sizeof of_data);
  CHECK(symmetric != NULL);
  const int me = shmem_my_pe(), right = right_pe(), left = left_pe();
  for (size_t i = 0; i < kWords; i++) data[i] = i * 7 + (size_t)me;
  shmem_uint64_put(symmetric, data, kWords, right);
  shmem_barrier_all();
  for (size_t i = 0; i < kWords; i++) CHECK_AT(symmetric, i, i * 7 + (size_t)left);
  shmem_uint64_get(back, symmetric, kWords, right);
  for (size_t i = 0; i < kWords; i++) CHECK_AT(back, i, i * 7 + (size_t)me);
  shmem_barrier_all();
  shmem_uint64_iput(symmetric, data, 2, 1, kPiece, right);
  shmem_barrier_all();
  for (size_t i = 0; i < kPiece; i++) CHECK_AT(symmetric, 2 * i, i * 7 + (size_t)left);
  shmem_uint64_iget(back, symmetric, 1, 2, kPiece, right);
  for (size_t i = 0; i < kPiece; i++) CHECK_AT(back, i, i * 7 + (size_t)me);
  shmem_barrier_all();
  shmem_free(symmetric); /* data and back stay until the end: they are remote memory */
}

static void nothing_to_take(void) {
  CHECK(shmemx_remote_take_over(of_zeros, 0) == 0);
  CHECK(shmemx_remote_take_over(piece, 100) == 0); /* said on stderr */
  CHECK(shmemx_remote_take_over(of_zeros, sizeof of_zeros) != 0);
  CHECK(shmemx_remote_take_over(of_zeros, sizeof of_zeros) == 0);
  of_zeros[kWords / 2] = 5;
  CHECK(of_zeros[kWords / 2] == 5);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  shmem_init();
  if (strcmp(what, "use") == 0) use();
  if (strcmp(what, "operations") == 0) operations();
  if (strcmp(what, "transfers") == 0) transfers();
  if (strcmp(what, "nothing_to_take") == 0) nothing_to_take();
  if (strcmp(what, "heap") == 0) shmemx_remote_take_over(shmem_malloc(1 << 20), 1 << 20);
  if (strcmp(what, "variables") == 0 && shmem_my_pe() == 0)
    shmemx_remote_take_over(of_zeros, sizeof of_zeros);
  shmem_finalize();
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* GASNet 4420: the source of a put may lie in memory that cannot be written, which some networks cannot
 * register. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 3 << 20 };

int main(void) {
  static uint64_t signal_word;
  char name[] = "/tmp/atoll-test-XXXXXX";
  shmem_init();
  char* block = shmem_malloc(kBytes);
  char* written = malloc(kBytes);
  Random random = {(uint64_t)shmem_my_pe()};
  fill_random(&random, written, kBytes);
  const int file = mkstemp(name);
  CHECK_CMP(file, >=, 0);
  CHECK_EQ(write(file, written, kBytes), kBytes);
  unlink(name);
  const char* source = mmap(NULL, kBytes, PROT_READ, MAP_PRIVATE, file, 0);
  CHECK(source != MAP_FAILED);
  random.state = (uint64_t)left_pe();
  fill_random(&random, written, kBytes); /* what I shall receive */
  for (int turn = 0; turn < 4; ++turn) {
    memset(block, 0, kBytes);
    shmem_barrier_all();
    if (turn == 0) shmem_putmem(block, source, kBytes, right_pe());
    if (turn == 1) shmem_putmem_nbi(block, source, kBytes, right_pe());
    if (turn == 2) shmem_putmem_signal(block, source, kBytes, &signal_word, 1, SHMEM_SIGNAL_SET, right_pe());
    if (turn == 3) shmem_ibput8(block, source, 100000, 100000, 100000, kBytes / 100000, right_pe());
    shmem_barrier_all();
    CHECK_BYTES(block, written, turn == 3 ? kBytes / 100000 * 100000 : kBytes);
    shmem_barrier_all();
  }
  close(file);
  free(written);
  shmem_finalize();
  return 0;
}

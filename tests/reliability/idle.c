/* SPDX-License-Identifier: BSD-3-Clause */
/* PEs that wait for ever, all of them for PE 1, which does nothing:
 *     idle wait_until|barrier|lock|get_wait
 * Each prints "process <pid>". */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kNobody = 1 };

static long lock;

static void get_what_nobody_puts(shmemx_kv_t table) {
  const long key = 1;
  long value;
  size_t bytes;
  shmemx_kv_get_wait(table, &key, sizeof key, &value, sizeof value, &bytes);
}

int main(int count, char** arguments) {
  (void)count;
  const char* kind = arguments[1];
  shmem_init();
  long* word = shmem_calloc(1, sizeof *word); /* on NVM, if the heap is there */
  shmemx_kv_options_t options;
  memset(&options, 0, sizeof options);
  options.key_bytes = options.value_bytes = sizeof(long);
  options.capacity = 100;
  shmemx_kv_t table;
  if (shmemx_kv_create(&options, &table) != SHMEMX_KV_OK) shmem_global_exit(4);
  const int idles = shmem_my_pe() == kNobody;
  if (idles) shmem_set_lock(&lock);
  shmem_barrier_all();
  printf("process %d\n", (int)getpid());
  fflush(stdout);
  while (idles) pause();
  if (strcmp(kind, "wait_until") == 0) shmem_long_wait_until(word, SHMEM_CMP_NE, 0);
  if (strcmp(kind, "barrier") == 0) shmem_barrier_all();
  if (strcmp(kind, "lock") == 0) shmem_set_lock(&lock);
  if (strcmp(kind, "get_wait") == 0) get_what_nobody_puts(table);
  shmem_global_exit(5); /* nothing of it ends */
}

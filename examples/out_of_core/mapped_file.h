/* SPDX-License-Identifier: BSD-3-Clause
 * What stream.c and merge_sort.c use in place of the NVM heap when asked to (--mmap): one plain file for each
 * PE, mapped as a whole.  Only to compare with: nothing in here is needed with Atoll.
 *
 * Linux has no limit on the page cache that a process may set for itself, so a thread keeps what the PE's
 * file has of it below one: when it comes near, what came first is unmapped, written and dropped, 2 MiB at a
 * time; when there is more, the PE stands still until there is less.  That is what the kernel does with pages
 * that are used in turn, but most of it ahead of need and on another core. */
#ifndef MAPPED_FILE_H
#define MAPPED_FILE_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kChunk = 2 << 20, kSystemPage = 4096 };
static struct {
  int fd;
  char path[512];
  char* begin;
  size_t bytes, used, limit, most; /* most: what the file had of the page cache at any time */
  pthread_t keeper, program;
  atomic_int full, done;
} mapped;

/* Bytes of the page cache that hold [at, at + n) of the file. */
static size_t mapped_resident(size_t at, size_t n) {
  const uint64_t range[2] = {at, n}; /* the system's struct cachestat_range, struct cachestat */
  uint64_t pages[5] = {0};
  const long cachestat = 451;
  if (syscall(cachestat, mapped.fd, range, pages, 0) != 0)
    perror("a limit for mapped files needs Linux 6.5: cachestat"), _exit(1);
  return pages[0] * kSystemPage;
}

static void mapped_drop(const size_t* chunks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    madvise(mapped.begin + chunks[i] * kChunk, kChunk, MADV_DONTNEED); /* tells the cache what is dirty */
    sync_file_range(mapped.fd, (off_t)(chunks[i] * kChunk), kChunk, SYNC_FILE_RANGE_WRITE);
  }
  for (size_t i = 0; i < count; ++i) {
    sync_file_range(mapped.fd, (off_t)(chunks[i] * kChunk), kChunk,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    posix_fadvise(mapped.fd, (off_t)(chunks[i] * kChunk), kChunk, POSIX_FADV_DONTNEED);
  }
}

static void mapped_stand_still(int signal) {
  while (mapped.full) usleep(20);
  (void)signal;
}

/* Looks at what the file has of the page cache, and stops the program as long as that is too much. */
static size_t mapped_look(void) {
  const size_t resident = mapped_resident(0, mapped.bytes);
  const int full = resident > mapped.limit;
  if (resident > mapped.most) mapped.most = resident;
  if (atomic_exchange(&mapped.full, full) == 0 && full) pthread_kill(mapped.program, SIGUSR2);
  return resident;
}

static void* mapped_keep(void* unused) {
  const size_t chunks = mapped.bytes / kChunk;
  size_t *queue = malloc(chunks * sizeof *queue), first = 0, count = 0; /* in the order in which they came */
  char* queued = calloc(chunks, 1);
  if (queue == NULL || queued == NULL) perror("mapped file"), _exit(1);
  while (!mapped.done) {
    size_t resident = mapped_look();
    if (resident < mapped.limit - mapped.limit / 8) {
      usleep(100);
      continue;
    }
    for (size_t i = 0; i < chunks; ++i) {
      if (queued[i] || mapped_resident(i * kChunk, kChunk) == 0) continue;
      queued[i] = 1;
      queue[(first + count++) % chunks] = i;
    }
    while (count > 0 && resident > mapped.limit - mapped.limit / 4) {
      size_t batch[4], n = 0;
      for (; n < 4 && count > 0; ++n, --count, first = (first + 1) % chunks)
        queued[batch[n] = queue[first]] = 0;
      mapped_drop(batch, n);
      resident = mapped_look();
    }
  }
  mapped.full = 0;
  free(queue);
  free(queued);
  return unused;
}

/* The file of this PE in the folder, with room for the bytes; limit 0: none.  The file goes when the PE ends.
 */
static void mapped_open(const char* folder, int pe, size_t bytes, size_t limit) {
  mapped.bytes = (bytes + kChunk - 1) / kChunk * kChunk;
  mapped.limit = limit;
  snprintf(mapped.path, sizeof mapped.path, "%s/atoll_mapped.%ld.%d", folder, (long)getpid(), pe);
  mapped.fd = open(mapped.path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (mapped.fd < 0 || unlink(mapped.path) != 0) perror(mapped.path), exit(1);
  errno = posix_fallocate(mapped.fd, 0, (off_t)mapped.bytes);
  if (errno == 0) mapped.begin = mmap(NULL, mapped.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.fd, 0);
  if (errno != 0 || mapped.begin == MAP_FAILED) perror(mapped.path), exit(1);
  mapped.program = pthread_self();
  sigaction(SIGUSR2, &(struct sigaction){.sa_handler = mapped_stand_still, .sa_flags = SA_RESTART}, NULL);
  if (limit > 0) pthread_create(&mapped.keeper, NULL, mapped_keep, NULL);
}

static void* mapped_malloc(size_t bytes) {
  char* block = mapped.begin + mapped.used;
  mapped.used += (bytes + kChunk - 1) / kChunk * kChunk;
  return block;
}

/* All that was written is with the device. */
static void mapped_sync(void) {
  if (msync(mapped.begin, mapped.bytes, MS_SYNC) != 0) perror(mapped.path), exit(1);
}

static void mapped_close(void) {
  mapped.done = 1;
  if (mapped.limit > 0) pthread_join(mapped.keeper, NULL);
  munmap(mapped.begin, mapped.bytes);
  close(mapped.fd);
}
#endif

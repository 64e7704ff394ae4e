/* SPDX-License-Identifier: BSD-3-Clause */
/* The system refuses what the NVM heap of PE 1 needs: the job ends with one line, or goes on, and never
 * hangs. The argument says what it refuses: a call of this name, which is then this program's and not the C
 * library's, or `map`: any more mappings, without which it goes on.  `persist_slowly`: it refuses nothing,
 * but is slow. */
#include <errno.h>
#include <fcntl.h>
#include <shmemx.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 2 << 20 };
static const char* volatile refused = "";
static int me;
static long syncs; /* calls of fdatasync that have ended */

static int refuses(const char* call, int error) {
  if (strcmp(call, refused) != 0) return 0;
  errno = error;
  return 1;
}

int fdatasync(int fd) {
  if (strcmp(refused, "quick syncs") == 0) usleep(100000);
  const int result = refuses("fdatasync", EIO) ? -1 : (int)syscall(SYS_fdatasync, fd);
  ++syncs;
  return result;
}
int fallocate(int fd, int mode, off_t offset, off_t n) {
  const int makes_room = mode == 0;
  return makes_room && refuses("fallocate", ENOSPC) ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, n);
}
int fsync(int fd) { return refuses("fsync", EIO) ? -1 : (int)syscall(SYS_fsync, fd); }
ssize_t pread(int fd, void* to, size_t n, off_t offset) {
  return refuses("pread", EIO) ? -1 : syscall(SYS_pread64, fd, to, n, offset);
}
ssize_t pwrite(int fd, const void* from, size_t n, off_t offset) {
  return refuses("pwrite", ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, from, n, offset);
}

/* Pages whose neighbours have other rights are mappings of their own. */
static void use_up_mappings(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size_t)1 << 24;
  char* range = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(range != MAP_FAILED);
  size_t at = 0;
  while (at < pages && mprotect(range + at * page, page, PROT_READ) == 0) at += 2;
  CHECK(at < pages);
}

static void refuse(const char* what) {
  if (me == 1) refused = what;
  if (me == 1 && strcmp(what, "map") == 0) use_up_mappings();
}

/* More than there is room for in memory: pages are mapped, written and read. */
static void use_heap(const char* what) {
  char *below = shmem_malloc(kBytes), *bytes = shmem_malloc(kBytes);
  CHECK(below != NULL && bytes != NULL);
  shmem_barrier_all();
  refuse(what);
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kBytes; i += 4096) CHECK_EQ(bytes[i]++, round);
  }
  shmem_barrier_all();
  shmem_free(bytes);
  shmem_free(below);
}

static void persist(const char* what) {
  char* object = shmemx_nvm_open("object", kBytes);
  CHECK(object != NULL);
  object[me] = 1;
  shmem_barrier_all();
  refuse(what);
  shmemx_nvm_persist(object);
  printf("persisted on PE %d\n", me);
}

/* Nobody goes on before all have room for a new epoch. */
static void persist_slowly(const char* what) {
  char* object = shmemx_nvm_open("object", kBytes);
  CHECK(object != NULL);
  refuse(what);
  const long before = syncs;
  shmem_barrier_all();
  shmemx_nvm_persist(object);
  const long there = shmem_long_g(&syncs, 1 - me);
  shmem_barrier_all();
  if (me == 0) CHECK_EQ(there, shmem_long_g(&syncs, 1));
  CHECK_CMP(syncs, >, before);
  shmem_barrier_all();
  shmem_free(object);
}

static const char* file_of_object(void) {
  static char file[4096];
  snprintf(file, sizeof file, "%s/object.pe%d.atoll", getenv("SHMEM_HEAP") + strlen("nvm:"), me);
  return file;
}

/* What another run has left. */
static void remove_object(void) { CHECK(unlink(file_of_object()) == 0 || errno == ENOENT); }

/* NULL on all PEs, which leaves no files behind; there is nothing wrong with the next one. */
static void open_object(const char* what) {
  refuse(what);
  CHECK(shmemx_nvm_open("object", kBytes) == NULL);
  CHECK_EQ(access(file_of_object(), F_OK), -1);
  refused = "";
  char* object = shmemx_nvm_open("object", kBytes);
  CHECK(object != NULL);
  for (size_t i = 0; i < kBytes; i += 4096) CHECK_EQ(object[i], 0);
  shmemx_nvm_persist(object);
  shmem_free(object);
  remove_object();
}

/* Who comes to a block that has been changed in the file is told where it is. */
static void use_damaged(void) {
  enum { kBlock = 4096 };
  unsigned char* object = shmemx_nvm_open("object", kBytes);
  CHECK(object != NULL);
  memset(object, 0xa5, kBytes);
  shmemx_nvm_persist(object);
  shmem_free(object);
  shmem_barrier_all();
  FILE* file = fopen(file_of_object(), "r+");
  unsigned char block[kBlock];
  long last = -1;
  CHECK(file != NULL);
  for (long at = 0; fread(block, kBlock, 1, file) == 1; at += kBlock)
    if (block[0] == 0xa5 && block[kBlock - 1] == 0xa5) last = at;
  CHECK_CMP(last, >, 0);
  if (me == 1) CHECK_EQ(fseek(file, last, SEEK_SET), 0), CHECK_EQ(fputc('?', file), '?');
  fclose(file);
  object = shmemx_nvm_open("object", kBytes);
  CHECK(object != NULL);
  long sum = 0;
  for (size_t i = 0; me == 1 && i < kBytes; i += kBlock) sum += object[i];
  printf("read %ld on PE %d\n", sum, me);
  shmem_barrier_all();
}

int main(int argc, char** argv) {
  CHECK_CMP(argc, >=, 2);
  shmem_init();
  me = shmem_my_pe();
  remove_object();
  if (strcmp(argv[1], "use") == 0) use_heap(argv[2]);
  if (strcmp(argv[1], "persist") == 0) persist(argv[2]);
  if (strcmp(argv[1], "persist_slowly") == 0) persist_slowly("quick syncs");
  if (strcmp(argv[1], "open") == 0) open_object(argv[2]);
  if (strcmp(argv[1], "use_damaged") == 0) use_damaged();
  shmem_finalize();
  return 0;
}

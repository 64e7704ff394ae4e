/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: program WHAT [FILE]
 * A program that knows nothing of OpenSHMEM.  What it prints, and its exit code, do not depend on where its
 * memory is. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "require.h"
#include "stencil.h"

static int stencil(void) {
  double* from = malloc(kCells * sizeof *from);
  double* to = calloc(kCells, sizeof *to);
  REQUIRE(from != NULL && to != NULL);
  const double sum = compute_stencil(from, to);
  printf("%.17g %.17g\n", sum, to[cell(64, 65, 66)]);
  free(from);
  free(to);
  return 0;
}

/* ---- files: a large buffer is read, changed, written, and copied by stdio */

static int files(const char* path) {
  const size_t n = 24 * MIB;
  unsigned char* bytes = malloc(n);
  REQUIRE(bytes != NULL);
  for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)(i * 2654435761U >> 13);
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  REQUIRE(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
  memset(bytes, 0, n);
  REQUIRE(pread(fd, bytes, n, 0) == (ssize_t)n);
  close(fd);
  for (size_t i = 0; i < n; i++) REQUIRE(bytes[i] == (unsigned char)(i * 2654435761U >> 13));
  FILE* stream = fopen(path, "r+");
  REQUIRE(stream != NULL && fread(bytes, 4096, n / 4096, stream) == n / 4096);
  for (size_t i = 0; i < n; i += 4096) bytes[i] = 'x';
  rewind(stream);
  REQUIRE(fwrite(bytes, 4096, n / 4096, stream) == n / 4096 && fclose(stream) == 0);
  bytes = realloc(bytes, 2 * n);
  REQUIRE(bytes != NULL);
  unsigned long sum = 0;
  for (size_t i = 0; i < n; i++) sum = sum * 31 + bytes[i];
  printf("%lu\n", sum);
  free(bytes);
  unlink(path);
  return 0;
}

/* ---- start: by a thread, while another one stores to a variable; children; the exit code */

static volatile long stores;
static volatile int stop;

static void* store_often(void* unused) {
  (void)unused;
  for (long i = 1; !stop; i++) {
    REQUIRE(stores == i - 1); /* the last store is not lost */
    stores = i;
  }
  return NULL;
}

static int code_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int start(const char* self) {
  pthread_t thread;
  pthread_create(&thread, NULL, store_often, NULL);
  while (stores == 0) continue;
  char* block = malloc(4 * MIB);
  REQUIRE(block != NULL);
  memset(block, 5, 4 * MIB);
  stop = 1;
  pthread_join(thread, NULL);
  pid_t child = fork();
  if (child == 0) { /* of the PE: local memory */
    char* own = calloc(3, MIB);
    _exit(own != NULL && own[MIB] == 0 ? 11 : 1);
  }
  REQUIRE(code_of(child) == 11);
  child = fork();
  if (child == 0) { /* a program of its own: local memory, too */
    execl(self, self, "child", (char*)NULL);
    _exit(1);
  }
  REQUIRE(code_of(child) == 12);
  for (size_t i = 0; i < 4 * MIB; i++) REQUIRE(block[i] == 5);
  puts("started");
  return 7;
}

static int child(void) {
  char* block = malloc(2 * MIB);
  REQUIRE(block != NULL);
  memset(block, 1, 2 * MIB);
  free(block);
  return 12;
}

/* ---- endings with memory that was not freed */

static char* kept;

static void use_at_exit(void) {
  for (size_t i = 0; i < 8 * MIB; i += 4096) REQUIRE(kept[i] == 3);
  puts("still there");
}

static void keep(void) {
  kept = malloc(8 * MIB);
  REQUIRE(kept != NULL);
  memset(kept, 3, 8 * MIB);
}

static void* use_for_ever(void* unused) {
  (void)unused;
  for (size_t i = 0;; i = (i + 4096) % (8 * MIB)) kept[i] = 3;
  return NULL;
}

/* More than the servers lend. */
static int full(void) {
  errno = 0;
  char* block = malloc(4096 * MIB);
  printf("%s %d\n", block == NULL ? "NULL" : "a block", errno == ENOMEM);
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "stencil") == 0) return stencil();
  if (strcmp(what, "files") == 0) return files(argv[2]);
  if (strcmp(what, "start") == 0) return start(argv[0]);
  if (strcmp(what, "child") == 0) return child();
  if (strcmp(what, "full") == 0) return full();
  if (strcmp(what, "nothing") == 0) return 3;
  atexit(use_at_exit);
  keep();
  if (strcmp(what, "return") == 0) return 0;
  if (strcmp(what, "exit") == 0) exit(5);
  if (strcmp(what, "_exit") == 0) _exit(6);
  if (strcmp(what, "abort") == 0) abort();
  REQUIRE(strcmp(what, "threads") == 0); /* that run on at exit */
  pthread_t thread;
  for (int i = 0; i < 3; i++) pthread_create(&thread, NULL, use_for_ever, NULL);
  return 8;
}

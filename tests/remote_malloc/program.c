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

#define MIB ((size_t)1 << 20)
#define REQUIRE(condition)                                            \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "line %d: %s: not so\n", __LINE__, #condition); \
      exit(99);                                                       \
    }                                                                 \
  } while (0)

/* ---- stencil: 7 points, two grids, threads with a part of the planes each */

enum { kSide = 128, kSteps = 3, kThreads = 4 };
static double *from, *to;
static pthread_barrier_t step_done;

static size_t cell(int x, int y, int z) { return ((size_t)z * kSide + (size_t)y) * kSide + (size_t)x; }

static void* compute_planes(void* argument) {
  const int me = (int)(intptr_t)argument;
  const int first = 1 + (kSide - 2) * me / kThreads, last = 1 + (kSide - 2) * (me + 1) / kThreads;
  for (int step = 0; step < kSteps; step++) {
    const double* a = step % 2 == 0 ? from : to;
    double* b = step % 2 == 0 ? to : from;
    for (int z = first; z < last; z++)
      for (int y = 1; y < kSide - 1; y++)
        for (int x = 1; x < kSide - 1; x++)
          b[cell(x, y, z)] = 0.4 * a[cell(x, y, z)] +
                             0.1 * (a[cell(x - 1, y, z)] + a[cell(x + 1, y, z)] + a[cell(x, y - 1, z)] +
                                    a[cell(x, y + 1, z)] + a[cell(x, y, z - 1)] + a[cell(x, y, z + 1)]);
    pthread_barrier_wait(&step_done);
  }
  return NULL;
}

static int stencil(void) {
  const size_t n = (size_t)kSide * kSide * kSide;
  from = malloc(n * sizeof *from);
  to = calloc(n, sizeof *to);
  REQUIRE(from != NULL && to != NULL);
  for (size_t i = 0; i < n; i++) from[i] = (double)(i * 2654435761U % 1000);
  memcpy(to, from, n * sizeof *to);
  pthread_barrier_init(&step_done, NULL, kThreads);
  pthread_t threads[kThreads];
  for (intptr_t t = 0; t < kThreads; t++) pthread_create(&threads[t], NULL, compute_planes, (void*)t);
  for (int t = 0; t < kThreads; t++) pthread_join(threads[t], NULL);
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += to[i] * (double)(i % 7);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: statics WHAT [FILE]
 * A program that knows nothing of OpenSHMEM, whose data are static variables.  What it prints, and its exit
 * code, do not depend on where these are. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "require.h"
#include "stencil.h"

enum { kTable = 2 << 20 };
static double grid[2][kCells];
static int small_between = 11;
static unsigned table[kTable] = {2, 3, 5, 7, [kTable / 2] = 1000, [kTable - 1] = 13};
static const unsigned constants[kTable] = {17, [kTable - 1] = 19};
static unsigned char buffer[7 * MIB + 12345];
unsigned char shared_buffer[2 * MIB];

/* Before main: what it stores must not be lost. */
__attribute__((constructor)) static void construct(void) {
  shared_buffer[MIB] = 23;
  table[100] = 29;
}

static int compute(void) {
  for (size_t i = 0; i < kCells; i++) REQUIRE(grid[0][i] == 0);
  const double sum = compute_stencil(grid[0], grid[1]);
  unsigned long primes = 0;
  for (size_t i = 0; i < kTable; i++) primes = primes * 31 + table[i] + constants[i];
  printf("%.17g %.17g %lu %d %d\n", sum, grid[1][cell(64, 65, 66)], primes, small_between,
         shared_buffer[MIB]);
  return 0;
}

/* ---- system calls and stdio with buffers there, and beside them */

static unsigned char value_of(size_t i) { return (unsigned char)(i * 2654435761U >> 13); }

static int files(const char* path) {
  const size_t n = sizeof buffer;
  for (size_t i = 0; i < n; i++) buffer[i] = value_of(i);
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  REQUIRE(fd >= 0 && write(fd, buffer, n) == (ssize_t)n);
  memset(buffer, 0, n);
  for (size_t i = 0; i < kCells; i += 512) grid[0][i] = 1; /* the buffer leaves */
  REQUIRE(pread(fd, buffer, n, 0) == (ssize_t)n);
  for (size_t i = 0; i < n; i++) REQUIRE(buffer[i] == value_of(i));
  const struct iovec list[] = {{&small_between, sizeof small_between}, {table + 1000, 4 * MIB}};
  REQUIRE(preadv(fd, list, 2, 4) == (ssize_t)(sizeof small_between + 4 * MIB));
  int expected;
  memcpy(&expected, buffer + 4, sizeof expected);
  REQUIRE(small_between == expected && memcmp(table + 1000, buffer + 8, 4 * MIB) == 0);
  FILE* stream = fdopen(fd, "r+");
  REQUIRE(stream != NULL && fseek(stream, 0, SEEK_SET) == 0);
  REQUIRE(fread(shared_buffer, 1, sizeof shared_buffer, stream) == sizeof shared_buffer);
  REQUIRE(memcmp(shared_buffer, buffer, sizeof shared_buffer) == 0);
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  for (size_t i = 0; i < kCells; i += 512) grid[1][i] = 1;
  REQUIRE(send(ends[0], buffer + MIB - 7, 60000, 0) == 60000);
  REQUIRE(recv(ends[1], grid[0], 60000, MSG_WAITALL) == 60000 &&
          memcmp(grid[0], buffer + MIB - 7, 60000) == 0);
  unsigned long sum = 0;
  for (size_t i = 0; i < n; i++) sum = sum * 31 + buffer[i];
  strcpy((char*)shared_buffer + MIB, "by puts");
  puts((char*)shared_buffer + MIB);
  printf("%lu\n", sum);
  fclose(stream);
  unlink(path);
  return 5;
}

/* ---- children */

/* They have none of what is remote, and this is none of it: the limit is set above. */
static int child(void) {
  for (size_t i = 0; i < kCells; i++) grid[0][i] = 1;
  const pid_t pid = fork();
  if (pid == 0) {
    small_between = 3; /* is local */
    _exit(small_between + (constants[0] == 17));
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
  for (size_t i = 0; i < kCells; i++) REQUIRE(grid[0][i] == 1);
  printf("%d %d\n", WEXITSTATUS(status), small_between);
  return 0;
}

/* How a child that uses them anyway ends. */
static int child_uses(void) {
  for (size_t i = 0; i < kCells; i++) grid[0][i] = 1;
  const pid_t pid = fork();
  if (pid == 0) _exit(grid[0][kCells / 2] == 1 ? 1 : 2);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  if (WIFSIGNALED(status)) printf("signal %d\n", WTERMSIG(status));
  if (WIFEXITED(status)) printf("exit code %d\n", WEXITSTATUS(status));
  return grid[0][kCells / 2] == 1 ? 0 : 4;
}

/* ---- a handler that passes nothing on, as that of gfortran's programs, and a mask of all signals */

static sigjmp_buf back;
static volatile sig_atomic_t faults;

static void leave(int number) {
  faults += number == SIGSEGV;
  siglongjmp(back, 1);
}

static int handler(void) {
  REQUIRE(signal(SIGSEGV, leave) == SIG_DFL);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  REQUIRE(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
  compute();
  REQUIRE(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
  if (sigsetjmp(back, 1) == 0) *(volatile int*)(size_t)8 = 1;
  REQUIRE(signal(SIGSEGV, SIG_DFL) == leave);
  compute_stencil(grid[0], grid[1]);
  printf("%d\n", (int)faults);
  return 7;
}

static void use_at_exit(void) {
  for (size_t i = 0; i < kCells; i += 99) REQUIRE(grid[0][i] == 1);
  puts("still there");
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "compute") == 0) return compute();
  if (strcmp(what, "files") == 0) return files(argv[2]);
  if (strcmp(what, "child") == 0) return child();
  if (strcmp(what, "child_uses") == 0) return child_uses();
  if (strcmp(what, "handler") == 0) return handler();
  REQUIRE(strcmp(what, "exit") == 0);
  for (size_t i = 0; i < kCells; i++) grid[0][i] = 1;
  atexit(use_at_exit);
  exit(6);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A child process has variables of its own, as after any fork. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#ifdef __SANITIZE_THREAD__
/* jemalloc takes all its locks around a fork, more than the detector of deadlocks can count. */
const char* __tsan_default_options(void);
const char* __tsan_default_options(void) { return "detect_deadlocks=0"; }
#endif

#ifdef __SANITIZE_ADDRESS__
/* A child has one thread only.  What just the stacks of the parent's other threads point to would look leaked
 * to it. */
static volatile int is_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return is_child; }
#define CHILD_BEGINS() (is_child = 1)
#else
#define CHILD_BEGINS() ((void)0)
#endif

static volatile long word = 1;
static volatile char large[1 << 20];

static int code_of(pid_t child) {
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_writes_of_a_child_are_private(void) {
  for (int i = 0; i < 5; ++i) {
    word = 10 + i;
    large[i] = 'p';
    const pid_t child = fork();
    CHECK_CMP(child, >=, 0);
    if (child == 0) {
      const int inherited = word == 10 + i && large[i] == 'p';
      word = 99;
      large[i] = large[sizeof large - 1] = 'c';
      _exit(inherited && word == 99 ? 0 : 1);
    }
    CHECK_EQ(code_of(child), 0);
    CHECK_EQ(word, 10 + i);
    CHECK_AT(large, i, 'p');
    CHECK_AT(large, sizeof large - 1, 0);
  }
}

static void test_writes_of_the_parent_stay_in_the_parent(void) {
  int ready[2];
  char byte = 0;
  word = 1;
  CHECK_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (read(ready[0], &byte, 1) != 1) _exit(2);
    _exit(word == 1 ? 0 : 1);
  }
  word = 2;
  CHECK_EQ(write(ready[1], &byte, 1), 1);
  CHECK_EQ(code_of(child), 0);
  close(ready[0]);
  close(ready[1]);
}

/* fork() for children that may end by exit(). */
static pid_t fork_child(void) {
  fflush(NULL);
  const pid_t child = fork();
  CHECK_CMP(child, >=, 0);
  if (child == 0) CHILD_BEGINS();
  return child;
}

/* A child that ends by exit() runs the handlers that it inherited; it must not take part in the job's end. */
static void test_a_child_may_exit(void) {
  const pid_t child = fork_child();
  if (child == 0) exit(5);
  CHECK_EQ(code_of(child), 5);
  const pid_t quiet_child = fork_child();
  if (quiet_child == 0) exit(0);
  CHECK_EQ(code_of(quiet_child), 0);
}

/* Its calls say so, and end it alone. */
static void test_a_child_is_no_pe(void) {
  const pid_t child = fork_child();
  if (child == 0) {
    int running = -1;
    shmem_query_initialized(&running);
    if (running != 0 || freopen("/dev/null", "w", stderr) == NULL) _exit(2);
    shmem_long_p((long*)&word, 1, 0);
    _exit(3);
  }
  CHECK_EQ(code_of(child), 1);
}

/* KiB of addresses of this process. */
static long addresses(void) {
  long kib = -1;
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  CHECK(status != NULL);
  while (kib < 0 && fgets(line, sizeof line, status) != NULL) sscanf(line, "VmSize: %ld", &kib);
  fclose(status);
  return kib;
}

static void test_forks_leave_nothing_behind(void) {
  enum { kForks = 20 };
  const long before = addresses();
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    CHECK_EQ(code_of(child), 0);
  }
  CHECK_CMP(addresses() - before, <, kForks / 2 * (long)(sizeof large / 1024)); /* each has a copy of `large` */
}

static void test_commands(void) {
  CHECK_EQ(system("exit 3"), 3 << 8);
  FILE* output = popen("echo 17", "r");
  int number = 0;
  CHECK(output != NULL);
  CHECK_EQ(fscanf(output, "%d", &number), 1);
  CHECK_EQ(number, 17);
  CHECK_EQ(pclose(output), 0);
}

int main(void) {
  shmem_init();
  test_writes_of_a_child_are_private();
  test_writes_of_the_parent_stay_in_the_parent();
  test_a_child_may_exit();
  test_a_child_is_no_pe();
  test_forks_leave_nothing_behind();
  test_commands();
  shmem_barrier_all();
  /* The parent's variables are still what its peers reach. */
  shmem_long_p((long*)&word, 1000 + shmem_my_pe(), right_pe());
  shmem_barrier_all();
  CHECK_EQ(word, 1000 + left_pe());
  shmem_finalize();
  return 0;
}

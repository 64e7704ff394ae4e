/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
/* PE 1 crashes: `crash <how>`.  crash_test.py looks for the lines that are marked below. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 2 << 20 };
static long dest[64];
static char* block; /* of the heap, with kBytes */
static long* volatile nowhere;
static volatile int zero;
static void (*volatile no_function)(void);
static void* volatile not_allocated = dest + 1;

static void on_signal(int number) {
  (void)number;
  printf("the program's handler\n");
  fflush(stdout);
  _exit(7);
}

static int overflow(volatile char* before) {
  volatile char room[4096];
  room[0] = before[0];
  return zero == 0 ? overflow(room) + room[0] : 0; /* line: stack */
}

static void* crash_in_a_thread(void* unused) {
  (void)unused;
  *nowhere = 1; /* line: thread */
  return NULL;
}

/* Where the unwinder finds nothing to read. */
static void lose_stack(void) {
#if defined(__x86_64__)
  __asm__ volatile("mov $64, %%rsp; movl $0, 64" ::: "memory");
#else
  __asm__ volatile("mov sp, %0; str xzr, [%0]" ::"r"(64L) : "memory");
#endif
}

static void in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, crash_in_a_thread, NULL);
  pthread_join(thread, NULL);
}

static void* load(void* path) { return dlopen(path, RTLD_NOW); }

/* Another thread reads a file that has no end: the loader's lock is its. */
static void hold_loader(const char* pipe) {
  pthread_t thread;
  pthread_create(&thread, NULL, load, (void*)pipe);
  if (open(pipe, O_WRONLY) < 0) exit(2); /* comes back when the thread has opened it */
}

/* Frames that differ, so that each has a line, and long names: more than a pipe takes. */
#define DOWN(name) name##_whose_name_is_so_long_that_the_names_of_all_frames_are_more_than_a_page_of_text
__attribute__((noinline)) static int DOWN(even)(volatile int depth);
__attribute__((noinline)) static int DOWN(odd)(volatile int depth) { return DOWN(even)(depth - 1) + 1; }
static int DOWN(even)(volatile int depth) {
  if (depth == 0) *nowhere = 1;
  return DOWN(odd)(depth - 1) + 1;
}

/* Crashes while nobody reads what it says of it. */
static void crash_unheard(const char* pipe) {
  const int file = open(pipe, O_RDWR);
  if (fcntl(file, F_SETPIPE_SZ, 4096) < 0 || dup2(file, STDERR_FILENO) < 0) exit(2);
  shmem_barrier_all();
  DOWN(even)(100);
}

/* Crashes when the other one has said so much that it waits. */
static void crash_behind(const char* pipe) {
  const int file = open(pipe, O_RDWR);
  shmem_barrier_all();
  for (int full = 0; full < 4096; usleep(1000)) ioctl(file, FIONREAD, &full);
  *nowhere = 1;
}

static void crash(const char* how) {
  const int me = shmem_my_pe(), other = (me + 1) % shmem_n_pes();
  if (strcmp(how, "store") == 0) *nowhere = 1;                                  /* line: store */
  if (strcmp(how, "put") == 0) shmem_long_put(dest, nowhere, 8, other);         /* line: put */
  if (strcmp(how, "put_nbi") == 0) shmem_putmem_nbi(dest, nowhere, 8, other);   /* line: put_nbi */
  if (strcmp(how, "put_large") == 0) shmem_long_put(dest, nowhere, 64, other);  /* line: put_large */
  if (strcmp(how, "get") == 0) shmem_long_get(nowhere, dest, 8, other);         /* line: get */
  if (strcmp(how, "get_nbi") == 0) shmem_long_get_nbi(nowhere, dest, 1, other); /* line: get_nbi */
  if (strcmp(how, "iget") == 0) shmem_long_iget(nowhere, dest, 2, 1, 4, other); /* line: iget */
  if (strcmp(how, "pe") == 0) shmem_long_p(dest, 1, 99);                        /* line: pe */
  if (strcmp(how, "abort") == 0) abort();                                       /* line: abort */
  if (strcmp(how, "divide") == 0) zero = 7 / zero;                              /* line: divide */
  if (strcmp(how, "illegal") == 0) __builtin_trap();                            /* line: illegal */
  if (strcmp(how, "call") == 0) no_function();                                  /* line: call */
  if (strcmp(how, "stack") == 0) overflow((volatile char*)how);
  if (strcmp(how, "thread") == 0) in_thread();
  if (strcmp(how, "lost_stack") == 0) lose_stack();
  if (strcmp(how, "free") == 0) free(not_allocated); /* line: free */
  if (strcmp(how, "bus") == 0) {
    char* page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(tmpfile()), 0);
    zero = page[0]; /* line: bus */
  }
  if (strcmp(how, "beyond") == 0) {
    for (volatile char* at = block;; at += 1 << 20) zero += *at; /* line: beyond */
  }
  if (strcmp(how, "raise") == 0) raise(SIGSEGV); /* line: raise */
  if (strcmp(how, "outside") == 0) {
    if (fork() == 0) _exit(kill(getppid(), SIGABRT));
    pause();
  }
  if (strcmp(how, "loader") == 0) {
    hold_loader(getenv("PIPE"));
    *nowhere = 1;
  }
  if (strcmp(how, "refused_loader") == 0) {
    hold_loader(getenv("PIPE"));
    shmem_long_p(dest, 1, 99);
  }
  if (strcmp(how, "behind") == 0) (me == 0 ? crash_unheard : crash_behind)(getenv("PIPE"));
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  if (getenv("OWN_HANDLER") != NULL) signal(SIGSEGV, on_signal);
  shmem_init();
  if (getenv("LATE_HANDLER") != NULL) signal(SIGSEGV, on_signal);
  block = shmem_malloc(kBytes);
  shmem_barrier_all();
  const int all = getenv("ALL_CRASH") != NULL;
  if (all || shmem_my_pe() == shmem_n_pes() - 1) crash(arguments[1]);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What limits.py counts: PE 0 makes each call of a job of this kind, under callgrind, which collects while
 * counted() runs and writes a profile after it.  A line of output names the call and how often it was made.
 *
 * usage: oshrun -n 2 [--virtual-nodes 2] calls node|barrier|network|written_down */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { kCalls = 100, kTries = 50 };

static long word, ready = 1;
static long target = 1; /* the PE that does not count */
static shmemx_kv_t table;

typedef void (*Calls)(long n);

/* Its name is what callgrind is told. */
void counted(Calls calls, long n);
__attribute__((noinline, noclone)) void counted(Calls calls, long n) {
  calls(n);
  __asm__ volatile(""); /* else it would jump, and not return here */
}

static void nothing(long n) {
  for (long i = 0; i < n; i++) __asm__ volatile("");
}
static void p(long n) {
  for (long i = 0; i < n; i++) shmem_long_p(&word, i, (int)target);
}
static void put(long n) {
  static const long value = 7;
  for (long i = 0; i < n; i++) shmem_long_put(&word, &value, 1, (int)target);
}
static void g(long n) {
  for (long i = 0; i < n; i++) shmem_long_g(&word, (int)target);
}
static void get(long n) {
  static long value;
  for (long i = 0; i < n; i++) shmem_long_get(&value, &word, 1, (int)target);
}
static void fetch_add(long n) {
  for (long i = 0; i < n; i++) shmem_long_atomic_fetch_add(&word, 1, (int)target);
}
static void add(long n) {
  for (long i = 0; i < n; i++) shmem_long_atomic_add(&word, 1, (int)target);
}
static void put_nbi(long n) {
  static const long value = 7;
  for (long i = 0; i < n; i++) shmem_long_put_nbi(&word, &value, 1, (int)target);
}
static void get_nbi(long n) {
  static long value;
  for (long i = 0; i < n; i++) shmem_long_get_nbi(&value, &word, 1, (int)target);
}
static void put_signal(long n) {
  static const long value = 7;
  static uint64_t signal_word;
  for (long i = 0; i < n; i++)
    shmem_long_put_signal(&word, &value, 1, &signal_word, 1, SHMEM_SIGNAL_SET, (int)target);
}
/* n elements in one call. */
static void iput(long n) {
  static long from[4 * kCalls], to[4 * kCalls];
  shmem_long_iput(to, from, 2, 2, (size_t)n, (int)target);
}
static void wait_until(long n) {
  for (long i = 0; i < n; i++) shmem_long_wait_until(&ready, SHMEM_CMP_EQ, 1);
}
static void fence(long n) {
  for (long i = 0; i < n; i++) shmem_fence();
}
static void quiet(long n) {
  for (long i = 0; i < n; i++) shmem_quiet();
}
static void barrier_all(long n) {
  for (long i = 0; i < n; i++) shmem_barrier_all();
}
static void kv_get(long n) {
  static const long key = 5;
  long value;
  size_t bytes;
  for (long i = 0; i < n; i++) shmemx_kv_get(table, &key, sizeof key, &value, sizeof value, &bytes);
}

static void kv_put(long n) {
  static const long key = 5;
  long value = 7;
  for (long i = 0; i < n; i++) shmemx_kv_put(table, &key, sizeof key, &value, sizeof value);
}
static void kv_insert_remove(long n) {
  long key = 1000;
  for (long i = 0; i < n; i++) {
    shmemx_kv_insert(table, &key, sizeof key, &key, sizeof key);
    shmemx_kv_remove(table, &key, sizeof key);
  }
}
/* n keys in one call. */
static long keys[2 * kCalls];
static void kv_get_batch(long n) {
  static long values[2 * kCalls];
  static size_t bytes[2 * kCalls];
  static int status[2 * kCalls];
  shmemx_kv_get_batch(table, (size_t)n, keys, sizeof keys[0], values, sizeof values[0], bytes, status);
}

static int process; /* of a PE */

static void count(const char* name, Calls calls, long n) {
  counted(calls, n);
  printf("%s %ld\n", name, n);
}

/* The first one may still look up functions. */
static void count_many(const char* name, Calls calls) {
  calls(1);
  count(name, calls, kCalls);
  count(name, calls, 2 * kCalls);
}

/* While the other PE stands still nothing is answered: what is counted goes into a packet behind one that is
 * under way, whatever else the machine does. */
static void stand_still(pid_t other) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)other);
  kill(other, SIGSTOP);
  do {
    FILE* file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) shmem_global_exit(1);
    fclose(file);
  } while (strstr(text, ") T ") == NULL);
}

static void count_beside(pid_t other, const char* name, Calls calls, long n) {
  stand_still(other);
  calls(1);
  count(name, calls, n);
  kill(other, SIGCONT);
  shmem_quiet();
}

/* Sometimes the library looks at the network as well, by the clock, or finds its agent awake, as it mostly is
 * on a busy machine: the cheapest of many is what the call takes by itself. */
static void count_cheapest(const char* name, Calls calls, long fewer, long more) {
  const pid_t other = shmem_int_g(&process, (int)target);
  for (int i = 0; i < kTries; i++) {
    count_beside(other, name, calls, fewer);
    count_beside(other, name, calls, more);
  }
}
static void count_single(const char* name, Calls calls) { count_cheapest(name, calls, 1, 2); }

/* Where the other PE has come before: what is counted is no waiting. */
static void count_barriers(void) {
  for (int i = 0; i < kTries; i++) {
    if (shmem_my_pe() == 0) {
      usleep(2000);
      count("barrier_all", barrier_all, 0);
      count("barrier_all", barrier_all, 1);
    } else {
      barrier_all(1);
    }
  }
}

static void count_on_node(void) {
  count_many("nothing", nothing);
  count_many("p", p);
  count_many("put", put);
  count_many("g", g);
  count_many("get", get);
  count_many("fetch_add", fetch_add);
  count_many("wait_until", wait_until);
  count_many("fence", fence);
  count_many("quiet", quiet);
  count_many("kv_get", kv_get);
  count_many("kv_put", kv_put);
  count_many("kv_insert_remove", kv_insert_remove);
  count_many("kv_get_batch", kv_get_batch); /* each key of it */
}

static void count_written_down(void) {
  count_many("p", p);
  count_many("put", put);
  count_many("g", g);
}

static void count_on_network(void) {
  count_single("remote_add", add);
  count_single("remote_p", p);
  count_single("remote_put_nbi", put_nbi);
  count_single("remote_get_nbi", get_nbi);
  count_single("remote_put_signal", put_signal);
  count_cheapest("remote_iput", iput, kCalls / 2, kCalls); /* each element of it */
}

int main(int argc, char** argv) {
  shmem_init();
  const char* kind = argc > 1 ? argv[1] : "";
  if (strcmp(kind, "node") == 0) {
    const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
    if (shmemx_kv_create(&options, &table) != SHMEMX_KV_OK) shmem_global_exit(1);
    for (long i = 0; i < 2 * kCalls; i++) {
      keys[i] = i;
      if (shmem_my_pe() == 0) shmemx_kv_put(table, &i, sizeof i, &i, sizeof i);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) count_on_node();
  } else if (strcmp(kind, "network") == 0) {
    process = getpid();
    shmem_barrier_all();
    if (shmem_my_pe() == 0) count_on_network();
  } else if (strcmp(kind, "written_down") == 0) {
    if (shmem_my_pe() == 0) count_written_down();
  } else if (strcmp(kind, "barrier") == 0) {
    count_barriers();
  }
  shmem_finalize();
  return 0;
}

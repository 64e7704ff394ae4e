/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that never end by themselves, each in its own way: what they wait for is told by who asks
 * (waits_test.py). */
#include <dirent.h>
#include <pthread.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long locks[2], word, other_word, held;
static int me, np;

static void compute(void) {
  for (;;) pause();
}

static void barrier(void) {
  if (me == np - 1) compute();
  shmem_barrier_all();
}

static void nap(void) {
  if (me == 0 && sleep(300) != 0) fputs("a sleep was cut short\n", stderr);
  shmem_barrier_all();
}

static void reduce(void) {
  static int source, dest;
  if (me == 0) compute();
  shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &dest, &source, 1);
}

static void allocate(void) {
  if (me == 1) compute();
  shmem_malloc(64);
}

static void word_never_set(void) {
  long* on_heap = shmem_calloc(8, sizeof(long));
  shmem_long_wait_until(&on_heap[me], SHMEM_CMP_EQ, 1 + me);
}

/* The first waits for each word's own value, of which one is there; the second for any of them. */
static void words_never_set(void) {
  static long words[3] = {7, 0, 0};
  if (me == 0) shmem_long_wait_until_all_vector(words, 3, NULL, SHMEM_CMP_GE, (const long[]){7, 8, 9});
  shmem_long_wait_until_any(words, 3, NULL, SHMEM_CMP_LT, 0);
}

static void* wait_for_other_word(void* unused) {
  shmem_long_wait_until(&other_word, SHMEM_CMP_LT, -5);
  return unused;
}

static void threads(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_other_word, NULL);
  shmem_long_wait_until(&word, SHMEM_CMP_GT, 7);
}

/* PE 0 has the lock for ever; the others queue up in the order of their numbers. */
static void lock(void) {
  if (me == 0) {
    shmem_set_lock(&locks[0]);
    shmem_long_p(&held, 1, 1 % np);
    compute();
  }
  shmem_long_wait_until(&held, SHMEM_CMP_EQ, 1);
  if (me + 1 < np) shmem_long_p(&held, 1, me + 1);
  shmem_set_lock(&locks[0]);
}

/* Each has what the other wants; the rest waits for both. */
static void circle(void) {
  if (me < 2) shmem_set_lock(&locks[me]);
  shmem_barrier_all();
  if (me < 2) shmem_set_lock(&locks[1 - me]);
  shmem_barrier_all();
}

/* Two synchronize in a team while the rest, and they, should do so in the world. */
static void mismatch(void) {
  shmem_team_t pair;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
  if (me == 0)
    shmem_team_sync(pair);
  else
    shmem_barrier_all();
}

/* One makes a call more, in which nobody is waited for: it expects of others what belongs to their next call. */
static void once_too_often(void) {
  static long from[4], to[4];
  if (me == 0) shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, sizeof *from, 0);
  for (;;) shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, sizeof *from);
}

static long sync_of_all[SHMEM_BARRIER_SYNC_SIZE], sync_of_some[SHMEM_BARRIER_SYNC_SIZE];

/* The same PEs have done something else before. */
static void active_set_of_all(void) {
  shmem_sync_all();
  if (me == np - 1) compute();
  shmem_barrier(0, 0, np, sync_of_all);
}

static void active_set(void) {
  if (me < np - 1) shmem_sync(0, 0, np - 1, sync_of_some);
  if (me < np - 2) shmem_barrier(0, 0, np - 1, sync_of_some);
  compute();
}

static void destroy(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, NULL, 0, &team);
  shmem_team_sync(team);
  if (me == np - 1) compute();
  shmem_team_destroy(team);
}

/* The last PE does not even poll, so what goes to another node is not answered. */
static void stopped(void) {
  static long got;
  shmem_barrier_all();
  if (me == np - 1) raise(SIGSTOP);
  if (me == 0)
    for (;;) shmem_long_get(&got, &word, 1, np - 1);
  if (me == 1)
    for (;;) shmem_long_p(&word, 1, np - 1), shmem_quiet();
  shmem_barrier_all();
}

/* Stops the process, and waits until it has. */
static void stop(int pid) {
  char name[32], text[256];
  snprintf(name, sizeof name, "/proc/%d/stat", pid);
  kill(pid, SIGSTOP);
  for (const char* state = NULL; state == NULL || state[2] != 'T';) {
    FILE* file = fopen(name, "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) abort();
    fclose(file);
    state = strrchr(text, ')');
  }
}

/* Each of the first four completes what it has put to the last, which is stopped, by another call. */
static void quiets(void) {
  static int pid;
  shmem_ctx_t ctx;
  shmem_ctx_create(0, &ctx);
  pid = getpid();
  shmem_barrier_all();
  const int last = shmem_int_g(&pid, np - 1);
  if (me != 0) ctx = SHMEM_CTX_DEFAULT;
  shmem_ctx_long_p(ctx, &word, 1, np - 1); /* they are connected */
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  if (me == np - 1) {
    for (int pe = 0; pe < np - 1; ++pe) shmem_long_p(&held, 1, pe);
    shmem_quiet();
    compute();
  }
  shmem_long_wait_until(&held, SHMEM_CMP_EQ, 1);
  shmem_barrier(0, 0, np - 1, sync_of_some); /* nobody waits for the last one any more */
  stop(last);
  shmem_ctx_long_p(ctx, &word, 1, np - 1);
  if (me == 0) shmem_ctx_quiet(ctx);
  if (me == 1) shmem_barrier_all();
  if (me == 2) shmem_barrier(0, 0, np, sync_of_all);
  if (me == 3) shmem_pe_quiet(&(int){np - 1}, 1);
}

/* As before, and what goes there waits in packets. */
static void session(void) {
  shmem_barrier_all();
  if (me == np - 1) raise(SIGSTOP);
  if (me == 0) {
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (;;) shmem_long_p(&word, 1, np - 1);
  }
  shmem_barrier_all();
}

static void leave(void) {
  if (me == np - 1) exit(0);
  shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
}

/* Its implied shmem_finalize meets the others' barrier, and then waits for theirs. */
static void leave_before_a_barrier(void) {
  if (me == np - 1) exit(0);
  shmem_barrier_all();
}

/* The last PE leaves and the first waits, but the one between them sees to it that the job ends. */
static void leave_and_compute(void) {
  if (me == np - 1) exit(0);
  if (me == 0) shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
  if (me == 0) return;
  usleep(300000); /* time enough for the launcher to be wrong */
  shmem_long_p(&word, 1, 0);
}

/* The same, but in the end it waits as well. */
static void leave_and_get_stuck(void) {
  if (me == np - 1) exit(0);
  if (me == 1) usleep(300000);
  shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
}

/* A key that nobody inserts, on the last PE. */
static void key(void) {
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = 100};
  shmemx_kv_t kv;
  if (shmemx_kv_create(&options, &kv) != SHMEMX_KV_OK) exit(1);
  long wanted = 0, value;
  while (shmemx_kv_pe(kv, &wanted, 5) != np - 1) ++wanted;
  shmemx_kv_get_wait(kv, &wanted, 5, &value, sizeof value, NULL);
}

/* Whether no thread of the process runs. */
static int has_stopped(int pid) {
  char name[300];
  snprintf(name, sizeof name, "/proc/%d/task", pid);
  DIR* threads = opendir(name);
  int all = threads != NULL;
  for (struct dirent* one; all && (one = readdir(threads)) != NULL;) {
    char state = 'T';
    snprintf(name, sizeof name, "/proc/%d/task/%s/stat", pid, one->d_name);
    FILE* stat = one->d_name[0] == '.' ? NULL : fopen(name, "r");
    if (stat != NULL && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = '?';
    if (stat != NULL) fclose(stat);
    all = state == 'T';
  }
  if (threads != NULL) closedir(threads);
  return all;
}

/* Elements and pages of the last PE, which is stopped in a barrier. */
static void far_away(void) {
  enum { kWords = 8192 };
  static long got[kWords];
  static int pid;
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = 100};
  shmemx_kv_t kv;
  long* words = shmem_malloc_with_hints(sizeof got, SHMEMX_MALLOC_NVM);
  if (shmemx_kv_create(&options, &kv) != SHMEMX_KV_OK || words == NULL) exit(1);
  long wanted = 0;
  while (shmemx_kv_pe(kv, &wanted, 5) != np - 1) ++wanted;
  pid = getpid();
  shmem_barrier_all();
  const int last = shmem_int_g(&pid, np - 1);
  if (me < np - 1) shmem_sync(0, 0, np - 1, sync_of_some);
  if (me == 0) kill(last, SIGSTOP);
  while (me == 0 && !has_stopped(last)) usleep(1000);
  if (me < np - 1) shmem_sync(0, 0, np - 1, sync_of_some);
  if (me == 0) shmemx_kv_get(kv, &wanted, 5, got, sizeof *got, NULL);
  for (int i = 0; me == 1 && i < 3; ++i) shmemx_kv_put_nbi(kv, &wanted, 5, got, sizeof *got, NULL);
  if (me == 1) shmemx_kv_quiet(kv);
  if (me == 2) shmem_long_get(got, words, kWords, np - 1);
  if (me == 3) shmem_long_g(words, np - 1);
  shmem_barrier_all();
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"barrier", barrier},
             {"reduce", reduce},
             {"malloc", allocate},
             {"word", word_never_set},
             {"words", words_never_set},
             {"threads", threads},
             {"lock", lock},
             {"circle", circle},
             {"mismatch", mismatch},
             {"once_too_often", once_too_often},
             {"active_set_of_all", active_set_of_all},
             {"active_set", active_set},
             {"destroy", destroy},
             {"stopped", stopped},
             {"quiets", quiets},
             {"session", session},
             {"leave", leave},
             {"leave_before_a_barrier", leave_before_a_barrier},
             {"compute", compute},
             {"nap", nap},
             {"key", key},
             {"far_away", far_away},
             {"leave_and_compute", leave_and_compute},
             {"leave_and_get_stuck", leave_and_get_stuck}};

int main(int argc, char** argv) {
  int provided;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 1;
  me = shmem_my_pe();
  np = shmem_n_pes();
  if (me == 0) puts("started"), fflush(stdout);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) cases[i].run();
  shmem_finalize();
  return 0;
}

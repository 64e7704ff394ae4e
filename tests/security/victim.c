/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: victim STOP
 * What strangers would disturb: puts, gets, atomics, signals and a hash table, each checked, twice and until
 * there is a file STOP. PE 0 says "ready" first, and at the end how many messages and connections of
 * strangers all PEs have refused.
 *
 * A test that is to get through to what is behind the tokens of connections
 * (transports/ofi/connection_tokens.hpp) names a file in VICTIM_TELLS. There this program tells, a line for
 * each connection of its own, the port that it goes to, the token, and what libfabric has said next.  A test
 * that is to know the job's secrets names one in VICTIM_SECRETS: a line for each random number of 8 bytes,
 * with the process, and one with the address of a word that nobody uses. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { words = 4096 };

static uint64_t untouched[words];
static uint64_t sent[words], copy[words], received, counter, refused, all_refused;
static uint64_t refused_connections, all_refused_connections;
static int stop;

enum { token_bytes = 16, most_descriptors = 1024, most_said = 512 };

static unsigned char tokens[most_descriptors][token_bytes], has_begun[most_descriptors];

static void tell(int connection, const unsigned char* said, size_t n) {
  const char* name = getenv("VICTIM_TELLS");
  struct sockaddr_in to;
  socklen_t length = sizeof to;
  if (name == NULL || n > most_said || getpeername(connection, (struct sockaddr*)&to, &length) != 0) return;
  char line[16 + 2 * (token_bytes + most_said)];
  int end = snprintf(line, sizeof line, "%d ", ntohs(to.sin_port));
  for (int i = 0; i < token_bytes; ++i) end += sprintf(line + end, "%02x", tokens[connection][i]);
  line[end++] = ' ';
  for (size_t i = 0; i < n; ++i) end += sprintf(line + end, "%02x", said[i]);
  line[end++] = '\n';
  const int file = open(name, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(file, line, (size_t)end) != end) abort();
  close(file);
}

/* Instead of the system's, for libatoll and libfabric: a program's own functions come first. */
ssize_t send(int connection, const void* bytes, size_t n, int flags) {
  if (connection < most_descriptors && flags == (MSG_DONTWAIT | MSG_NOSIGNAL) && n == token_bytes) {
    memcpy(tokens[connection], bytes, n);
    has_begun[connection] = 1;
  } else if (connection < most_descriptors && has_begun[connection]) {
    has_begun[connection] = 0;
    tell(connection, bytes, n);
  }
  return sendto(connection, bytes, n, flags, NULL, 0);
}

static uint64_t spare = 0x5ca1ab1e0ddba115;

static void tell_secret(const char* what, uint64_t value) {
  const char* name = getenv("VICTIM_SECRETS");
  if (name == NULL) return;
  char line[64];
  const int n = snprintf(line, sizeof line, "%s %ld %016lx\n", what, (long)getpid(), (unsigned long)value);
  const int file = open(name, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(file, line, (size_t)n) != n) abort();
  close(file);
}

ssize_t getrandom(void* bytes, size_t n, unsigned flags) {
  const ssize_t got = syscall(SYS_getrandom, bytes, n, flags);
  uint64_t number;
  if (got == (ssize_t)sizeof number) memcpy(&number, bytes, sizeof number), tell_secret("random", number);
  return got;
}

static void check(int right, const char* what, long round) {
  if (right) return;
  fprintf(stderr, "PE %d: %s is wrong in round %ld\n", shmem_my_pe(), what, round);
  shmem_global_exit(1);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  shmem_init();
  if (shmem_my_pe() == 0) tell_secret("spare", (uint64_t)(uintptr_t)&spare);
  const int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes, last = (me + npes - 1) % npes;
  uint64_t* heap = shmem_malloc(words * sizeof *heap);
  for (int i = 0; i < words; ++i) untouched[i] = heap[i] = (uint64_t)i * 0x9e3779b97f4a7c15u;
  const shmemx_kv_options_t options = {
      .key_bytes = sizeof(uint64_t), .value_bytes = sizeof(uint64_t), .capacity = 1000};
  shmemx_kv_t table;
  check(shmemx_kv_create(&options, &table) == SHMEMX_KV_OK, "a table", 0);
  shmem_barrier_all();
  if (me == 0) printf("ready\n"), fflush(stdout);
  long round = 0;
  for (int over = 0; !over; ++round) {
    for (int i = 0; i < words; ++i) copy[i] = (uint64_t)round << 32 | (uint64_t)me << 16 | (uint64_t)i;
    shmem_uint64_put_signal(sent, copy, words, &received, (uint64_t)round + 1, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(&received, SHMEM_CMP_EQ, (uint64_t)round + 1);
    for (int i = 0; i < words; ++i)
      check(sent[i] == ((uint64_t)round << 32 | (uint64_t)last << 16 | (uint64_t)i), "a put", round);
    for (int i = 0; i < 100; ++i) shmem_uint64_atomic_inc(&counter, next);
    shmem_quiet();
    check(shmem_uint64_atomic_fetch(&counter, next) == 100 * ((uint64_t)round + 1), "a counter", round);
    shmem_uint64_get(copy, heap, words, next);
    for (int i = 0; i < words; ++i) {
      const uint64_t expected = (uint64_t)i * 0x9e3779b97f4a7c15u;
      check(copy[i] == expected && heap[i] == expected && untouched[i] == expected, "what nobody changes",
            round);
    }
    for (uint64_t i = 0; i < 10; ++i) {
      const uint64_t key = (uint64_t)me << 32 | i, value = (uint64_t)round + i;
      uint64_t found = 0;
      size_t bytes = 0;
      check(shmemx_kv_put(table, &key, sizeof key, &value, sizeof value) == SHMEMX_KV_OK,
            "a put into the table", round);
      check(shmemx_kv_get(table, &key, sizeof key, &found, sizeof found, &bytes) == SHMEMX_KV_OK &&
                found == value,
            "an element of the table", round);
    }
    if (me == 0) stop = round > 0 && access(argv[1], F_OK) == 0;
    shmem_barrier_all();
    over = shmem_int_g(&stop, 0);
    shmem_barrier_all();
  }
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  refused = stats.refused_messages;
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &all_refused, &refused, 1);
  refused_connections = stats.refused_connections;
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &all_refused_connections, &refused_connections, 1);
  if (me == 0)
    printf("%ld rounds, %lu messages and %lu connections refused\n", round, (unsigned long)all_refused,
           (unsigned long)all_refused_connections);
  shmemx_kv_destroy(table);
  shmem_free(heap);
  shmem_finalize();
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Sample sort of a file: PE 0 writes random records, every PE reads its part, learns from samples which keys
 * belong to which PE, reserves room there with an atomic and puts its records, and sorts what it got.
 *
 *   oshcc -O2 sort.c -o sort && oshrun -n 4 ./sort [records] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kSamples = 64 }; /* of each PE */
typedef struct {
  uint64_t key, payload;
} Record;
static char path[256];                           /* PE 0 tells where the file is */
static size_t received;                          /* records that have room reserved here */
static uint64_t low, high, checksum, disordered; /* what PEs tell each other to verify */

static int by_key(const void* a, const void* b) {
  const uint64_t x = ((const Record*)a)->key, y = ((const Record*)b)->key;
  return (x > y) - (x < y);
}

static int generate(size_t records) {
  const char* folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/atoll_sort.%ld", folder != NULL ? folder : "/tmp", (long)getpid());
  FILE* out = fopen(path, "wx");
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; out != NULL && i < records; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* xorshift64 */
    fwrite(&(Record){x, i}, sizeof(Record), 1, out);
  }
  return out != NULL && fclose(out) == 0;
}

static void die(const char* what) { perror(what), shmem_global_exit(1); }
/* On PE 0: whether anything is out of order, lost or changed. */
static int verify(const Record* mine, size_t count, const Record* inbox) {
  low = received > 0 ? inbox[0].key : UINT64_MAX;
  high = received > 0 ? inbox[received - 1].key : 0;
  uint64_t sum = 0, higher = 0; /* what came out minus what went in, which is 0 over all PEs */
  for (size_t i = 0; i < count; ++i) sum -= mine[i].key * (mine[i].payload + 1) + 1;
  for (size_t i = 0; i < received; ++i) sum += inbox[i].key * (inbox[i].payload + 1) + 1;
  shmem_atomic_add(&checksum, sum, 0);
  shmem_barrier_all();
  for (int pe = 0; pe < shmem_my_pe(); ++pe) higher += shmem_g(&high, pe) > low;
  shmem_atomic_add(&disordered, higher, 0);
  shmem_barrier_all();
  return shmem_my_pe() == 0 && (checksum != 0 || disordered != 0);
}

int main(int argc, char** argv) {
  const size_t total = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  const size_t n = (size_t)npes, first = total * (size_t)me / n, count = total * (size_t)(me + 1) / n - first;
  const size_t room = total / n * 2 + 1000;
  Record* inbox = shmem_malloc(room * sizeof(Record));
  Record* samples = shmem_malloc(n * kSamples * sizeof(Record));
  Record* mine = malloc((count + 1) * sizeof(Record));
  if (inbox == NULL || samples == NULL || mine == NULL) die("sort: memory");
  if (me == 0 && !generate(total)) die(path);
  shmem_barrier_all();
  if (me != 0) shmem_getmem(path, path, sizeof path, 0);
  const size_t bytes = count * sizeof(Record);
  FILE* in = fopen(path, "r");
  if (in == NULL || pread(fileno(in), mine, bytes, (off_t)(first * sizeof(Record))) != (ssize_t)bytes)
    die(path);
  fclose(in);
  shmem_barrier_all();
  if (me == 0) unlink(path);
  struct timespec start, end;
  timespec_get(&start, TIME_UTC);
  qsort(mine, count, sizeof *mine, by_key);
  Record few[kSamples] = {{0, 0}};
  for (size_t i = 0; i < kSamples && count > 0; ++i) few[i] = mine[i * count / kSamples];
  for (int pe = 0; pe < npes; ++pe) shmem_putmem(samples + me * kSamples, few, sizeof few, pe);
  shmem_barrier_all();
  qsort(samples, n * kSamples, sizeof *samples, by_key);
  for (size_t i = 0, pe = 0; pe < n; ++pe) { /* the records below the next PE's first sample go to `pe` */
    size_t next = i;
    while (next < count && (pe + 1 == n || mine[next].key < samples[(pe + 1) * kSamples].key)) ++next;
    const size_t at = shmem_atomic_fetch_add(&received, next - i, (int)pe);
    if (at + (next - i) > room) die("sort: the samples were unlucky; records");
    shmem_putmem_nbi(inbox + at, mine + i, (next - i) * sizeof *mine, (int)pe);
    i = next;
  }
  shmem_barrier_all();
  qsort(inbox, received, sizeof *inbox, by_key);
  timespec_get(&end, TIME_UTC);
  const int wrong = verify(mine, count, inbox);
  const double seconds = difftime(end.tv_sec, start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  if (me == 0)
    printf("sorted %zu records in %.3f s, %.3g records/s: %s\n", total, seconds, (double)total / seconds,
           wrong ? "WRONG" : "order and checksum verified");
  shmem_finalize();
  return wrong;
}

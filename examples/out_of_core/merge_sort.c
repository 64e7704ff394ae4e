/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts records that need not fit into memory: every PE learns from samples which keys belong to which PE,
 * sends its records there in large pieces, sorts what it got run by run in private memory, and merges the
 * runs.
 *
 *   oshcc -O3 merge_sort.c -o merge_sort && oshrun -n 4 ./merge_sort [MiB of records of a PE] [MiB of a run]
 *   oshrun -n 4 -x SHMEM_HEAP=nvm:/mnt/ssd -x SHMEM_SYMMETRIC_SIZE=3g -x SHMEM_NVM_CACHE=1g ./merge_sort 1000
 * 64 oshrun -n 4 ./merge_sort 1000 64 --mmap /mnt/ssd 256    plain files; 256 MiB of page cache for each PE
 */
#include "mapped_file.h" /* first: it asks for more of the system's headers */

#include <shmemx.h>
#include <time.h>

enum { kSamples = 256, kPiece = 1 << 14, kDigits = 256 }; /* samples of a PE; records sent at a time */
typedef struct {
  uint64_t key, payload;
} Record;
static struct {
  size_t count, room, run; /* records of a PE at first, and room for them later; records of a run */
  Record *records, *inbox; /* on NVM, or in a mapped file; the merged records go where the first ones were */
  uint64_t* splitters;     /* where the keys of PE 1, 2, ... begin */
  uint64_t in, out;        /* checksums */
  int me, npes;
  int* files; /* of all PEs */
} my;
static size_t received; /* records for this PE that have room reserved in its inbox */
static uint64_t samples[kSamples], low, high, verdict[3], verdicts[3]; /* out of order, checksum, records */
static int opened[2]; /* process and file descriptor of the PE's file */

static void die(const char* what) { fprintf(stderr, "merge_sort: %s\n", what), shmem_global_exit(1); }
static uint64_t digest(Record r) { return r.key * (2 * r.payload + 1) + 1; }
static int by_value(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

static void make_records(void) {
  uint64_t x = 88172645463325252u + 0x9E3779B97F4A7C15u * (uint64_t)my.me;
  for (size_t i = 0; i < my.count; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* xorshift64 */
    my.in += digest(my.records[i] = (Record){x, i});
  }
}

static void choose_splitters(void) {
  uint64_t* all = shmem_malloc(sizeof samples * (size_t)my.npes);
  for (size_t i = 0; i < kSamples; ++i) samples[i] = my.records[my.count * i / kSamples].key;
  shmem_uint64_fcollect(SHMEM_TEAM_WORLD, all, samples, kSamples);
  memcpy(my.splitters, all, sizeof samples * (size_t)my.npes);
  qsort(my.splitters, kSamples * (size_t)my.npes, sizeof *all, by_value);
  for (int pe = 1; pe < my.npes; ++pe) my.splitters[pe - 1] = my.splitters[pe * kSamples];
  shmem_free(all);
}

static void send(const Record* piece, size_t n, int pe) {
  const size_t at = shmem_atomic_fetch_add(&received, n, pe);
  if (at + n > my.room) die("the samples were unlucky");
  if (mapped.begin == NULL) {
    shmem_putmem(my.inbox + at, piece, n * sizeof *piece, pe);
    return;
  }
  const off_t offset = (char*)(my.inbox + at) - mapped.begin;
  if (pwrite(my.files[pe], piece, n * sizeof *piece, offset) != (ssize_t)(n * sizeof *piece)) die("pwrite");
}

static void distribute(void) {
  Record* pieces = malloc((size_t)my.npes * kPiece * sizeof(Record));
  size_t* filled = calloc((size_t)my.npes, sizeof *filled);
  if (pieces == NULL || filled == NULL) die("memory");
  for (size_t i = 0; i < my.count; ++i) {
    const Record r = my.records[i];
    int pe = 0;
    while (pe < my.npes - 1 && r.key >= my.splitters[pe]) ++pe;
    Record* piece = pieces + (size_t)pe * kPiece;
    piece[filled[pe]++] = r;
    if (filled[pe] == kPiece) send(piece, kPiece, pe), filled[pe] = 0;
  }
  for (int pe = 0; pe < my.npes; ++pe) send(pieces + (size_t)pe * kPiece, filled[pe], pe);
  free(pieces), free(filled);
}

/* Sorts by key, a byte at a time from the lowest; both arrays are private. */
static Record* sort_run(Record* from, Record* to, size_t n) {
  for (int shift = 0; shift < 64; shift += 8) {
    size_t at[kDigits] = {0}, next = 0;
    for (size_t i = 0; i < n; ++i) ++at[from[i].key >> shift & 255];
    for (int d = 0; d < kDigits; ++d) next += at[d], at[d] = next - at[d];
    for (size_t i = 0; i < n; ++i) to[at[from[i].key >> shift & 255]++] = from[i];
    Record* const sorted = to;
    to = from, from = sorted;
  }
  return from;
}

static void sort_runs(void) {
  Record *run = malloc(my.run * sizeof *run), *other = malloc(my.run * sizeof *other);
  if (run == NULL || other == NULL) die("memory for a run");
  for (size_t first = 0; first < received; first += my.run) {
    const size_t n = received - first < my.run ? received - first : my.run;
    memcpy(run, my.inbox + first, n * sizeof *run);
    memcpy(my.inbox + first, sort_run(run, other, n), n * sizeof *run);
  }
  free(run), free(other);
}

typedef struct {
  uint64_t key;
  const Record *next, *end;
} Run;

/* The first of the heap has a new key: it goes down to where it belongs. */
static void sink(Run* heap, size_t n) {
  const Run run = heap[0];
  size_t at = 0;
  for (size_t child = 1; child < n; child = 2 * at + 1) {
    child += child + 1 < n && heap[child + 1].key < heap[child].key;
    if (run.key <= heap[child].key) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = run;
}

static void merge(void) {
  size_t n = 0;
  Run* heap = malloc((received / my.run + 1) * sizeof *heap);
  if (heap == NULL) die("memory");
  for (size_t first = 0; first < received; first += my.run) {
    const size_t end = received - first < my.run ? received : first + my.run;
    heap[n++] = (Run){my.inbox[first].key, my.inbox + first, my.inbox + end};
  }
  qsort(heap, n, sizeof *heap, by_value); /* the key comes first in it */
  if (mapped.begin == NULL) shmemx_overwrite(my.records, received * sizeof *my.records);
  for (Record* to = my.records; n > 0; ++to) {
    *to = *heap[0].next++;
    if (heap[0].next == heap[0].end)
      heap[0] = heap[--n];
    else
      heap[0].key = heap[0].next->key;
    sink(heap, n);
  }
  free(heap);
}

/* Reads everything back.  0: the records of all PEs are those that there were, and in order. */
static int check(void) {
  uint64_t disorder = 0;
  for (size_t i = 0; i < received; ++i) {
    my.out += digest(my.records[i]);
    disorder += i > 0 && my.records[i].key < my.records[i - 1].key;
  }
  low = received > 0 ? my.records[0].key : UINT64_MAX;
  high = received > 0 ? my.records[received - 1].key : 0;
  if (mapped.begin != NULL) mapped_sync();
  shmem_barrier_all();
  for (int pe = 0; pe < my.me; ++pe) disorder += shmem_g(&high, pe) > low;
  verdict[0] = disorder, verdict[1] = my.out - my.in, verdict[2] = received - my.count;
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, verdicts, verdict, 3);
  return verdicts[0] != 0 || verdicts[1] != 0 || verdicts[2] != 0;
}

static void open_files(void) {
  shmem_barrier_all();
  for (int pe = 0; pe < my.npes; ++pe) {
    int of[2];
    char path[64];
    shmem_getmem(of, opened, sizeof of, pe);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", of[0], of[1]);
    my.files[pe] = open(path, O_RDWR);
    if (my.files[pe] < 0) die("a file of another PE");
  }
}

static void make_room(const char* folder, size_t limit) {
  const size_t bytes = my.room * sizeof(Record);
  my.splitters = malloc(kSamples * (size_t)my.npes * sizeof(uint64_t));
  my.files = calloc((size_t)my.npes, sizeof(int));
  if (folder != NULL) {
    mapped_open(folder, my.me, 2 * bytes + 2 * kChunk, limit);
    opened[0] = getpid(), opened[1] = mapped.fd;
    open_files();
  }
  my.records = folder != NULL ? mapped_malloc(bytes) : shmem_malloc(bytes);
  my.inbox = folder != NULL ? mapped_malloc(bytes) : shmem_malloc(bytes);
  if (my.records == NULL || my.inbox == NULL) {
    if (my.me == 0)
      fprintf(stderr, "merge_sort: no room for 2 x %zu bytes; see SHMEM_SYMMETRIC_SIZE\n", bytes);
    shmem_global_exit(1);
  }
}

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const size_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 8,
               run = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const char* folder = argc > 4 && strcmp(argv[3], "--mmap") == 0 ? argv[4] : NULL;
  shmem_init();
  my.me = shmem_my_pe(), my.npes = shmem_n_pes();
  if (mib == 0 || run == 0 || (argc > 3 && folder == NULL)) {
    if (my.me == 0)
      fprintf(stderr, "usage: merge_sort [MiB] [MiB of a run] [--mmap folder [MiB of cache]]\n");
    shmem_finalize();
    return 2;
  }
  my.count = (mib << 20) / sizeof(Record), my.run = (run << 20) / sizeof(Record);
  my.room = my.count + my.count / 3 + 1000;
  make_room(folder, argc > 5 ? strtoull(argv[5], NULL, 10) << 20 : 0);
  make_records();
  int wrong = 0;
  double at[6] = {now()};
  choose_splitters();
  shmem_barrier_all(), at[1] = now();
  distribute();
  shmem_barrier_all(), at[2] = now();
  sort_runs();
  shmem_barrier_all(), at[3] = now();
  merge();
  shmem_barrier_all(), at[4] = now();
  wrong = check();
  at[5] = now();
  if (my.me == 0) {
    printf("exchange %.3f s, runs %.3f s, merge %.3f s, check %.3f s\n", at[2] - at[0], at[3] - at[2],
           at[4] - at[3], at[5] - at[4]);
    printf("all %10.1f MB/s, %.3f s, %zu MiB on each of %d PEs, %s\n",
           1e-6 * (double)(my.count * sizeof(Record)) * my.npes / (at[5] - at[0]), at[5] - at[0], mib,
           my.npes, wrong ? "WRONG" : "order and checksum verified");
  }
  if (folder != NULL) mapped_close();
  shmem_finalize();
  return wrong;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* scan over elements of all PEs, and tables as files. */
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kv_check.h"

enum { kMany = 300 };

static int me, npes;

/* Every element of all PEs once, so many a call. */
static void test_scan(shmemx_kv_t kv, size_t most, size_t value_room) {
  char(*keys)[48] = malloc(most * sizeof *keys);
  unsigned char* values = malloc(most * value_room + 1);
  size_t* key_bytes = malloc(most * sizeof(size_t));
  size_t* value_bytes = malloc(most * sizeof(size_t));
  char* seen = calloc((size_t)npes, kMany);
  long total = 0;
  for (int turn = 0; turn < npes; ++turn) {
    const int pe = (me + turn) % npes;
    size_t count = 99;
    uint64_t cursor = 0;
    int status;
    while ((status = shmemx_kv_scan(kv, pe, &cursor, most, keys, 48, key_bytes, values, value_room,
                                    value_bytes, &count)) == SHMEMX_KV_OK) {
      CHECK_CMP(count, >=, 1);
      CHECK_CMP(count, <=, most);
      for (size_t i = 0; i < count; ++i) {
        int number, owner;
        CHECK_EQ(shmemx_kv_pe(kv, keys[i], key_bytes[i]), pe);
        char text[49] = "";
        memcpy(text, keys[i], key_bytes[i]);
        CHECK_EQ(sscanf(text, "%d of PE %d", &number, &owner), 2);
        CHECK_MADE(values + i * value_room, value_bytes[i], (uint64_t)number);
        CHECK_EQ(seen[owner * kMany + number]++, 0);
        ++total;
      }
    }
    CHECK_EQ(status, SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(count, 0);
  }
  CHECK_EQ(total, (long)kMany * npes);
  free(keys), free(values), free(key_bytes), free(value_bytes), free(seen);
}

static void fill(shmemx_kv_t kv, size_t most, unsigned char* value) {
  for (int i = 0; i < kMany; ++i) {
    const Key key = key_of(me, i);
    const size_t n = (size_t)i * most / kMany;
    make_bytes(value, n, (uint64_t)i);
    CHECK_FOR(i, shmemx_kv_put(kv, key.text, key.n, value, n), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
}

static void test_too_little_room(shmemx_kv_t kv, size_t most) {
  size_t key_bytes = 0, value_bytes = 0, count = 99;
  char key[48];
  uint64_t cursor = 0;
  const int status =
      shmemx_kv_scan(kv, left_pe(), &cursor, 1, key, 1, &key_bytes, NULL, 0, &value_bytes, &count);
  CHECK_EQ(status, SHMEMX_KV_TOO_LARGE);
  CHECK_CMP(key_bytes, >, 1);
  CHECK_CMP(value_bytes, <, most);
  CHECK_EQ(count, 0);
  CHECK_EQ(shmemx_kv_scan(kv, left_pe(), &cursor, 1, key, 48, &key_bytes, NULL, 0, NULL, &count),
           SHMEMX_KV_OK);
  CHECK_EQ(count, 1);
}

/* An element that is said to have more bytes than the file has takes no memory; and what cannot be read
 * twice, like a pipe, is not read at all. */
static void test_strange_files(shmemx_kv_t kv, const char* path, const char* whole) {
  enum { head_bytes = 16 };
  const uint64_t lengths[] = {8, 1 << 30};
  struct rusage before, after;
  int ends[2] = {-1, -1};
  char pipe_path[32] = "";
  if (me == 0) {
    char head[head_bytes];
    FILE* from = fopen(whole, "rb");
    FILE* to = fopen(path, "wb");
    CHECK(from != NULL && to != NULL);
    CHECK_EQ(fread(head, sizeof head, 1, from), 1);
    CHECK_EQ(fwrite(head, sizeof head, 1, to), 1);
    CHECK_EQ(fwrite(lengths, sizeof lengths, 1, to), 1);
    CHECK_EQ(fwrite("an element", 10, 1, to), 1);
    fclose(from), fclose(to);
    CHECK_EQ(pipe(ends), 0);
    char element[32] = "";
    CHECK_EQ(write(ends[1], head, sizeof head), (long)sizeof head);
    CHECK_EQ(write(ends[1], element, sizeof element), (long)sizeof element);
    snprintf(pipe_path, sizeof pipe_path, "/proc/self/fd/%d", ends[0]);
  }
  getrusage(RUSAGE_SELF, &before);
  CHECK_EQ(shmemx_kv_import(kv, path), SHMEMX_KV_FILE);
  getrusage(RUSAGE_SELF, &after);
  CHECK_CMP(after.ru_maxrss - before.ru_maxrss, <, 1 << 19); /* KiB */
  CHECK_EQ(shmemx_kv_import(kv, pipe_path), SHMEMX_KV_FILE);
  CHECK_EQ(shmemx_kv_import(kv, "/"), SHMEMX_KV_FILE);
  if (me == 0) {
    int left = 0;
    CHECK_EQ(ioctl(ends[0], FIONREAD, &left), 0);
    CHECK_EQ(left, head_bytes + 32);
    close(ends[0]), close(ends[1]);
  }
  CHECK_EQ(shmemx_kv_count(kv), 0);
}

/* What was exported is imported into a table of another shape; one that is cut short or changed is refused.
 */
static void test_files(shmemx_kv_t kv, size_t most) {
  char path[kPathBytes] = "", damaged[80];
  if (me == 0) make_file(path);
  snprintf(damaged, sizeof damaged, "%s.damaged", path);
  CHECK_EQ(shmemx_kv_export(kv, path), SHMEMX_KV_OK);
  shmemx_kv_t other = table_of(64, most + 100, 20000);
  for (int how = 0; how < 3; ++how) { /* half of it; without its last byte; a byte changed */
    if (me == 0) {
      FILE* from = fopen(path, "rb");
      FILE* to = fopen(damaged, "wb");
      CHECK(from != NULL && to != NULL);
      fseek(from, 0, SEEK_END);
      const long size = ftell(from), end = how == 0 ? size / 2 : how == 1 ? size - 1 : size;
      rewind(from);
      char* bytes = malloc((size_t)size);
      CHECK_EQ(fread(bytes, (size_t)size, 1, from), 1);
      if (how == 2) bytes[size / 2] ^= 1;
      CHECK_EQ(fwrite(bytes, (size_t)end, 1, to), 1);
      free(bytes);
      fclose(from), fclose(to);
    }
    CHECK_EQ(shmemx_kv_import(other, damaged), SHMEMX_KV_FILE);
    CHECK_EQ(shmemx_kv_count(other), 0);
    shmem_barrier_all();
  }
  test_strange_files(other, damaged, path);
  CHECK_EQ(shmemx_kv_import(other, path), SHMEMX_KV_OK);
  test_scan(other, 16, most + 100);
  shmemx_kv_destroy(other);
  other = table_of(64, 4, 20000);
  CHECK_EQ(shmemx_kv_import(other, path), SHMEMX_KV_TOO_LARGE);
  shmemx_kv_destroy(other);
  if (me == 0) unlink(path), unlink(damaged);
  CHECK_EQ(shmemx_kv_import(kv, path), SHMEMX_KV_FILE);
  CHECK_EQ(shmemx_kv_export(kv, "/nowhere/at/all"), SHMEMX_KV_FILE);
}

/* Few elements, with thousands of homes between them. */
static void test_sparse(void) {
  shmemx_kv_t kv = table_of(48, 8, 200000);
  for (int i = 0; i < 3; ++i) CHECK_FOR(i, put_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  size_t found = 0, count = 0;
  char keys[4][48];
  for (int pe = 0; pe < npes; ++pe)
    for (uint64_t cursor = 0;
         shmemx_kv_scan(kv, pe, &cursor, 4, keys, 48, NULL, NULL, 0, NULL, &count) == SHMEMX_KV_OK;)
      found += count;
  CHECK_EQ(found, 3 * npes);
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  static const size_t lengths[] = {16, 300, 12000};
  unsigned char* value = malloc(12000);
  for (int i = 0; i < 3; ++i) {
    shmemx_kv_t kv = table_of(48, lengths[i], (uint64_t)kMany * (uint64_t)npes);
    fill(kv, lengths[i], value);
    test_scan(kv, 1, lengths[i]);
    test_scan(kv, 100, lengths[i]);
    test_too_little_room(kv, lengths[i]);
    test_files(kv, lengths[i]);
    shmemx_kv_destroy(kv);
  }
  free(value);
  test_sparse();
  shmem_finalize();
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* An OpenMP program that knows nothing of OpenSHMEM: loops, a reduction, tasks and a critical section, on
 * three arrays that are used in order and one that is used at random.  What it prints does not depend on the
 * number of threads. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"

enum { kWords = 1 << 19, kPiece = 1 << 14, kCounts = 1 << 19 };

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u;
  return x ^ x >> 29;
}

static int up(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

/* Pieces are sorted and then merged pair by pair; the result is in `words`. */
static void sort(uint64_t* words, uint64_t* other, size_t n) {
  if (n <= kPiece) {
    qsort(words, n, sizeof *words, up);
    return;
  }
  const size_t half = n / 2;
#pragma omp task
  sort(words, other, half);
#pragma omp task
  sort(words + half, other + half, n - half);
#pragma omp taskwait
  for (size_t i = 0, j = half, to = 0; to < n; ++to)
    other[to] = j == n || (i < half && words[i] <= words[j]) ? words[i++] : words[j++];
  memcpy(words, other, n * sizeof *words);
}

int main(void) {
  uint64_t* const a = malloc(kWords * sizeof *a);
  uint64_t* const b = calloc(kWords, sizeof *b);
  uint64_t* const c = malloc(kWords * sizeof *c);
  uint64_t* const counts = calloc(kCounts, sizeof *counts);
  REQUIRE(a != NULL && b != NULL && c != NULL && counts != NULL);
  uint64_t sum = 0, most = 0;
#pragma omp parallel for schedule(static, 1000)
  for (size_t i = 0; i < kWords; ++i) a[i] = mixed(i);
#pragma omp parallel for schedule(dynamic, 3000) reduction(+ : sum)
  for (size_t i = 0; i < kWords; ++i) {
    c[i] = b[i] + 3 * a[i];
    sum += c[i];
  }
#pragma omp parallel for schedule(guided)
  for (size_t i = 0; i < kWords; i += 16) {
#pragma omp atomic
    ++counts[c[i] % kCounts];
  }
#pragma omp parallel
  {
    uint64_t mine = 0;
#pragma omp for nowait
    for (size_t i = 0; i < kCounts; ++i) mine = counts[i] > mine ? counts[i] : mine;
#pragma omp critical
    if (mine > most) most = mine;
#pragma omp barrier
#pragma omp single
    sort(a, b, kWords);
  }
  for (size_t i = 1; i < kWords; ++i) REQUIRE(a[i - 1] <= a[i]);
  printf("%llu %llu %llu\n", (unsigned long long)sum, (unsigned long long)most,
         (unsigned long long)a[kWords / 3]);
  fprintf(stderr, "%d threads\n", omp_get_max_threads());
  free(a), free(b), free(c), free(counts);
  return 0;
}

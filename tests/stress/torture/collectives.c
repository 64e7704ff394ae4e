/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective steps: every kind, checked element by element. */
#include "torture.h"

static void prepare(const Lane* lane, const Team* team, uint64_t seed, size_t elements) {
  for (size_t i = 0; i < elements; ++i) lane->memory->source[i] = datum(seed, team->me, i);
  memset(lane->memory->dest, 0x5a, sizeof lane->memory->dest);
  shmem_team_sync(team->handle); /* dest must be ready on all PEs */
}

static size_t random_length(Random* dice) {
  static const size_t limits[] = {1, 8, 14, 100, kElements};
  return random_below(dice, limits[random_below(dice, 5)] + 1);
}

static void broadcast(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  const size_t n = random_length(dice);
  const int root = (int)random_below(dice, (size_t)team->n);
  prepare(lane, team, seed, n);
  CHECK_EQ(shmem_long_broadcast(team->handle, lane->memory->dest, lane->memory->source, n, root), 0);
  for (size_t i = 0; i < n; ++i) CHECK_AT(lane->memory->dest, i, datum(seed, root, i));
}

static void fcollect(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  const size_t n = random_length(dice);
  prepare(lane, team, seed, n);
  CHECK_EQ(shmem_long_fcollect(team->handle, lane->memory->dest, lane->memory->source, n), 0);
  for (int pe = 0; pe < team->n; ++pe)
    for (size_t i = 0; i < n; ++i) CHECK_AT(lane->memory->dest, (size_t)pe * n + i, datum(seed, pe, i));
}

static void collect(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  size_t lengths[kMostPes];
  for (int pe = 0; pe < team->n; ++pe) lengths[pe] = random_length(dice);
  prepare(lane, team, seed, lengths[team->me]);
  CHECK_EQ(shmem_long_collect(team->handle, lane->memory->dest, lane->memory->source, lengths[team->me]), 0);
  size_t at = 0;
  for (int pe = 0; pe < team->n; ++pe)
    for (size_t i = 0; i < lengths[pe]; ++i, ++at) CHECK_AT(lane->memory->dest, at, datum(seed, pe, i));
}

static void alltoall(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  const size_t stride = 1 + random_below(dice, 2), n = random_length(dice) / stride,
               members = (size_t)team->n;
  prepare(lane, team, seed, n * members * stride);
  Memory* m = lane->memory;
  if (stride == 1)
    CHECK_EQ(shmem_long_alltoall(team->handle, m->dest, m->source, n), 0);
  else
    CHECK_EQ(shmem_long_alltoalls(team->handle, m->dest, m->source, (ptrdiff_t)stride, (ptrdiff_t)stride, n),
             0);
  for (int pe = 0; pe < team->n; ++pe)
    for (size_t i = 0; i < n; ++i)
      CHECK_AT(m->dest, stride * ((size_t)pe * n + i), datum(seed, pe, stride * ((size_t)team->me * n + i)));
}

void move_in_team(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  static Step* const kinds[] = {broadcast, fcollect, collect, alltoall};
  kinds[random_below(dice, 4)](lane, team, dice, seed);
}

/* What PEs first .. last make of element i. */
static long combined(uint64_t seed, int first, int last, size_t i, int kind) {
  long value = 0;
  for (int pe = first; pe <= last; ++pe) {
    const long next = datum(seed, pe, i);
    if (kind == 1 && pe > first)
      value = next > value ? next : value;
    else
      value = kind == 1 ? next : kind == 2 ? value ^ next : (long)((uint64_t)value + (uint64_t)next);
  }
  return value;
}

/* Sum, maximum and exclusive or of all; sums up to, and before, each PE.  At times in place. */
void reduce_in_team(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  enum { kSum, kMax, kXor, kInclusive, kExclusive, kKinds };
  const int kind = (int)random_below(dice, kKinds), in_place = random_below(dice, 3) == 0;
  const size_t n = random_length(dice);
  Memory* m = lane->memory;
  prepare(lane, team, seed, n);
  long* dest = in_place ? m->source : m->dest;
  switch (kind) {
    case kSum: CHECK_EQ(shmem_long_sum_reduce(team->handle, dest, m->source, n), 0); break;
    case kMax: CHECK_EQ(shmem_long_max_reduce(team->handle, dest, m->source, n), 0); break;
    case kXor:
      CHECK_EQ(shmem_uint64_xor_reduce(team->handle, (uint64_t*)dest, (uint64_t*)m->source, n), 0);
      break;
    case kInclusive: CHECK_EQ(shmem_long_sum_inscan(team->handle, dest, m->source, n), 0); break;
    default: CHECK_EQ(shmem_long_sum_exscan(team->handle, dest, m->source, n), 0);
  }
  const int last = kind == kInclusive ? team->me : kind == kExclusive ? team->me - 1 : team->n - 1;
  for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, combined(seed, 0, last, i, kind > kXor ? kSum : kind));
}

/* The world's lane only: triplets may coincide with those of no other thread. */
void use_active_set(Lane* lane, const Team* world, Random* dice, uint64_t seed) {
  const int start = (int)random_below(dice, (size_t)world->n), log_stride = (int)random_below(dice, 3);
  const int most = (world->n - 1 - start) / (1 << log_stride) + 1,
            size = 1 + (int)random_below(dice, (size_t)most);
  const int offset = world->me - start,
            member = offset >= 0 && offset % (1 << log_stride) == 0 && offset >> log_stride < size;
  const size_t n = random_length(dice);
  const int kind = (int)random_below(dice, 4), ordinal = offset >> log_stride;
  const int root = (int)random_below(dice, (size_t)size);
  Memory* m = lane->memory;
  prepare(lane, world, seed, n);
  if (member) {
    long *psync = m->psync[0], *dest = m->dest;
    if (kind == 0) shmem_sync(start, log_stride, size, psync);
    if (kind == 1) shmem_fcollect64(dest, m->source, n, start, log_stride, size, psync);
    if (kind == 2) shmem_broadcast64(dest, m->source, n, root, start, log_stride, size, psync);
    if (kind == 3) shmem_long_sum_to_all(dest, m->source, (int)n, start, log_stride, size, m->work, psync);
    for (int pe = 0; kind == 1 && pe < size; ++pe)
      for (size_t i = 0; i < n; ++i)
        CHECK_AT(dest, (size_t)pe * n + i, datum(seed, start + (pe << log_stride), i));
    for (size_t i = 0; kind == 2 && ordinal != root && i < n; ++i)
      CHECK_AT(dest, i, datum(seed, start + (root << log_stride), i));
    for (size_t i = 0; kind == 3 && i < n; ++i) {
      uint64_t sum = 0;
      for (int pe = 0; pe < size; ++pe) sum += (uint64_t)datum(seed, start + (pe << log_stride), i);
      CHECK_AT(dest, i, (long)sum);
    }
  }
  shmem_sync_all(); /* pSync may be used by another set */
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts of all kinds, and steps on words that many write: atomics, signals, allocation, locks. */
#include "torture.h"

Stream open_stream(const Team* team, Random* own) {
  static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE};
  Stream stream = {SHMEM_CTX_DEFAULT, 0};
  const size_t kind = random_below(own, 6);
  const long option = options[random_below(own, 4)];
  if (kind < 2) {
    CHECK_EQ(shmem_ctx_create(option, &stream.handle), 0);
  } else if (kind < 4) {
    shmem_ctx_t made;
    if (shmem_team_create_ctx(team->handle, option, &made) == 0) stream = (Stream){made, 1};
  }
  if (stream.handle != SHMEM_CTX_DEFAULT && random_below(own, 2)) {
    const shmem_ctx_session_config_t config = {1 + random_below(own, 100)};
    shmem_ctx_session_start(stream.handle, SHMEM_CTX_SESSION_BATCH, &config,
                            random_below(own, 2) ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
  }
  return stream;
}

void close_stream(Stream stream, Random* own) {
  if (stream.handle == SHMEM_CTX_DEFAULT) return;
  if (random_below(own, 2)) shmem_ctx_session_stop(stream.handle);
  shmem_ctx_destroy(stream.handle);
}

static void add(Stream stream, Random* own, long* word, long value, int pe) {
  long seen;
  switch (random_below(own, 4)) {
    case 0: shmem_ctx_long_atomic_add(stream.handle, word, value, pe); break;
    case 1: shmem_ctx_long_atomic_fetch_add(stream.handle, word, value, pe); break;
    case 2:
      shmem_ctx_long_atomic_fetch_add_nbi(stream.handle, &seen, word, value, pe);
      shmem_ctx_quiet(stream.handle); /* seen goes out of scope */
      break;
    default:
      do seen = shmem_ctx_long_atomic_fetch(stream.handle, word, pe);
      while (shmem_ctx_long_atomic_compare_swap(stream.handle, word, seen, seen + value, pe) != seen);
  }
}

/* All add to the counters of all, and say how much. */
void count_together(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  (void)dice, (void)seed;
  Memory* m = lane->memory;
  Random* own = &lane->own;
  long before[kCounters], shares[kMostPes][kCounters];
  memset(shares, 0, sizeof shares);
  memcpy(before, m->counters, sizeof before);
  shmem_team_sync(team->handle);
  const Stream stream = open_stream(team, own);
  for (int i = 0; i < 24; ++i) {
    const int member = (int)random_below(own, (size_t)team->n), c = (int)random_below(own, kCounters);
    const long value = (long)random_below(own, 1000) - 500;
    add(stream, own, &m->counters[c], value, number_in(stream, team, member));
    shares[member][c] += value;
  }
  for (int member = 0; member < team->n; ++member)
    shmem_ctx_long_put(stream.handle, m->shares[team->me], shares[member], kCounters,
                       number_in(stream, team, member));
  shmem_ctx_quiet(stream.handle);
  shmem_team_sync(team->handle);
  for (int c = 0; c < kCounters; ++c) {
    long sum = before[c];
    for (int member = 0; member < team->n; ++member) sum += m->shares[member][c];
    CHECK_AT(m->counters, c, sum);
  }
  shmem_team_sync(team->handle);
  close_stream(stream, own);
}

static void await_mail(Memory* m, const Team* team, uint64_t value, int kind) {
  uint64_t* signals = m->signals;
  const size_t n = (size_t)team->n;
  size_t places[kMostPes];
  int status[kMostPes] = {0};
  if (kind == 0) shmem_uint64_wait_until_all(signals, n, NULL, SHMEM_CMP_EQ, value);
  for (size_t left = n; kind == 1 && left > 0; --left)
    status[shmem_uint64_wait_until_any(signals, n, status, SHMEM_CMP_EQ, value)] = 1;
  for (size_t left = n; kind == 2 && left > 0;) {
    const size_t found = shmem_uint64_wait_until_some(signals, n, places, status, SHMEM_CMP_EQ, value);
    for (size_t i = 0; i < found; ++i) status[places[i]] = 1;
    left -= found;
  }
  for (size_t i = 0; kind == 3 && i < n; ++i)
    CHECK_FOR(i, shmem_signal_wait_until(&signals[i], SHMEM_CMP_EQ, value), value);
  for (size_t i = 0; kind == 4 && i < n; ++i)
    while (!shmem_uint64_test(&signals[i], SHMEM_CMP_EQ, value)) {
    }
}

/* Everybody sends everybody a letter with a signal. */
void exchange_mail(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  Memory* m = lane->memory;
  const uint64_t value = seed | 1; /* not what the words are before */
  const Stream stream = open_stream(team, &lane->own);
  long letters[kMostPes][kMail];
  memset(m->signals, 0, sizeof m->signals);
  shmem_team_sync(team->handle);
  for (int k = 0; k < team->n; ++k) {
    const int member = (team->me + k) % team->n, pe = number_in(stream, team, member);
    for (size_t i = 0; i < kMail; ++i) letters[member][i] = datum(seed, team->me * kMostPes + member, i);
    if (random_below(&lane->own, 2))
      shmem_ctx_long_put_signal(stream.handle, m->mail[team->me], letters[member], kMail,
                                &m->signals[team->me], value, SHMEM_SIGNAL_SET, pe);
    else
      shmem_ctx_long_put_signal_nbi(stream.handle, m->mail[team->me], letters[member], kMail,
                                    &m->signals[team->me], value, SHMEM_SIGNAL_ADD, pe);
  }
  /* A session may hold back what is sent for as long as nobody asks for its completion. */
  shmem_ctx_quiet(stream.handle);
  await_mail(m, team, value, (int)random_below(dice, 5));
  for (int from = 0; from < team->n; ++from)
    for (size_t i = 0; i < kMail; ++i) CHECK_AT(m->mail[from], i, datum(seed, from * kMostPes + team->me, i));
  shmem_team_sync(team->handle);
  close_stream(stream, &lane->own);
}

/* The world's lane only. */
void allocate(Lane* lane, const Team* world, Random* dice, uint64_t seed) {
  (void)lane;
  const size_t n = 1 + random_below(dice, 20000), grown = 1 + random_below(dice, 30000);
  const int right = (world->me + 1) % world->n, left = (world->me + world->n - 1) % world->n;
  long* block = random_below(dice, 2) ? shmem_malloc(n * sizeof(long)) : shmem_calloc(n, sizeof(long));
  CHECK(block != NULL);
  for (size_t i = 0; i < n; i += 997) shmem_long_p(&block[i], datum(seed, world->me, i), right);
  shmem_barrier_all();
  for (size_t i = 0; i < n; i += 997) CHECK_AT(block, i, datum(seed, left, i));
  if (random_below(dice, 2)) {
    block = shmem_realloc(block, grown * sizeof(long));
    CHECK(block != NULL);
    for (size_t i = 0; i < n && i < grown; i += 997) CHECK_AT(block, i, datum(seed, left, i));
  }
  shmem_free(block);
}

/* A lock belongs to a PE, not to a thread: the threads of a PE take turns. */
static long locks[kLocks], guarded[kLocks];
static pthread_mutex_t turns[kLocks] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                        PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static long taken[kLocks];

void lock(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  (void)team, (void)dice, (void)seed;
  for (int round = 0; round < 4; ++round) {
    const size_t i = random_below(&lane->own, kLocks);
    pthread_mutex_lock(&turns[i]);
    if (random_below(&lane->own, 2)) {
      while (shmem_test_lock(&locks[i]) != 0) {
      }
    } else {
      shmem_set_lock(&locks[i]);
    }
    /* Alone, as the test afterwards shows: neither of the two is atomic.  All lanes add on one PE. */
    const int pe = (int)i % shmem_n_pes();
    shmem_long_p(&guarded[i], shmem_long_g(&guarded[i], pe) + 1, pe);
    ++taken[i];
    shmem_clear_lock(&locks[i]);
    pthread_mutex_unlock(&turns[i]);
  }
}

void verify_locks(void) {
  static long sums[kLocks], mine[kLocks];
  memcpy(mine, taken, sizeof mine);
  CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, mine, kLocks), 0);
  for (int i = 0; i < kLocks; ++i) {
    CHECK_AT(locks, i, 0);
    if (shmem_my_pe() == i % shmem_n_pes()) CHECK_AT(guarded, i, sums[i]);
  }
}

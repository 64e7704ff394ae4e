/* SPDX-License-Identifier: BSD-3-Clause */
/* Every algorithm of the collectives by its name, as SHMEM_ALGORITHMS takes it, with data checked: each in a
 * life of the library of its own, on teams of three PEs, of four, of all, and of all in reverse.  Between 5
 * nodes Bruck's gathering wraps around the end, and reductions are folded. */
#include "coll_check.h"

enum {
  kWays = 4,     /* teams */
  kPes = 6,      /* at most */
  kMost = 40000, /* words: three pieces of mail */
  kBlock = 5000  /* of the calls that have one for each PE */
};

static int me, np;
static shmem_team_t team;
static const char* words;
static long *source, *dest;

static long at(int pe, size_t i) { return (long)((unsigned)(pe * 7919 + (int)(i % 65521) * 31) % 100003); }

static void prepare(const char* call, size_t n, size_t results) {
  check_context("%s of %zu words in a team of %d, SHMEM_ALGORITHMS=%s", call, n, np, words);
  for (size_t i = 0; i < n; ++i) source[i] = at(me, i);
  for (size_t i = 0; i < results; ++i) dest[i] = -1;
  shmem_team_sync(team);
}

static void broadcasts(size_t n) {
  for (int root = np - 1; root >= 0; root -= 2) {
    prepare("broadcast", n, n);
    shmem_long_broadcast(team, dest, source, n, root);
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, at(root, i));
  }
}

static void collects(size_t n) {
  n = n < kBlock ? n : kBlock;
  prepare("fcollect", n, n * (size_t)np);
  shmem_long_fcollect(team, dest, source, n);
  for (size_t i = 0; i < n * (size_t)np; ++i) CHECK_AT(dest, i, at((int)(i / n), i % n));
  prepare("collect", n + (size_t)me, (n + (size_t)np) * (size_t)np);
  shmem_long_collect(team, dest, source, n + (size_t)me);
  size_t word = 0;
  for (int pe = 0; pe < np; ++pe)
    for (size_t i = 0; i < n + (size_t)pe; ++i, ++word) CHECK_AT(dest, word, at(pe, i));
}

static void alltoalls(size_t n) {
  n = n < kBlock ? n : kBlock;
  const size_t all = n * (size_t)np;
  prepare("alltoall", all, all);
  shmem_long_alltoall(team, dest, source, n);
  for (size_t i = 0; i < all; ++i) CHECK_AT(dest, i, at((int)(i / n), (size_t)me * n + i % n));
  prepare("alltoalls", 2 * all, 3 * all);
  shmem_long_alltoalls(team, dest, source, 3, 2, n);
  for (size_t i = 0; i < 3 * all; ++i) {
    const size_t k = i / 3;
    CHECK_AT(dest, i, i % 3 != 0 ? -1 : at((int)(k / n), 2 * ((size_t)me * n + k % n)));
  }
}

static void reductions(size_t n) {
  prepare("sum", n, n);
  shmem_long_sum_reduce(team, dest, source, n);
  for (size_t i = 0; i < n; ++i) {
    long want = 0;
    for (int pe = 0; pe < np; ++pe) want += at(pe, i);
    CHECK_AT(dest, i, want);
  }
  prepare("max in place", n, n);
  for (size_t i = 0; i < n; ++i) dest[i] = source[i];
  shmem_long_max_reduce(team, dest, dest, n);
  for (size_t i = 0; i < n; ++i) {
    long want = at(0, i);
    for (int pe = 1; pe < np; ++pe) want = at(pe, i) > want ? at(pe, i) : want;
    CHECK_AT(dest, i, want);
  }
}

static void scans(size_t n) {
  for (int inclusive = 0; inclusive < 2; ++inclusive) {
    prepare(inclusive ? "inscan" : "exscan", n, n);
    if (inclusive) {
      shmem_long_sum_inscan(team, dest, source, n);
    } else {
      shmem_long_sum_exscan(team, dest, source, n);
    }
    for (size_t i = 0; i < n; ++i) {
      long want = 0;
      for (int pe = 0; pe < me + inclusive; ++pe) want += at(pe, i);
      CHECK_AT(dest, i, want);
    }
  }
}

/* What a word has overruled holds in the lives after it, so each row says all that it depends on. */
#define LONG_WAY \
  "broadcast=reading,collect=leading,alltoall=pairwise,reduce=leading,scan=shares,stripe=4096,eager=1000"
static const char* const lives[] = {
    "broadcast=inline,collect=inline,alltoall=inline,reduce=inline,scan=inline",
    "broadcast=reading,internode_broadcast=tree,collect=reading,alltoall=reading,reduce=whole,scan=shares",
    "internode_broadcast=chain,collect=leading,alltoall=leading,reduce=shares",
    "alltoall=combined,reduce=leading,internode_reduce=doubling",
    "alltoall=pairwise,internode_reduce=halving",
    LONG_WAY ",internode_broadcast=tree,internode_reduce=doubling",
    LONG_WAY ",internode_broadcast=chain,internode_reduce=halving",
};

static void on_team(shmem_team_t with) {
  static const size_t sizes[] = {1, 100, 700, kMost};
  if ((team = with) == SHMEM_TEAM_INVALID) return;
  me = shmem_team_my_pe(team);
  np = shmem_team_n_pes(team);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    broadcasts(sizes[s]);
    collects(sizes[s]);
    alltoalls(sizes[s]);
    reductions(sizes[s]);
    scans(sizes[s]);
  }
}

static void one_life(const char* algorithms) {
  words = algorithms;
  setenv("SHMEM_ALGORITHMS", words, 1);
  shmem_init();
  const int all = shmem_n_pes();
  source = shmem_malloc(kPes * 3 * kBlock * sizeof(long));
  dest = shmem_malloc(kPes * 3 * kBlock * sizeof(long));
  CHECK(source != NULL && dest != NULL);
  CHECK(all <= kPes);
  shmem_team_t teams[kWays] = {SHMEM_TEAM_WORLD, split(0, 1, all < 3 ? all : 3, SHMEM_TEAM_INVALID),
                               split(0, 1, all < 4 ? all : 4, SHMEM_TEAM_INVALID),
                               split(all - 1, -1, all, SHMEM_TEAM_INVALID)};
  for (int t = 0; t < kWays; ++t) on_team(teams[t]);
  for (int t = 1; t < kWays; ++t) shmem_team_destroy(teams[t]);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) printf("ok: SHMEM_ALGORITHMS=%s\n", words);
  shmem_finalize();
}

int main(void) {
  bound_time(120);
  for (size_t life = 0; life < sizeof lives / sizeof *lives; ++life) one_life(lives[life]);
  return 0;
}

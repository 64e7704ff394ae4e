/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: mpi ORDER [RANKS]
 * Semantics 138: MPI and OpenSHMEM in one program.  ORDER is what it does, letter by letter: M and m are MPI_Init and
 * MPI_Finalize, S and s are shmem_init and shmem_finalize.  After each letter there is traffic on what lives.
 * MPI must have as many ranks as OpenSHMEM has PEs, in the same order, unless RANKS says how many. */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 5
#define LENGTH 3000 /* longs: MPI sends them in another way than a few */

static long inbox[LENGTH], outbox[LENGTH], sum_of_me, me_for_sum;
static const char* order = "";
static int failures;

static void check(int holds, const char* what, long value) {
  if (holds) return;
  fprintf(stderr, "order %s: %s: %ld\n", order, what, value);
  failures++;
}

static void mpi_traffic(int me, int n) {
  long mine = me, sum = -1;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check(sum == (long)n * (n - 1) / 2, "MPI_Allreduce", sum);
  for (int i = 0; i < LENGTH; i++) outbox[i] = me * LENGTH + i;
  const int left = (me + n - 1) % n;
  MPI_Sendrecv(outbox, LENGTH, MPI_LONG, (me + 1) % n, 1, inbox, LENGTH, MPI_LONG, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < LENGTH; i++) check(inbox[i] == left * LENGTH + i, "MPI_Sendrecv", inbox[i]);
}

static void shmem_traffic(int me, int n) {
  static long count;
  const int left = (me + n - 1) % n;
  long* const heap = shmem_malloc(LENGTH * sizeof(long));
  if (heap == NULL) shmem_global_exit(3);
  for (int i = 0; i < LENGTH; i++) outbox[i] = -(me * LENGTH + i);
  count = 0;
  shmem_barrier_all();
  shmem_long_put(heap, outbox, LENGTH, (me + 1) % n);
  for (int pe = 0; pe < n; pe++) shmem_long_atomic_add(&count, pe + 1, pe);
  shmem_barrier_all();
  for (int i = 0; i < LENGTH; i++) check(heap[i] == -(left * LENGTH + i), "shmem_put", heap[i]);
  check(count == (long)n * (me + 1), "shmem_atomic_add", count);
  me_for_sum = me;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum_of_me, &me_for_sum, 1);
  check(sum_of_me == (long)n * (n - 1) / 2, "shmem_sum_reduce", sum_of_me);
  shmem_free(heap);
}

static void traffic(int with_mpi, int with_shmem, int ranks) {
  int rank = 0, size = 0;
  if (with_mpi) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  if (with_mpi && with_shmem) {
    check(size == (ranks > 0 ? ranks : shmem_n_pes()), "MPI_Comm_size", size);
    if (ranks == 0) check(rank == shmem_my_pe(), "MPI_Comm_rank", rank);
  }
  for (int round = 0; round < ROUNDS && failures == 0; round++) {
    if (with_mpi) mpi_traffic(rank, size);
    if (with_shmem) shmem_traffic(shmem_my_pe(), shmem_n_pes());
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: mpi ORDER [RANKS]\n"), 2;
  order = argv[1];
  const int ranks = argc > 2 ? atoi(argv[2]) : 0;
  int with_mpi = 0, with_shmem = 0;
  for (const char* letter = order; *letter != '\0'; letter++) {
    switch (*letter) {
      case 'M': MPI_Init(&argc, &argv), with_mpi = 1; break;
      case 'm': MPI_Finalize(), with_mpi = 0; break;
      case 'S': shmem_init(), with_shmem = 1; break;
      case 's': shmem_finalize(), with_shmem = 0; break;
      default: return 2;
    }
    traffic(with_mpi, with_shmem, ranks);
  }
  return failures == 0 ? 0 : 1;
}

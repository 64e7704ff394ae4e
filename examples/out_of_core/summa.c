/* SPDX-License-Identifier: BSD-3-Clause
 * C = A x B by SUMMA.  The PEs are a grid.  C consists of square tiles, dealt to the grid in both directions;
 * A of pieces as high as a tile and as wide as a panel, B of pieces as wide as a tile and as high as a panel,
 * dealt alike. Who computes a tile of C gets the pieces of its row and its column one pair after the other,
 * the next pair while it multiplies, adds up in private memory, and puts the tile into its part of C.
 *
 *   oshcc -O2 summa.c -lopenblas -o summa && oshrun -n 4 ./summa [rows] [rows of a tile] [rows of a panel]
 *   oshrun -n 4 -x SHMEM_HEAP=nvm:/mnt/ssd -x SHMEM_SYMMETRIC_SIZE=3g -x SHMEM_NVM_CACHE=1g ./summa 16384
 * 2048 512
 *
 * The elements are small integers, so that every sum is exact.  C x = A (B x) is checked for a vector x of
 * random integers, with A and B from the formula (a wrong row passes once in 65536 times), and rows of C
 * element by element: all of them up to 512 rows, else one of each tile. */
#include <cblas.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kAllRows = 512 };
static struct {
  long n, tile, panel;      /* rows and columns of the matrices, of a tile; columns of a panel */
  int rows, columns, me;    /* of the grid */
  double *a, *b, *c;        /* this PE's pieces and tiles, on the symmetric heap */
  double *tile_of_c, *next; /* private: a tile, and two pairs of pieces */
} my;
static double wrong, wrong_anywhere, seconds, slowest;

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double element(long i, long j, long salt) {
  return (double)((i * 31 + j * 17 + i * j % 7 * salt) % 11 - 5);
}
static double of_a(long i, long j) { return element(i, j, 3); }
static double of_b(long i, long j) { return element(j, i, 5); }

/* Pieces are counted from 0 in both directions; each is `bytes` long and lies on one PE. */
static int owner(long i, long j) { return (int)(i % my.rows * my.columns + j % my.columns); }
static size_t place(long i, long j, long across, size_t size) {
  const long in_row = (across + my.columns - 1) / my.columns;
  return (size_t)(i / my.rows * in_row + j / my.columns) * size;
}

static long tiles(void) { return my.n / my.tile; }
static long panels(void) { return my.n / my.panel; }
static size_t piece_size(void) { return (size_t)(my.tile * my.panel); }
static size_t tile_size(void) { return (size_t)(my.tile * my.tile); }
static double* piece_of_a(long i, long k) { return my.a + place(i, k, panels(), piece_size()); }
static double* piece_of_b(long k, long j) { return my.b + place(k, j, tiles(), piece_size()); }
static double* tile_of_c(long i, long j) { return my.c + place(i, j, tiles(), tile_size()); }

/* Each PE makes its own pieces and puts them where they belong; all are stored row by row. */
static void fill(void) {
  double* piece = my.next;
  for (long i = 0; i < tiles(); ++i) {
    for (long k = 0; k < panels(); ++k) {
      if (owner(i, k) == my.me) {
        for (long x = 0; x < my.tile * my.panel; ++x)
          piece[x] = of_a(i * my.tile + x / my.panel, k * my.panel + x % my.panel);
        shmem_double_put(piece_of_a(i, k), piece, piece_size(), my.me);
      }
      if (owner(k, i) == my.me) {
        for (long x = 0; x < my.tile * my.panel; ++x)
          piece[x] = of_b(k * my.panel + x / my.tile, i * my.tile + x % my.tile);
        shmem_double_put(piece_of_b(k, i), piece, piece_size(), my.me);
      }
    }
  }
}

/* Starts to get the k-th pair for tile (i, j) into the pair of buffers whose turn it is. */
static void fetch(long i, long j, long k) {
  double* pair = my.next + (size_t)(k % 2) * 2 * piece_size();
  shmem_double_get_nbi(pair, piece_of_a(i, k), piece_size(), owner(i, k));
  shmem_double_get_nbi(pair + piece_size(), piece_of_b(k, j), piece_size(), owner(k, j));
}

static void compute(long i, long j) {
  const int t = (int)my.tile, p = (int)my.panel;
  fetch(i, j, 0);
  for (long k = 0; k < panels(); ++k) {
    shmem_quiet();
    if (k + 1 < panels()) fetch(i, j, k + 1);
    const double* pair = my.next + (size_t)(k % 2) * 2 * piece_size();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, t, t, p, 1, pair, p, pair + piece_size(), t, k > 0,
                my.tile_of_c, t);
  }
  shmem_double_put(tile_of_c(i, j), my.tile_of_c, tile_size(), my.me);
}

/* Tile by tile, all PEs of a row of the grid at the same row of tiles: so they want the same pieces of A. */
static void multiply(void) {
  for (long i = my.me / my.columns; i < tiles(); i += my.rows)
    for (long j = my.me % my.columns; j < tiles(); j += my.columns) compute(i, j);
}

static void check_row(const double* row, long r, long j) {
  for (long c = 0; c < my.tile; ++c) {
    double sum = 0;
    for (long k = 0; k < my.n; ++k) sum += of_a(r, k) * of_b(k, j * my.tile + c);
    wrong += sum != row[c];
  }
}

/* y[i] = sum of m(i, j) x[j] */
static void apply(double (*m)(long, long), const double* x, double* y) {
  for (long i = 0; i < my.n; ++i) {
    y[i] = 0;
    for (long j = 0; j < my.n; ++j) y[i] += m(i, j) * x[j];
  }
}

static void check(void) {
  const size_t n = (size_t)my.n;
  double *x = malloc(3 * n * sizeof *x), *y = x + n, *z = y + n, *part = shmem_calloc(2 * n, sizeof *part);
  if (x == NULL || part == NULL) fprintf(stderr, "summa: no room for the check\n"), shmem_global_exit(1);
  uint64_t random = 88172645463325252u;
  for (size_t i = 0; i < n; ++i) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17; /* xorshift64 */
    x[i] = (double)(random >> 48);
  }
  for (long i = my.me / my.columns; i < tiles(); i += my.rows) {
    for (long j = my.me % my.columns; j < tiles(); j += my.columns) {
      shmem_double_get(my.tile_of_c, tile_of_c(i, j), tile_size(), my.me);
      const long step = my.n <= kAllRows ? 1 : my.tile;
      for (long r = (i + j) % step; r < my.tile; r += step)
        check_row(my.tile_of_c + r * my.tile, i * my.tile + r, j);
      cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)my.tile, (int)my.tile, 1, my.tile_of_c, (int)my.tile,
                  x + j * my.tile, 1, 1, part + i * my.tile, 1);
    }
  }
  shmem_double_sum_reduce(SHMEM_TEAM_WORLD, part + n, part, n);
  apply(of_b, x, y);
  apply(of_a, y, z);
  for (size_t i = 0; i < n; ++i) wrong += z[i] != part[n + i];
  shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &wrong_anywhere, &wrong, 1);
  shmem_free(part);
  free(x);
}

static int make_room(void) {
  const size_t t = (size_t)tiles(), p = (size_t)panels(), r = (size_t)my.rows, c = (size_t)my.columns;
  my.a = shmem_malloc((t + r - 1) / r * ((p + c - 1) / c) * piece_size() * sizeof(double));
  my.b = shmem_malloc((p + r - 1) / r * ((t + c - 1) / c) * piece_size() * sizeof(double));
  my.c = shmem_malloc((t + r - 1) / r * ((t + c - 1) / c) * tile_size() * sizeof(double));
  my.tile_of_c = malloc(tile_size() * sizeof(double));
  my.next = malloc(4 * piece_size() * sizeof(double));
  return my.a != NULL && my.b != NULL && my.c != NULL && my.tile_of_c != NULL && my.next != NULL;
}

static int understand(int argc, char** argv) {
  my.n = argc > 1 ? strtol(argv[1], NULL, 10) : 384;
  my.tile = argc > 2 ? strtol(argv[2], NULL, 10) : my.n / 6;
  my.panel = argc > 3 ? strtol(argv[3], NULL, 10) : my.tile / 2;
  my.me = shmem_my_pe();
  for (my.rows = 1; my.rows * my.rows <= shmem_n_pes(); ++my.rows) continue;
  for (--my.rows; shmem_n_pes() % my.rows != 0; --my.rows) continue;
  my.columns = shmem_n_pes() / my.rows;
  return my.n > 0 && my.n <= 65536 && my.tile > 0 && my.panel > 0 && my.n % my.tile == 0 &&
         my.n % my.panel == 0;
}

int main(int argc, char** argv) {
  shmem_init();
  if (!understand(argc, argv)) {
    if (my.me == 0)
      fprintf(stderr,
              "usage: summa [rows, up to 65536] [rows of a tile] [of a panel]; both divide the rows\n");
    shmem_finalize();
    return 2;
  }
  if (!make_room())
    fprintf(stderr, "summa: no room for the matrices; see SHMEM_SYMMETRIC_SIZE\n"), shmem_global_exit(1);
  fill();
  shmem_barrier_all();
  seconds = -now();
  multiply();
  shmem_barrier_all();
  seconds += now();
  shmem_double_max_reduce(SHMEM_TEAM_WORLD, &slowest, &seconds, 1);
  check();
  if (my.me == 0) {
    const double rows = (double)my.n;
    printf("%ld x %ld in tiles of %ld, panels of %ld, on %d x %d PEs: %.3f s, %.2f GFLOP/s per PE, %s\n",
           my.n, my.n, my.tile, my.panel, my.rows, my.columns, slowest,
           2e-9 * rows * rows * rows / slowest / shmem_n_pes(), wrong_anywhere != 0 ? "WRONG" : "verified");
  }
  shmem_finalize();
  return wrong_anywhere != 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix whose elements are found by (row, column) and lie wherever their hash puts them.  It is
// added up from small pieces, as finite elements do it: where pieces overlap the table adds.  A product with
// a vector goes over the elements that each PE has, so that nothing but the result travels.
//
//   oshc++ -O2 kv_sparse.cpp -o kv_sparse && oshrun -n 4 ./kv_sparse [rows]
#include <shmemx_kv.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace {

struct Place {
  std::uint32_t row, column;
};
bool operator<(Place a, Place b) { return std::tie(a.row, a.column) < std::tie(b.row, b.column); }
using Matrix = shmemx::kv_table<Place, double>;

constexpr std::uint32_t kCorners = 4;

// A piece: the rows and columns that it touches.  All values are whole numbers: their sums do not depend on
// the order.
struct Piece {
  std::uint32_t corner[kCorners];
  double value(std::uint32_t i, std::uint32_t j) const { return i == j ? 8 : -1 - double(corner[i] % 3); }
};
Piece piece(std::uint32_t number, std::uint32_t rows) {
  return {{number, (number + 1) % rows, (number * 7 + 3) % rows, (number * 13 + 5) % rows}};
}

template <class Visit>
void for_each_element(std::uint32_t number, std::uint32_t rows, Visit visit) {
  const Piece one = piece(number, rows);
  for (std::uint32_t i = 0; i < kCorners; ++i)
    for (std::uint32_t j = 0; j < kCorners; ++j) visit(Place{one.corner[i], one.corner[j]}, one.value(i, j));
}

double x_of(std::uint32_t column) { return double(column % 17) - 8; }

// Pieces number me, me + n, ... go into the matrix, many at once.
bool assemble(Matrix& matrix, std::uint32_t rows) {
  std::vector<Place> places;
  std::vector<double> values;
  for (auto i = std::uint32_t(shmem_my_pe()); i < rows; i += std::uint32_t(shmem_n_pes())) {
    for_each_element(i, rows, [&](Place place, double value) {
      places.push_back(place);
      values.push_back(value);
    });
  }
  return matrix.upsert_batch(places, SHMEMX_KV_ADD, values) == SHMEMX_KV_OK;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 3000;
  shmem_init();
  if (rows < 1 || rows > 100000000) {
    if (shmem_my_pe() == 0) std::fputs("usage: kv_sparse [1 to 100000000 rows]\n", stderr);
    shmem_finalize();
    return 2;
  }
  const auto n = static_cast<std::uint32_t>(rows);
  auto* const mine = static_cast<double*>(shmem_calloc(rows, sizeof(double)));
  auto* const y = static_cast<double*>(shmem_calloc(rows, sizeof(double)));
  Matrix matrix(std::uint64_t{kCorners * kCorners} * rows);
  if (mine == nullptr || y == nullptr || !matrix) shmem_global_exit(1);
  if (!assemble(matrix, n)) std::fputs("kv_sparse: the table is full\n", stderr), shmem_global_exit(1);
  shmem_barrier_all();

  std::uint64_t elements = 0;
  for (auto [place, value] : matrix.local()) mine[place.row] += value * x_of(place.column), ++elements;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, y, mine, rows);

  // The same directly, and some elements by their places.
  std::map<Place, double> direct;
  for (std::uint32_t i = 0; i < n; ++i)
    for_each_element(i, n, [&](Place place, double value) { direct[place] += value; });
  std::vector<double> expected(rows);
  std::uint64_t wrong = matrix.count() != direct.size(), looked_at = 0;
  for (const auto& [place, value] : direct) {
    expected[place.row] += value * x_of(place.column);
    if (looked_at++ % 97 == 0) wrong += matrix.get(place) != value;
  }
  for (std::uint32_t i = 0; i < n; ++i) wrong += y[i] != expected[i];
  static std::uint64_t found[2], all[2];
  found[0] = wrong, found[1] = elements;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all, found, 2);
  if (shmem_my_pe() == 0)
    std::printf("%zu rows with %zu elements times a vector; %s\n", rows, std::size_t(all[1]),
                all[0] == 0 ? "verified" : "WRONG");
  matrix.close();
  shmem_free(y);
  shmem_free(mine);
  shmem_finalize();
  return all[0] == 0 ? 0 : 1;
}

// SPDX-License-Identifier: BSD-3-Clause
// Conway's Life on a torus whose rows are divided among the PEs, with shmem.hpp: arrays that free themselves,
// rows as spans, a put that announces itself.  The last generation is compared with that of one PE alone.
//
//   oshc++ -std=c++20 -O2 life.cpp -o life && oshrun -n 4 ./life
#include <shmem.hpp>

#include <cstdio>
#include <vector>

namespace {

constexpr int kSize = 96, kGenerations = 120;
using Cell = unsigned char;

// Rows 1 .. rows of `next`, from rows 0 .. rows + 1 of `now`.
void step(std::span<Cell> next, std::span<const Cell> now, int rows) {
  const auto at = [&](int row, int column) {
    return now[static_cast<std::size_t>(row * kSize + (column + kSize) % kSize)];
  };
  for (int row = 1; row <= rows; ++row) {
    for (int column = 0; column < kSize; ++column) {
      int around = -at(row, column);
      for (int down = -1; down <= 1; ++down)
        for (int right = -1; right <= 1; ++right) around += at(row + down, column + right);
      next[static_cast<std::size_t>(row * kSize + column)] =
          around == 3 || (around == 2 && at(row, column) != 0) ? 1 : 0;
    }
  }
}

Cell at_first(int row, int column) { return (row * row + 3 * column * row + column) % 7 < 3 ? 1 : 0; }

// All rows, after the last generation.
std::vector<Cell> alone() {
  std::vector<Cell> now((kSize + 2) * kSize), next(now.size());
  const auto row_of = [](std::vector<Cell>& cells, int row) { return cells.begin() + row * kSize; };
  for (int row = 0; row < kSize; ++row)
    for (int column = 0; column < kSize; ++column) *(row_of(now, row + 1) + column) = at_first(row, column);
  for (int generation = 0; generation < kGenerations; ++generation) {
    std::copy_n(row_of(now, kSize), kSize, row_of(now, 0));
    std::copy_n(row_of(now, 1), kSize, row_of(now, kSize + 1));
    step(next, now, kSize);
    now.swap(next);
  }
  return {row_of(now, 1), row_of(now, kSize + 1)};
}

}  // namespace

int main() {
  const shmem::library library;
  const int me = shmem::my_pe(), n = shmem::n_pes(), above = (me + n - 1) % n, below = (me + 1) % n;
  const auto first = [n](int pe) { return pe * kSize / n; };
  const int rows = first(me + 1) - first(me), rows_above = first(above + 1) - first(above);
  constexpr std::size_t width = kSize;
  // The same size on all PEs; the rows at the edges are those of the neighbours.
  const std::size_t cells = (width / static_cast<std::size_t>(n) + 3) * width;
  shmem::symmetric_array<Cell> plates[2] = {shmem::symmetric_array<Cell>(cells),
                                            shmem::symmetric_array<Cell>(cells)};
  shmem::symmetric_array<std::uint64_t> generation_of(2);  // of the rows that have come from above and below
  const auto row = [](shmem::symmetric_array<Cell>& plate, int at) {
    return plate.part(static_cast<std::size_t>(at) * width, width);
  };
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < kSize; ++c)
      row(plates[0], r + 1)[static_cast<std::size_t>(c)] = at_first(first(me) + r, c);

  for (std::uint64_t t = 0; t < kGenerations; ++t) {
    auto &now = plates[t % 2], &next = plates[(t + 1) % 2];
    using enum shmem::signal_op;
    shmem::put_signal(row(now, 0), row(now, rows), &generation_of[0], t + 1, set, below);
    shmem::put_signal(row(now, rows_above + 1), row(now, 1), &generation_of[1], t + 1, set, above);
    shmem::wait_until_all(generation_of, shmem::cmp::ge, t + 1);
    step({next.data(), next.size()}, {now.data(), now.size()}, rows);
  }

  const std::vector<Cell> expected = alone();
  static long wrong, all_wrong, alive, all_alive;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < kSize; ++c) {
      const Cell cell = row(plates[kGenerations % 2], r + 1)[static_cast<std::size_t>(c)];
      alive += cell;
      wrong += cell != expected[static_cast<std::size_t>((first(me) + r) * kSize + c)];
    }
  }
  const shmem::team world = shmem::team::world();
  shmem::sum_reduce(world, &all_wrong, std::span(&wrong, 1));
  shmem::sum_reduce(world, &all_alive, std::span(&alive, 1));
  if (me == 0)
    std::printf("%ld cells live after %d generations, %ld differ\n", all_alive, kGenerations, all_wrong);
  return all_wrong == 0 && all_alive > 0 ? 0 : 1;
}

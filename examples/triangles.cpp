// SPDX-License-Identifier: BSD-3-Clause
// Triangles of a Kronecker graph, that of Graph500.  Vertex v lives on PE v % npes with the list of its later
// neighbours; for each of them the PE reads its list and counts whom both know.
//
//   oshc++ -O2 triangles.cpp -o triangles && oshrun -n 4 ./triangles [scale [edges per vertex]]
#include <shmem.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "kronecker.hpp"

using Lists = std::vector<std::vector<Word>>;
static constexpr Word kRead = 1 << 17;
static Word mine[3], all[3];  // triangles, edges followed, words of the longest part

// For each vertex of PE `me` its neighbours with higher numbers, each once, ascending.
static Lists later_neighbours(Word scale, Word edges, Word me, Word n) {
  Lists lists = neighbours(scale, edges, me, n);
  for (Word i = 0; i < lists.size(); ++i) {
    std::vector<Word>& list = lists[i];
    list.erase(std::remove_if(list.begin(), list.end(), [&](Word v) { return v <= i * n + me; }), list.end());
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

static Word in_both(const Word* a, const Word* a_end, const Word* b, const Word* b_end) {
  Word count = 0;
  while (a != a_end && b != b_end) {
    if (*a == *b) ++count;
    *a < *b ? ++a : *b < *a ? ++b : (++a, ++b);
  }
  return count;
}

// The same once more, by one PE, which knows both ends of each edge.
static Word triangles(Word scale, Word edges) {
  const Lists lists = later_neighbours(scale, edges, 0, 1);
  Word count = 0;
  for (const std::vector<Word>& others : lists)
    for (const Word v : others)
      count += in_both(others.data(), others.data() + others.size(), lists[v].data(),
                       lists[v].data() + lists[v].size());
  return count;
}

int main(int argc, char** argv) {
  Word scale = 10, degree = 16;
  shmem_init();
  if (!arguments(argc, argv, scale, degree)) return shmem_finalize(), 2;
  const Word me = Word(shmem_my_pe()), n = Word(shmem_n_pes()), edges = degree << scale;
  const Lists lists = later_neighbours(scale, edges, me, n);
  // For others to read: where the list of each vertex begins, and the lists.
  Word* const first = words(lists.size() + 1);
  for (Word i = 0; i < lists.size(); ++i) first[i + 1] = first[i] + lists[i].size();
  mine[2] = first[lists.size()];
  shmem_max_reduce(SHMEM_TEAM_WORLD, all, &mine[2], 1);
  Word* const list = words(all[0] + 1);
  for (Word i = 0; i < lists.size(); ++i) std::copy(lists[i].begin(), lists[i].end(), list + first[i]);
  shmem_barrier_all();
  const auto start = std::chrono::steady_clock::now();
  for (const std::vector<Word>& others : lists) mine[1] += others.size();
  std::vector<Word> bounds(2 * mine[1]),
      read;  // of all neighbours: where their lists are; of some, the lists
  Word* bound = bounds.data();
  for (const std::vector<Word>& others : lists)
    for (const Word v : others) shmem_ulong_get_nbi(bound, &first[v / n], 2, int(v % n)), bound += 2;
  shmem_quiet();
  bound = bounds.data();
  for (Word i = 0; i < lists.size();) {  // as many vertices at a time as kRead words hold the lists of
    Word end = i, total = 0;
    const Word* next = bound;
    for (; end < lists.size() && (end == i || total < kRead); ++end)
      for (Word k = 0; k < lists[end].size(); ++k) total += next[1] - next[0], next += 2;
    read.resize(total);
    Word* place = read.data();
    next = bound;
    for (Word u = i; u < end; ++u)
      for (const Word v : lists[u]) {
        shmem_ulong_get_nbi(place, &list[next[0]], next[1] - next[0], int(v % n));
        place += next[1] - next[0], next += 2;
      }
    shmem_quiet();
    place = read.data();
    for (; i < end; ++i)
      for (Word k = 0; k < lists[i].size(); ++k, bound += 2) {
        const Word length = bound[1] - bound[0];
        mine[0] += in_both(lists[i].data(), lists[i].data() + lists[i].size(), place, place + length);
        place += length;
      }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 2);

  const Word alone = triangles(scale, edges);
  if (me == 0)
    std::printf("%.0f triangles, %.3g edges/s; one PE finds %.0f\n", double(all[0]),
                double(all[1]) / seconds.count(), double(alone));
  shmem_finalize();
  return all[0] != alone;
}

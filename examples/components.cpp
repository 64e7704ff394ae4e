// SPDX-License-Identifier: BSD-3-Clause
// Connected components of a Kronecker graph, that of Graph500: each vertex takes the lowest number that a
// neighbour has, until none changes.  Vertex v lives on PE v % npes, which reads what its neighbours have.
//
//   oshc++ -O2 components.cpp -o components && oshrun -n 4 ./components [scale [edges per vertex]]
#include <shmem.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "kronecker.hpp"

static Word mine[4], all[4];  // changed, components, edges followed, mistakes

// The component of each vertex, by union and find, alone: another way to the same answer.
static std::vector<Word> components(Word scale, Word edges) {
  std::vector<Word> above(Word{1} << scale);
  std::iota(above.begin(), above.end(), Word{0});
  const auto top = [&](Word v) {
    while (above[v] != v) v = above[v] = above[above[v]];
    return v;
  };
  for (Word e = 0; e < edges; ++e) {
    const auto [u, v] = edge(scale, e);
    const Word a = top(u), b = top(v);
    above[std::max(a, b)] = std::min(a, b);
  }
  for (Word v = 0; v < above.size(); ++v) above[v] = top(v);
  return above;
}

int main(int argc, char** argv) {
  Word scale = 10, degree = 16;
  shmem_init();
  if (!arguments(argc, argv, scale, degree)) return shmem_finalize(), 2;
  const Word me = Word(shmem_my_pe()), n = Word(shmem_n_pes()), edges = degree << scale;
  const std::vector<std::vector<Word>> graph = neighbours(scale, edges, me, n);
  const Word vertices = ((Word{1} << scale) + n - 1 - me) / n;  // mine
  Word* label[2];                                               // of a round, and of the next
  for (Word*& one : label) one = words(graph.size());
  for (Word i = 0; i < vertices; ++i) label[0][i] = i * n + me;
  shmem_barrier_all();
  Word ends = 0;  // of edges
  for (const auto& others : graph) ends += others.size();
  std::vector<Word> seen(ends);  // what the neighbours have, vertex by vertex
  const auto start = std::chrono::steady_clock::now();
  Word* now = label[0];
  for (Word* next = label[1];; std::swap(now, next)) {
    Word* place = seen.data();
    for (const auto& others : graph)
      for (const Word v : others) shmem_ulong_get_nbi(place++, &now[v / n], 1, int(v % n));
    mine[2] += ends;
    shmem_quiet();
    place = seen.data(), mine[0] = 0;
    for (Word i = 0; i < vertices; ++i) {
      next[i] = std::accumulate(place, place + graph[i].size(), now[i],
                                [](Word a, Word b) { return std::min(a, b); });
      place += graph[i].size(), mine[0] += next[i] != now[i];
    }
    shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 1);
    shmem_barrier_all();  // all have taken their next labels
    if (all[0] == 0) break;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const std::vector<Word> alone = components(scale, edges);
  for (Word i = 0; i < vertices; ++i) {
    const Word v = i * n + me;
    mine[1] += now[i] == v, mine[3] += now[i] != alone[v];
  }
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 4);
  if (me == 0)
    std::printf("%.0f components, %.3g edges/s; %.0f vertices differ from one PE's result\n", double(all[1]),
                double(all[2]) / seconds.count(), double(all[3]));
  shmem_finalize();
  return all[3] != 0;
}

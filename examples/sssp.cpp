// SPDX-License-Identifier: BSD-3-Clause
// Shortest paths from one vertex of a Kronecker graph, that of Graph500, whose edges have lengths: each
// vertex that has come nearer offers its neighbours a way, and the shortest stays, by an atomic minimum
// (Bellman and Ford).  Vertex v lives on PE v % npes.
//
//   oshc++ -O2 sssp.cpp -o sssp && oshrun -n 4 ./sssp [scale [edges per vertex]]
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "kronecker.hpp"

static constexpr Word kFar = Word{1} << 60;
static Word mine[4], all[4];  // vertices that have come nearer, reached, edges followed, mistakes

// From 1 to 255, and the same from both ends.
static Word length(Word u, Word v) { return mix(u ^ v) % 255 + 1; }

// The same by another algorithm (Dijkstra's), alone.
static std::vector<Word> distances(Word scale, Word edges, Word root) {
  const auto graph = neighbours(scale, edges, 0, 1);
  std::vector<Word> found(graph.size(), kFar);
  using Step = std::pair<Word, Word>;  // distance, vertex
  std::priority_queue<Step, std::vector<Step>, std::greater<>> next;
  next.emplace(0, root);
  while (!next.empty()) {
    const auto [distance, v] = next.top();
    next.pop();
    if (found[v] != kFar) continue;
    found[v] = distance;
    for (const Word w : graph[v]) next.emplace(distance + length(v, w), w);
  }
  return found;
}

int main(int argc, char** argv) {
  Word scale = 10, degree = 16;
  shmem_init();
  if (!arguments(argc, argv, scale, degree)) return shmem_finalize(), 2;
  const Word me = Word(shmem_my_pe()), n = Word(shmem_n_pes()), edges = degree << scale;
  const Word root = edge(scale, 0).first;
  const std::vector<std::vector<Word>> graph = neighbours(scale, edges, me, n);
  const Word vertices = graph.size();
  Word* const offered = words(vertices);
  std::fill_n(offered, vertices, kFar);
  std::vector<Word> distance(vertices, kFar), nearer;  // nearer: vertices that have come nearer
  if (root % n == me) offered[root / n] = 0;
  shmem_barrier_all();
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    nearer.clear();
    for (Word i = 0; i < vertices; ++i)
      if (offered[i] < distance[i]) distance[i] = offered[i], nearer.push_back(i);
    mine[0] = nearer.size();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 1);  // and nobody offers before all have looked
    if (all[0] == 0) break;
    for (const Word i : nearer) {
      mine[2] += graph[i].size();
      for (const Word v : graph[i])
        shmemx_ulong_atomic_min(&offered[v / n], distance[i] + length(i * n + me, v), int(v % n));
    }
    shmem_barrier_all();  // all offers are there
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const std::vector<Word> alone = distances(scale, edges, root);
  for (Word i = 0; i * n + me < alone.size(); ++i)
    mine[1] += distance[i] != kFar, mine[3] += distance[i] != alone[i * n + me];
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 4);
  if (me == 0)
    std::printf("%.0f vertices reached, %.3g edges/s; %.0f distances differ from one PE's result\n",
                double(all[1]), double(all[2]) / seconds.count(), double(all[3]));
  shmem_finalize();
  return all[3] != 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Breadth-first search of a Kronecker graph, that of Graph500, level by level.  Vertex v lives on PE v %
// npes. Its parent is who claims it first: by a compare-and-swap whose answer is looked at when the level is
// done.
//
//   oshc++ -O2 bfs.cpp -o bfs && oshrun -n 4 ./bfs [scale [edges per vertex]]
#include <shmem.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kronecker.hpp"

using Graph = std::vector<std::vector<Word>>;  // the neighbours of each of my vertices
static constexpr Word kNone = Word{1} << 60;   // far from all levels
static Word tally[4], total[4];  // vertices of this level, vertices claimed, edges followed, mistakes

// Edges join vertices at most one level apart, or out of reach; a parent is a neighbour of the level before.
static Word mistakes(const Graph& graph, const Word* parent, const Word* levels) {
  const Word me = Word(shmem_my_pe()), n = Word(shmem_n_pes());
  Word wrong = 0;
  for (Word i = 0; i < graph.size(); ++i) {
    const Word level = levels[me * graph.size() + i];
    bool has_parent = level == kNone || (level == 0 && parent[i] == i * n + me);
    for (const Word v : graph[i]) {
      const Word other = levels[v % n * graph.size() + v / n];
      wrong += level - other + 1 > 2, has_parent |= v == parent[i] && other == level - 1;
    }
    wrong += !has_parent;
  }
  return wrong;
}

int main(int argc, char** argv) {
  Word scale = 10, degree = 16;
  shmem_init();
  if (!arguments(argc, argv, scale, degree)) return shmem_finalize(), 2;
  const Word me = Word(shmem_my_pe()), n = Word(shmem_n_pes());
  const Graph graph = neighbours(scale, degree << scale, me, n);
  const Word mine = graph.size(), root = edge(scale, 0).first;
  Word *parent = words((n + 2) * mine), *level = parent + mine, *levels = level + mine;
  std::fill_n(parent, 2 * mine, kNone);
  if (root % n == me) parent[root / n] = root, tally[1] = 1;
  std::vector<Word> found;  // by compare-and-swap: kNone where this PE was the first
  const auto start = std::chrono::steady_clock::now();
  shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  for (Word depth = 0;; ++depth) {
    Word asked = tally[0] = 0;
    for (Word i = 0; i < mine; ++i)
      if (parent[i] != kNone && level[i] == kNone) level[i] = depth, ++tally[0], asked += graph[i].size();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, total, tally, 1);  // and nobody claims before all have looked
    if (total[0] == 0) break;
    found.assign(asked, 0), tally[2] += asked;
    for (Word i = 0; i < mine; ++i) {
      if (level[i] != depth) continue;
      for (const Word v : graph[i])
        shmem_atomic_compare_swap_nbi(&found[--asked], &parent[v / n], kNone, i * n + me, int(v % n));
    }
    shmem_barrier_all();  // completes them: the answers are here, the parents are there
    tally[1] += Word(std::count(found.begin(), found.end(), kNone));
  }
  shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  shmem_fcollect(SHMEM_TEAM_WORLD, levels, level, mine);
  tally[0] = mine - Word(std::count(level, level + mine, kNone)), tally[3] = mistakes(graph, parent, levels);
  shmem_sum_reduce(SHMEM_TEAM_WORLD, total, tally, 4);
  const bool wrong = total[0] != total[1] || total[3] != 0;  // claimed twice, or no tree
  if (me == 0)
    std::printf("%.0f vertices reached, %.3g edges/s: %s\n", double(total[0]),
                double(total[2]) / 2 / seconds.count(), wrong ? "WRONG" : "tree verified");
  shmem_finalize();
  return wrong;
}

// SPDX-License-Identifier: BSD-3-Clause
// PageRank of a Kronecker graph, that of Graph500.  Vertex v lives on PE v % npes and gets its rank by atomic
// additions.  Ranks are integers, parts of 2^60: they add up to the same in any order.
//
//   oshc++ -O2 pagerank.cpp -o pagerank && oshrun -n 4 ./pagerank [scale [edges per vertex]]
#include <shmem.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kronecker.hpp"

using Graph = std::vector<std::vector<Word>>;  // the neighbours of each vertex that a PE has
static constexpr Word kOne = Word{1} << 60, kSteps = 10;
static Word mine[3], all[3];  // rank of vertices without neighbours, which all vertices get; edges; mistakes

// Calls push(vertex, rank) for what goes along edges; returns the rank that has nowhere to go.
template <class Push>
static Word give(const Graph& graph, const std::vector<Word>& ranks, Push push) {
  Word left = 0;
  for (Word i = 0; i < ranks.size(); ++i) {
    if (graph[i].empty()) left += ranks[i];
    for (const Word v : graph[i]) push(v, ranks[i] / graph[i].size());
  }
  return left;
}

static void take(Word* received, Word left, Word vertices, std::vector<Word>& ranks) {
  for (Word& rank : ranks)
    rank = kOne / vertices / 100 * 15 + (*received + left / vertices) / 100 * 85, *received++ = 0;
}

int main(int argc, char** argv) {
  Word scale = 10, degree = 16;
  shmem_init();
  if (!arguments(argc, argv, scale, degree)) return shmem_finalize(), 2;
  const Word vertices = Word{1} << scale, edges = degree << scale;
  const Word me = Word(shmem_my_pe()), n = Word(shmem_n_pes());
  const Graph graph = neighbours(scale, edges, me, n);
  std::vector<Word> ranks((vertices + n - 1 - me) / n, kOne / vertices);
  Word* received[2];  // in even and in odd steps: a fast PE may be one ahead
  for (Word*& one : received) one = words(graph.size());
  const auto start = std::chrono::steady_clock::now();
  shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  for (Word step = 0; step < kSteps; ++step) {
    mine[0] = give(graph, ranks, [&](Word v, Word rank) {
      shmem_atomic_add(&received[step % 2][v / n], rank, int(v % n)), ++mine[1];
    });
    shmem_barrier_all();  // completes the additions
    shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 1);
    take(received[step % 2], all[0], vertices, ranks);
  }
  shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const Graph whole = neighbours(scale, edges, 0, 1);  // the same once more, alone
  std::vector<Word> alone(vertices, kOne / vertices), sums(vertices);
  for (Word step = 0; step < kSteps; ++step)
    take(sums.data(), give(whole, alone, [&](Word v, Word rank) { sums[v] += rank; }), vertices, alone);
  for (Word i = 0; i < ranks.size(); ++i) mine[2] += ranks[i] != alone[i * n + me];
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 3);
  const auto first = std::max_element(alone.begin(), alone.end());
  if (me == 0)
    std::printf("vertex %.0f has %.3f %% of the rank; %.3g edges/s; %.0f ranks differ from one PE's result\n",
                double(first - alone.begin()), double(*first) * 100 / double(kOne),
                double(all[1]) / seconds.count(), double(all[2]));
  shmem_finalize();
  return all[2] != 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// The edges of a Kronecker graph (R-MAT), as the examples of graphs use them, and how large it is.
#pragma once

#include <shmem.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

using Word = std::uint64_t;

inline Word mix(Word z) {  // splitmix64
  z = (z + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Edge e depends on nothing but e.  Each bit picks a quarter of the matrix, by chances of 57, 19, 19 and 5 %.
inline std::pair<Word, Word> edge(Word scale, Word e) {
  Word u = 0, v = 0;
  for (Word bit = 0; bit < scale; ++bit) {
    const Word chance = mix(mix(e) + bit) % 100;
    u = u << 1 | (chance >= 76), v = v << 1 | ((chance >= 57 && chance < 76) || chance >= 95);
  }
  const Word mask = (Word{1} << scale) - 1, odd = 0x9e3779b97f4a7c15U;  // scatters the popular vertices
  return {u * odd & mask, v * odd & mask};
}

// The neighbours of each vertex that PE `me` of n has, as often as there are edges to them; as long on all
// PEs.
inline std::vector<std::vector<Word>> neighbours(Word scale, Word edges, Word me, Word n) {
  std::vector<std::vector<Word>> graph((Word{1} << scale) / n + 1);
  for (Word e = 0; e < edges; ++e) {
    const auto [u, v] = edge(scale, e);
    if (u % n == me) graph[u / n].push_back(v);
    if (v % n == me) graph[v / n].push_back(u);
  }
  return graph;
}

// Digits for 1 to `most`.
inline bool number(const char* text, Word most, Word& value) {
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc{} && stop == end && value >= 1 && value <= most;
}

// Reads "[scale [edges per vertex]]"; if it is not that, PE 0 says what it must be.  2^scale vertices.
inline bool arguments(int argc, char** argv, Word& scale, Word& edges) {
  const bool right =
      argc <= 3 && (argc < 2 || number(argv[1], 24, scale)) && (argc < 3 || number(argv[2], 64, edges));
  if (!right && shmem_my_pe() == 0)
    std::fprintf(stderr, "usage: oshrun -n 4 %s [scale, 1 to 24 [edges per vertex, 1 to 64]]\n", argv[0]);
  return right;
}

// `count` symmetric words, all 0; the job ends if there is no room.
inline Word* words(Word count) {
  Word* const all = static_cast<Word*>(shmem_calloc(count, sizeof(Word)));
  if (all == nullptr && shmem_my_pe() == 0)
    std::fprintf(stderr, "no room for %llu bytes in the symmetric heap; set SHMEM_SYMMETRIC_SIZE to more\n",
                 static_cast<unsigned long long>(count * sizeof(Word)));
  if (all == nullptr) shmem_barrier_all(), shmem_global_exit(1);
  return all;
}

// SPDX-License-Identifier: BSD-3-Clause
// The edges of a Kronecker graph (R-MAT), as bfs.cpp and pagerank.cpp use them.
#pragma once

#include <cstdint>
#include <utility>

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

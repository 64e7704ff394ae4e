// SPDX-License-Identifier: BSD-3-Clause
// Visits every state that can be reached, breadth first, so that the first violation found has a shortest
// trace.
#pragma once

#include <cstddef>
#include <string>

#include "model.hpp"

namespace shm::model {

struct Findings {
  std::size_t states = 0, moves = 0, ends = 0;  // ends: states where nothing is under way
  std::size_t depth = 0;
  std::string violation;  // empty: none
  std::string trace;      // the moves that lead there, one a line
  std::string unused;     // rows of the protocol's table that no move has used
};

/// Of the visited states only a hash of 64 bits is kept: two of n states are mistaken for one with a
/// probability of n * n / 2^65, 1 in 100,000 for 20 million.
Findings explore(const Options& options);

}  // namespace shm::model

// SPDX-License-Identifier: BSD-3-Clause
// Who talked to whom: operations and bytes of puts, gets, atomics, signals and requests on keys, from the PE
// that calls (row) to the PE that it names (column), whichever way the bytes go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "record.hpp"

namespace observe {

/// A square of so many PEs, or of groups of neighbours where there are more than kMost of them.
class Pairs {
 public:
  static constexpr int kMost = 1024;

  explicit Pairs(int npes, int most = kMost);

  void add(int from, int to, Talk talk);

  int npes() const { return npes_; }
  int side() const { return side_; }    ///< rows and columns
  int group() const { return group_; }  ///< PEs of each
  const Talk& at(int row, int column) const { return cells_[index(row, column)]; }
  Talk& at(int row, int column) { return cells_[index(row, column)]; }
  /// "3", or "12-15" of a group.
  std::string name(int row) const;
  bool empty() const;

 private:
  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(side_) + static_cast<std::size_t>(column);
  }
  int npes_, group_, side_;
  std::vector<Talk> cells_;
};

/// The same with at most so many rows.
Pairs coarser(const Pairs& pairs, int most);

/// 0 for nothing, else 1 to `steps`: by the logarithm, from 1/1024 of the most, or less, up to the most.
int heat(std::uint64_t value, std::uint64_t most, int steps);

/// A heat map in characters, and the pairs that moved most.
std::string heat_map(const Pairs& pairs);
std::string svg_of(const Pairs& pairs);
std::string json_of(const Pairs& pairs);

}  // namespace observe

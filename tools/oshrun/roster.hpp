// SPDX-License-Identifier: BSD-3-Clause
// Who the processes of a job are. Pure; thread safe.
#pragma once

#include <string>
#include <vector>

namespace oshrun {

/// The processes of a job by rank, as PMIx counts them: first the PEs, then the memory servers. To people a
/// memory server is never a PE: it has a number of its own, which begins at 0.
struct Roster {
  int pes = 1;
  int servers = 0;

  int size() const { return pes + servers; }
  bool is_pe(int rank) const { return rank < pes; }
  /// "PE 2", "memory server 0".
  std::string name(int rank) const;
  /// "PE 0-2, 5 and memory server 0, 1"; `ranks` ascending.
  std::string names(const std::vector<int>& ranks) const;
  /// "4 PEs and 2 memory servers".
  std::string count() const;
};

/// "0-2, 5"; `numbers` ascending.
std::string number_list(const std::vector<int>& numbers);

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// Teams: ordered sets of PEs (OpenSHMEM 1.6, section 9.4).
#pragma once

namespace shm {

/// Every team is a strided range of the world, or of the PEs of this node: splits of such ranges are such
/// ranges again.
struct Team {
  int start = 0;   // place of member 0
  int stride = 1;  // may be negative; any value when size is 1
  int size = 0;
  int me = -1;                 // this PE's number in the team; -1: not a member
  const int* table = nullptr;  // world PE at each place, ascending; null: places are world PEs
  int places = 0;              // of the table

  int world_pe(int member) const {
    const int place = start + member * stride;
    return table == nullptr ? place : table[place];
  }

  /// The member that is world PE `pe`, or -1.
  int member(int pe) const;
};

}  // namespace shm

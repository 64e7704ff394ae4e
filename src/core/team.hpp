// SPDX-License-Identifier: BSD-3-Clause
// Teams: ordered sets of PEs (OpenSHMEM 1.6, section 9.3).
#pragma once

#include "shmem.h"

namespace shm {

/// Every team is a strided range of world PEs: splits of such ranges are such ranges again.
struct Team {
  int start = 0;   // world PE of member 0
  int stride = 1;  // may be negative; any value when size is 1
  int size = 0;
  int me = -1;  // this PE's number in the team

  int world_pe(int member) const { return start + member * stride; }

  /// The member that is world PE `pe`, or -1.
  int member(int pe) const {
    if (size == 1 || stride == 0) return pe == start ? 0 : -1;
    const int distance = pe - start;
    if (distance % stride != 0) return -1;
    const int number = distance / stride;
    return number >= 0 && number < size ? number : -1;
  }
};

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// Partners: PEs of the first half of the job and of the second, so that of two nodes each pair is on both.
#pragma once

#include <shmem.h>

namespace bench {

/// The part of this PE.  In a job of one it is its own partner; of an odd number the last one only looks on.
struct Pair {
  int half = shmem_n_pes() > 1 ? shmem_n_pes() / 2 : 1;
  int me = shmem_my_pe();
  bool alone = shmem_n_pes() == 1;
  bool begins = me < half;
  bool answers = alone || (me >= half && me < 2 * half);
  int other = alone ? 0 : begins ? me + half : me - half;  ///< of who takes part
  int other_of_me = other;                                 ///< whose data come here
  double pairs = half;
};

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// How long another process has not answered, of whom somebody waits for.
#pragma once

namespace shm {

struct Silence {
  static constexpr int kAnyPe = -1;
  int pe = kAnyPe;     // who
  double seconds = 0;  // since it was asked, of which this process did not stand still; 0: it answers
  bool ended = false;  // its process has come to its end, so long ago
};

}  // namespace shm

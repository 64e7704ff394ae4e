// SPDX-License-Identifier: BSD-3-Clause
// Which signals the process group of this process gets. Main thread only, and the only thread.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "fd.hpp"

namespace oshrun {

/// A process in this one's group that does nothing but remember signals. A signal does not say whether it was
/// meant for one process or for the group; but what the witness has got as well was meant for the group.
class Witness {
 public:
  Witness() = default;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness();

  /// Forks; all signals must be blocked that the witness shall not die of before it hears them. Returns 0 or
  /// an errno.
  int start();

  /// Whether it has got the signal since the last call for this one. Waits for its answer; false if it has
  /// been killed.
  bool has_got(int signal);

 private:
  [[noreturn]] static void live(pid_t parent, int reports);
  void question();

  pid_t pid_ = -1;
  UniqueFd reports_;
  sigset_t got_{};
};

}  // namespace oshrun

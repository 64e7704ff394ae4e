// SPDX-License-Identifier: BSD-3-Clause
// What is there to start PEs on other hosts, and the hand-over itself. Main thread only; starts processes.
#pragma once

#include <string>
#include <vector>

#include "engine.hpp"

namespace oshrun {

/// Of this process.
Surroundings this_place();

/// The text of a hostfile, of at most 16 MiB; on failure `error` is an errno.
struct FileText {
  std::string text;
  int error = 0;
};
FileText read_file(const std::string& path);

/// The first of the engines that is in PATH and can start PEs; or a line in `error` that says why none can.
struct Probe {
  Candidate engine;
  std::string error;
};
Probe probe(const std::vector<Engine>& engines);

/// Becomes the command, found in PATH. Returns an errno if it cannot.
int become(const std::vector<std::string>& argv);

}  // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// What --memory-servers and --remote-malloc add to the programs of a job. Main thread only: reads the
// environment.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace oshrun {

/// Where the files that belong to oshrun are installed, absolute.
struct Installation {
  std::string bin;
  std::string lib;
  std::string oshrun = {};  // itself, whatever it is called
  std::string data = {};

  std::string server() const { return bin + "/shmem_memory"; }
  std::string remote_malloc() const { return lib + "/libshmem_remote.so"; }
};
/// Of the oshrun that runs: found by its own place, so that the tree may be moved.
Installation this_installation();

/// All programs of the job in the order of ranks: those of the PEs, which get what --remote-malloc means, and
/// then, if there are any, that of the memory servers.
std::vector<App> all_apps(const Options& options, const Installation& installation);

}  // namespace oshrun

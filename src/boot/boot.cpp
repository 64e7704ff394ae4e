// SPDX-License-Identifier: BSD-3-Clause
#include "boot/boot.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/limits.hpp"

namespace shm {
namespace {

// What the library may open at once on one node, and what libpmix needs, which waits for ever where it has
// less.
constexpr std::size_t kFiles = 256, kFewestFiles = 24;

long number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtol(text, nullptr, 10) : 0;
}

}  // namespace

std::vector<int> virtual_node(const std::vector<int>& host_ranks, int rank, std::uint64_t virtual_nodes,
                              bool cyclic) {
  const std::size_t count = host_ranks.size();
  const std::size_t nodes = std::clamp<std::size_t>(virtual_nodes, 1, count);
  const auto node_of = [=](std::size_t index) { return cyclic ? index % nodes : index * nodes / count; };
  const auto index = std::find(host_ranks.begin(), host_ranks.end(), rank) - host_ranks.begin();
  const std::size_t node = node_of(static_cast<std::size_t>(index));
  std::vector<int> members;
  for (std::size_t i = 0; i < count; ++i) {
    if (node_of(i) == node) members.push_back(host_ranks[i]);
  }
  return members;
}

Result<std::unique_ptr<Boot>> make_boot() {
  if (std::getenv("PMIX_NAMESPACE") != nullptr) {
    if (allow_open_files(kFiles) < kFewestFiles)
      return Status::error("a PE needs at least " + std::to_string(kFewestFiles) + " open files" +
                           limit_behind(EMFILE));
    return make_pmix_boot();
  }
  // Launchers that would otherwise start N jobs of one PE each.
  if (std::getenv("PMI_FD") != nullptr || number_in("PMI_SIZE") > 1) {
    return Status::error(
        "this process was started by a PMI-1 launcher (MPICH's hydra?), which Atoll cannot join: start the "
        "program with oshrun, with Open MPI's mpirun, or with srun --mpi=pmix");
  }
  if (std::getenv("SLURM_STEP_ID") != nullptr && number_in("SLURM_STEP_NUM_TASKS") > 1) {
    return Status::error(
        "this process is one of several tasks of a Slurm step without PMIx: start the program with "
        "srun --mpi=pmix, or with oshrun");
  }
  return make_single_boot();
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// shmem_memory: lends the memory of its process to the PEs of a job.
//
// oshrun --memory-servers starts it; other launchers may start it as the last ranks of a job.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "setup/serve_memory.hpp"

namespace {

constexpr int kUsage = 2;

constexpr char kUsageText[] =
    "usage: oshrun -n N --memory-servers M [--memory-per-server SIZE] program\n"
    "oshrun starts M processes of shmem_memory beside the N PEs of the program.  They lend the PEs memory, "
    "and\n"
    "end with the job.  Under Slurm and Open MPI's mpirun start it as the last M ranks of the job, with\n"
    "SHMEM_MEMORY_SERVERS=M in the environment of all.\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (std::strcmp(argv[1], "-h") == 0 || std::strcmp(argv[1], "--help") == 0)) {
    std::fputs(kUsageText, stdout);
    return 0;
  }
  if (argc > 1) {
    std::fprintf(stderr, "shmem_memory: it takes no arguments, and was given '%s'; see shmem_memory --help\n",
                 argv[1]);
    return kUsage;
  }
  if (std::getenv("PMIX_NAMESPACE") == nullptr) {
    std::fputs(
        "shmem_memory: it is part of a job and cannot run alone; start it with oshrun -n N --memory-servers "
        "M "
        "program\n",
        stderr);
    return kUsage;
  }
  return shm::serve_memory();
}

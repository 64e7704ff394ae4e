// SPDX-License-Identifier: BSD-3-Clause
// The command line of `shmem_bench nvm`.
#pragma once

#include <cstddef>
#include <string>

#include "command_line.hpp"
#include "report.hpp"

namespace bench {

struct NvmOptions : ReportOptions {
  Names kernels;            ///< empty: all
  bool dram = false;        ///< all objects in memory, for comparison
  std::size_t page = 0;     ///< bytes of a page; 0 until parsed: as SHMEM_NVM_PAGE says
  std::size_t pool = 0;     ///< pages that a node has in memory; 0: as SHMEM_NVM_CACHE says, or not known
  std::size_t pages = 0;    ///< of data; 0: what suits the kernel
  std::size_t bytes = 1;    ///< that each PE has of the page of `sharing`
  std::size_t size = 4096;  ///< bytes of a get or put, of `cached`
  std::size_t memory = std::size_t{256} << 10;  ///< that `cached` works on, in turn
  double seconds = 0.05;
  std::size_t rounds = 5;

  bool wants(const char* kernel) const { return among(kernels, kernel); }
  std::size_t pages_of_miss() const;
  std::size_t pages_of_gets() const;
};

struct JobShape {
  std::size_t pes;
  std::size_t node_size;  ///< of the largest node
};

/// Fills `options`; when wrong, `why` is a sentence for the user.
Parsed parse(Words words, const JobShape& job, NvmOptions& options, std::string& why);

extern const char kNvmUsage[];

}  // namespace bench

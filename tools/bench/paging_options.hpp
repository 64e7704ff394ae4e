// SPDX-License-Identifier: BSD-3-Clause
// The command line of `shmem_bench paging`.
#pragma once

#include <cstddef>
#include <string>

#include "command_line.hpp"
#include "report.hpp"

namespace bench {

struct PagingOptions : ReportOptions {
  Names kernels;            ///< empty: all
  std::size_t page = 0;     ///< bytes of a page; 0 until parsed: as SHMEM_REMOTE_PAGE says
  std::size_t local = 0;    ///< bytes of local memory; 0 until parsed: as SHMEM_REMOTE_LOCAL says
  std::size_t size = 0;     ///< bytes of data; 0 until parsed: four times the local memory
  std::size_t threads = 1;  ///< of `micro`
  std::size_t rounds = 3;

  bool wants(const char* kernel) const { return among(kernels, kernel); }
};

/// Fills `options`; when wrong, `why` is a sentence for the user.
Parsed parse(Words words, PagingOptions& options, std::string& why);

extern const char kPagingUsage[];

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// The command line of `shmem_bench atomics`.
#pragma once

#include <cstddef>
#include <string>

#include "command_line.hpp"
#include "kernels.hpp"
#include "report.hpp"

namespace bench {

struct AtomicsOptions : ReportOptions {
  std::size_t memory = std::size_t{8} << 20;  ///< bytes of a PE's array
  std::size_t iterations = 1 << 16;           ///< of a pass
  std::size_t stride = 9;                     ///< of STRIDEN, in words
  std::size_t distance = 1;                   ///< PEs from each to its target
  std::size_t count = 0;                      ///< iterations of a round; 0: as many as take `seconds`
  double seconds = 0.02;
  std::size_t rounds = 3;
  bool session = false;          ///< hint SHMEM_CTX_SESSION_BATCH
  Names patterns, kinds, forms;  ///< empty: all

  bool wants(const Kernel& kernel) const;
  /// Which rows are asked for that cannot be, and why; "" if none.
  std::string what_is_not() const;
};

const char* name_of(Form form);

/// Fills `options` for a job of `pes`; when wrong, `why` is a sentence for the user.
Parsed parse(Words words, std::size_t pes, AtomicsOptions& options, std::string& why);

extern const char kAtomicsUsage[];

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// The kernels of `shmem_bench nvm`.
#pragma once

#include <functional>

#include "nvm_options.hpp"

namespace bench {

/// A line of the table; what does not apply is negative.
struct Row {
  const char* kernel;
  const char* what;
  double rate;  ///< MB a second of all PEs; of sharing, thousand puts a second; of computing, million turns;
                ///< of faults, thousand accesses
  double each;  ///< microseconds of a page, a put or an access; of cached, nanoseconds of an operation; of
                ///< computing, per cent of a core, of the PE whose other threads take most
  double read = -1;  ///< pages read from the files for each page that was got; of faults, those of an access
                     ///< that the pager served
  double beside = -1;  ///< nanoseconds of the same operation in memory
  bool right = true;   ///< on this PE
};
using NvmReport = std::function<void(const Row&)>;

/// Collective; calls `report` on all PEs for each row.  False: the symmetric heap has no room.
bool measure_miss(const NvmOptions& options, const NvmReport& report);
bool measure_gets(const NvmOptions& options, const NvmReport& report);
bool measure_sharing(const NvmOptions& options, const NvmReport& report);
bool measure_computing(const NvmOptions& options, const NvmReport& report);
bool measure_faults(const NvmOptions& options, const NvmReport& report);
bool measure_cached(const NvmOptions& options, const NvmReport& report);

}  // namespace bench

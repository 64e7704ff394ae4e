// SPDX-License-Identifier: BSD-3-Clause
// The kernels of `shmem_bench kv`.
#pragma once

#include <functional>

#include "kv_data.hpp"

namespace bench {

/// A line of the table; what does not apply is 0.
struct KvRow {
  const char* kernel;
  const char* what;
  Where where;
  std::size_t elements = 0;  ///< of each PE
  std::size_t value = 0;     ///< bytes
  std::size_t batch = 0;     ///< keys of a call
  std::size_t readers = 1;   ///< PEs at work
  double each = 0;           ///< nanoseconds of an operation, or of a round trip
  double ratio = 0;   ///< batch: how much quicker than single calls; scale: part of what readers alone have
  bool right = true;  ///< on this PE

  /// Million operations a second of all PEs at work.
  double rate() const { return static_cast<double>(readers) * 1e3 / each; }
};
using KvReport = std::function<void(const KvRow&)>;

/// Collective; calls `report` on all PEs for each row.  False: the symmetric heap has no room.
bool measure_pingpong(const KvOptions& options, const KvReport& report);
bool measure_get(const KvOptions& options, const KvReport& report);
bool measure_insert(const KvOptions& options, const KvReport& report);
bool measure_update(const KvOptions& options, const KvReport& report);
bool measure_mixed(const KvOptions& options, const KvReport& report);
bool measure_batch(const KvOptions& options, const KvReport& report);
bool measure_scale(const KvOptions& options, const KvReport& report);
bool measure_throughput(const KvOptions& options, const KvReport& report);
bool measure_latency(const KvOptions& options, const KvReport& report);

}  // namespace bench

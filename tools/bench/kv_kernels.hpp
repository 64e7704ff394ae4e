// SPDX-License-Identifier: BSD-3-Clause
// The kernels of `shmem_bench kv`.
#pragma once

#include <functional>
#include <vector>

#include "kv_data.hpp"
#include "kv_work.hpp"
#include "measure.hpp"

namespace bench {

/// A line of the table; what does not apply is 0.
struct KvRow {
  const char* kernel;
  const char* what;
  Where where;
  std::size_t elements = 0;  ///< of each PE
  std::size_t value = 0;     ///< bytes
  std::size_t batch = 0;     ///< keys of a call
  std::size_t readers = 1;   ///< PEs, or threads, at work
  double each = 0;           ///< nanoseconds of an operation, or of a round trip
  double ratio = 0;          ///< batch, nbi: how much quicker than single calls; scale, threads: part of what
                             ///< readers alone have; what else it is, the kernel's heading says
  Tail tail = {};            ///< of `tail`, in nanoseconds
  bool right = true;         ///< on this PE

  /// Million operations a second of all PEs at work.
  double rate() const { return static_cast<double>(readers) * 1e3 / each; }
};
using KvReport = std::function<void(const KvRow&)>;

/// Where PEs work on elements of others, with that of this PE.
struct Place {
  Where where;
  int target;
};
/// Those that the job has.  Collective.
std::vector<Place> places();
bool is_first();
/// Elements that a round inserts at most: so many, but not too much memory.
std::size_t most_inserted(const KvOptions& options);
/// A row of one PE's single calls.  Collective.
KvRow single(const char* kernel, const char* what, Where where, const Store& store, Work& work,
             Work::Kind kind, const KvOptions& options);

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
bool measure_threads(const KvOptions& options, const KvReport& report);
bool measure_nbi(const KvOptions& options, const KvReport& report);
bool measure_tail(const KvOptions& options, const KvReport& report);
bool measure_wait(const KvOptions& options, const KvReport& report);
bool measure_load(const KvOptions& options, const KvReport& report);
bool measure_churn(const KvOptions& options, const KvReport& report);
bool measure_full(const KvOptions& options, const KvReport& report);
bool measure_ycsb(const KvOptions& options, const KvReport& report);

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// The command line of `shmem_bench kv`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "report.hpp"

namespace bench {

using Numbers = std::vector<std::size_t>;

struct KvOptions : ReportOptions {
  Names kernels;        ///< empty: all
  Numbers elements;     ///< of each PE; empty: what suits the kernel
  Numbers values;       ///< bytes of a value, of `latency`
  Numbers batches;      ///< keys of a call, of `batch`
  std::size_t key = 8;  ///< bytes of a key
  std::size_t value = 8;
  double seconds = 0.05;
  std::size_t rounds = 5;
  std::size_t threads = 1;        ///< of PE 0, of `threads`
  std::size_t depth = 16;         ///< requests under way, of `nbi`
  std::size_t changes = 1000000;  ///< inserts, and removes, of `churn`
  std::vector<double> loads;      ///< part of the slots that are taken, of `load` and `churn`
  double zipf = 0.99;             ///< exponent, of `ycsb`; 0: all keys alike
  Names mixes;                    ///< of `ycsb`; empty: all
  double wait = 0.2;              ///< seconds, of `wait`

  bool wants(const char* kernel) const { return among(kernels, kernel); }
  /// --elements, or these.
  Numbers elements_or(Numbers usual) const { return elements.empty() ? usual : elements; }
};

/// Fills `options`; when wrong, `why` is a sentence for the user.
Parsed parse(Words words, KvOptions& options, std::string& why);

extern const char kKvUsage[];

}  // namespace bench

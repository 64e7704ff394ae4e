// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench nvm --kernel faults: loads and stores of PE 0's own pages that are not mapped.
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "measure.hpp"
#include "nvm_kernels.hpp"
#include "nvm_pages.hpp"

namespace bench {
namespace {

using Word = std::uint64_t;

enum class Kind { hit, upgrade, sequence, miss };
constexpr const char* kNames[] = {"load, in memory", "then a store", "loads in sequence, in memory",
                                  "load, not in memory"};

/// Faults of PE 0 that its pager served.  Of this PE.
double served_by_pager() {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return static_cast<double>(stats.page_faults) - static_cast<double>(stats.page_fault_hits);
}

class Faults {
 public:
  Faults(Pages& pages, const NvmOptions& options)
      : pages_(pages), memory_(!options.dram), order_(pages.count()) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  /// Collective.  The median of all accesses, but of sequences, where not each one is a fault, the mean of
  /// all.
  Row measure(Kind kind, std::size_t rounds) {
    times_.clear();
    double served = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      if (memory_) pages_.empty_pools();
      if (shmem_my_pe() == 0) served += this->round(kind, round);
      shmem_barrier_all();
    }
    double each = 0;
    if (shmem_my_pe() == 0) {
      std::sort(times_.begin(), times_.end());
      each = kind == Kind::sequence
                 ? std::accumulate(times_.begin(), times_.end(), 0.0) / static_cast<double>(times_.size())
                 : times_[times_.size() / 2];
    }
    each = largest(each) * 1e6;
    const double accesses = static_cast<double>(rounds * pages_.count());
    return {.kernel = "faults",
            .what = kNames[static_cast<int>(kind)],
            .rate = 1e3 / each,
            .each = each,
            .read = memory_ ? largest(served) / accesses : -1,
            .right = right_};
  }

 private:
  /// By PE 0.
  double round(Kind kind, std::size_t number) {
    const bool here = kind != Kind::miss;
    // A call maps nothing.  Again and again: what is used once only need not stay.
    for (std::size_t i = 0; here && i < 4 * pages_.count(); ++i) pages_.get(i % pages_.count());
    std::sort(order_.begin(), order_.end());
    if (kind != Kind::sequence) shuffle(number);
    if (kind == Kind::upgrade) {
      for (const std::size_t n : order_) right_ = *word(n) == first_word(n) && right_;
    }
    const double before = served_by_pager();
    for (const std::size_t n : order_) access(kind, n);
    return served_by_pager() - before;
  }
  void access(Kind kind, std::size_t n) {
    volatile Word* const at = word(n);
    const Word expected = first_word(n);
    const double start = now();
    if (kind == Kind::upgrade) *at = expected;
    const Word got = *at;
    times_.push_back(now() - start);
    right_ = got == expected && right_;
  }
  void shuffle(std::size_t round) {
    std::mt19937_64 random(round);
    std::shuffle(order_.begin(), order_.end(), random);
  }
  volatile Word* word(std::size_t n) const { return reinterpret_cast<Word*>(pages_[n]); }
  Word first_word(std::size_t n) const { return pattern(n * (pages_.page() / sizeof(Word))); }

  Pages& pages_;
  const bool memory_;  // has to be emptied
  std::vector<std::size_t> order_;
  std::vector<double> times_;
  bool right_ = true;
};

}  // namespace

bool measure_faults(const NvmOptions& options, const NvmReport& report) {
  Pages pages(options, options.pages_of_miss());
  if (!pages.valid()) return false;
  Faults faults(pages, options);
  for (const Kind kind : {Kind::hit, Kind::upgrade, Kind::sequence, Kind::miss}) {
    if (kind == Kind::miss && options.dram) continue;
    report(faults.measure(kind, options.rounds));
  }
  return true;
}

}  // namespace bench

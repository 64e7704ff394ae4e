// SPDX-License-Identifier: BSD-3-Clause
// `threads`: several threads of PE 0 get from one table.
#include <algorithm>
#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

#include "kv_kernels.hpp"
#include "measure.hpp"

namespace bench {
namespace {

constexpr std::size_t kLines =
    128;  // bytes that threads must not share: a line, and that which comes with it

/// What a thread does: all of its keys in an order of its own.
struct alignas(kLines) Reader {
  Reader(const Keys& all, std::size_t value_bytes)
      : keys(all), place(kLines / value_bytes + 1), values(2 * place + 1, value_bytes) {}

  void get(const Store& store, std::size_t count) {
    bool all_right = true;
    for (std::size_t i = 0, at = 0; i < count; ++i) {
      const int status =
          shmemx_kv_get(store.kv(), keys.at(at), keys.bytes(), values.at(place), values.bytes(), nullptr);
      all_right = status == SHMEMX_KV_OK && values.right(place, keys.word(at), 0) && all_right;
      if (++at == keys.size()) at = 0;
    }
    right = right && all_right;
  }

  Keys keys;
  std::size_t place;  // of the value: in the middle, as other threads' may be beside these
  Values values;
  double began = 0, ended = 0;
  bool right = true;
};

/// Collective: seconds from the first thread's beginning to the last one's end, each with `count` gets.
double run_threads(const Store& store, std::vector<Reader>& readers, std::size_t count) {
  double took = 0;
  shmem_barrier_all();
  if (!readers.empty()) {
    std::barrier begin(static_cast<std::ptrdiff_t>(readers.size()));
    std::vector<std::thread> threads;
    threads.reserve(readers.size());
    for (Reader& reader : readers) {
      threads.emplace_back([&] {
        reader.get(store, 1);  // what a thread's first call takes
        begin.arrive_and_wait();
        reader.began = now();
        reader.get(store, count);
        reader.ended = now();
      });
    }
    for (std::thread& thread : threads) thread.join();
    double first = readers[0].began, last = readers[0].ended;
    for (const Reader& reader : readers) {
      first = std::min(first, reader.began);
      last = std::max(last, reader.ended);
    }
    took = last - first;
  }
  shmem_barrier_all();
  return largest(took);
}

}  // namespace

bool measure_threads(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({100000})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    const int target = target_of(Where::on_node);
    const Keys keys = store.keys(target, is_first() ? store.elements() : 0);
    double alone = 0;
    for (std::size_t n = 1;; n = std::min(2 * n, options.threads)) {
      std::vector<Reader> readers;
      for (std::size_t i = 0; i < n && is_first(); ++i) {
        readers.emplace_back(keys, options.value);
        readers.back().keys.shuffle(i);
      }
      const auto run = [&](std::size_t some) { return run_threads(store, readers, some); };
      const double each = median_of(options.rounds, calibrate(options.seconds, run), run) * 1e9;
      if (n == 1) alone = each;
      const bool right =
          std::all_of(readers.begin(), readers.end(), [](const Reader& reader) { return reader.right; });
      if (!right) std::fprintf(stderr, "shmem_bench: a get of a thread had a wrong status or value\n");
      report({.kernel = "threads",
              .what = "get",
              .where = Where::on_node,
              .elements = elements,
              .value = options.value,
              .readers = n,
              .each = each,
              .ratio = alone / each,
              .right = right});
      if (n == options.threads) break;
    }
  }
  return true;
}

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench kv: what the key/value store takes, verified.
#include <shmem.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "command.hpp"
#include "kv_kernels.hpp"
#include "kv_options.hpp"
#include "measure.hpp"

namespace bench {
namespace {

struct Kernel {
  const char* name;
  const char* ratio;  ///< what KvRow::ratio is, for the heading
  bool (*measure)(const KvOptions& options, const KvReport& report);
};

constexpr char kTailHeading[] = "    median      99 %    99.9 %   99.99 %   longest";

constexpr Kernel kKernels[] = {
    {"pingpong", "", measure_pingpong},
    {"get", "", measure_get},
    {"insert", "", measure_insert},
    {"update", "", measure_update},
    {"mixed", "", measure_mixed},
    {"batch", "times single", measure_batch},
    {"scale", "of linear", measure_scale},
    {"throughput", "", measure_throughput},
    {"latency", "", measure_latency},
    {"threads", "of linear", measure_threads},
    {"nbi", "times single", measure_nbi},
    {"tail", kTailHeading, measure_tail},
    {"wait", "messages", measure_wait},
    {"load", "load", measure_load},
    {"churn", "load", measure_churn},
    {"full", "times fresh", measure_full},
    {"ycsb", "", measure_ycsb},
};

const char* engine() {
  const char* said = std::getenv("SHMEM_KV_MATCH");
  return said != nullptr && *said != '\0' ? said : "default";
}

void print_job(const KvOptions& options, int node_count) {
  const auto pes = static_cast<std::size_t>(shmem_n_pes());
  std::printf("%zu PE%s on %d node%s; keys of %zu bytes, values of %zu; median of %zu round%s\n", pes,
              plural(pes), node_count, plural(static_cast<std::size_t>(node_count)), options.key,
              options.value, options.rounds, plural(options.rounds));
}

void print_heading(const Kernel& kernel) {
  std::printf("%-26s %9s %7s %6s %8s %12s %12s%s%s\n", kernel.name, "elements", "value", "batch", "readers",
              "ns each", "million/s", *kernel.ratio == '\0' ? "" : " ", kernel.ratio);
}

void print_row(const KvRow& row) {
  const auto cell = [](int width, std::size_t number) {
    std::printf(" %*s", width, number == 0 ? "-" : std::to_string(number).c_str());
  };
  std::printf("  %-24s", (std::string(row.what) + ", " + name_of(row.where)).c_str());
  cell(9, row.elements);
  cell(7, row.value);
  cell(6, row.batch);
  cell(8, row.readers);
  std::printf(" %12.4g %12.4g", row.each, row.rate());
  if (row.ratio > 0) std::printf(" %12.3g", row.ratio);
  if (row.tail.longest > 0) {
    for (const double ns : {row.tail.median, row.tail.p99, row.tail.p99_9, row.tail.p99_99, row.tail.longest})
      std::printf(" %9.4g", ns);
  }
  std::printf("%s\n", row.right ? "" : "  WRONG");
}

void print_json(const KvRow& row, const KvOptions& options, int node_count) {
  std::printf("{\"kernel\": \"%s\", \"what\": \"%s\", \"where\": \"%s\", \"pes\": %d, \"nodes\": %d, ",
              row.kernel, row.what, name_of(row.where), shmem_n_pes(), node_count);
  std::printf("\"engine\": \"%s\", \"elements\": %zu, \"key\": %zu, \"value\": %zu, \"batch\": %zu, ",
              engine(), row.elements, options.key, row.value, row.batch);
  std::printf("\"readers\": %zu, \"ns\": %.6g, \"rate\": %.6g, ", row.readers, row.each, row.rate());
  if (row.ratio > 0) std::printf("\"ratio\": %.6g, ", row.ratio);
  if (row.tail.longest > 0)
    std::printf("\"median\": %.6g, \"p99\": %.6g, \"p99_9\": %.6g, \"p99_99\": %.6g, \"longest\": %.6g, ",
                row.tail.median, row.tail.p99, row.tail.p99_9, row.tail.p99_99, row.tail.longest);
  std::printf("\"right\": %s}\n", row.right ? "true" : "false");
}

void refuse_room(const KvOptions& options) {
  if (shmem_my_pe() != 0) return;
  std::fprintf(stderr,
               "shmem_bench kv: there is no table with so many elements, with keys of %zu bytes; take fewer "
               "--elements, "
               "smaller values, or set SHMEM_SYMMETRIC_SIZE to more\n",
               options.key);
}

/// Collective; the exit code.
int run_all(const KvOptions& options) {
  const int node_count = nodes();
  const bool prints = shmem_my_pe() == 0;
  std::size_t wrong = 0;
  if (prints && !options.json) print_job(options, node_count);
  for (const Kernel& kernel : kKernels) {
    if (!options.wants(kernel.name)) continue;
    if (prints && !options.json) print_heading(kernel);
    const bool room = kernel.measure(options, [&](KvRow row) {
      row.right = total(row.right ? 0 : 1) == 0;
      wrong += row.right ? 0 : 1;
      if (!prints) return;
      options.json ? print_json(row, options, node_count) : print_row(row);
      std::fflush(stdout);
    });
    if (!room) refuse_room(options);
    if (!room) return 1;
  }
  return end_run(wrong);
}

}  // namespace

int kv(Words words) {
  KvOptions options;
  std::string why;
  const Parsed parsed = parse(words, options, why);
  if (parsed != Parsed::run) return end_unrun(parsed, "kv", kKvUsage, why);
  return run_all(options);
}

}  // namespace bench

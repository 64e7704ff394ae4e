// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench kv: what the key/value store takes, verified.
#include <shmem.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "command.hpp"
#include "kv_kernels.hpp"
#include "kv_options.hpp"
#include "measure.hpp"
#include "report.hpp"

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

std::string about(const KvOptions& options) {
  return job_in_words() + "; keys of " + std::to_string(options.key) + " bytes, values of " +
         std::to_string(options.value) + "; median of " + std::to_string(options.rounds) + " round" +
         plural(options.rounds);
}

void say_heading(const Report& report, const Kernel& kernel) {
  char text[200];
  std::snprintf(text, sizeof text, "%-26s %9s %7s %6s %8s %12s %12s%s%s", kernel.name, "elements", "value",
                "batch", "readers", "ns each", "million/s", *kernel.ratio == '\0' ? "" : " ", kernel.ratio);
  report.say(text);
}

Line line_of(const KvRow& row, const KvOptions& options, int node_count) {
  const std::string what = std::string(row.what) + ", " + name_of(row.where);
  Line line;
  line.text("kernel", row.kernel).text("what", row.what).text("where", name_of(row.where));
  line.count("pes", static_cast<std::size_t>(shmem_n_pes()))
      .count("nodes", static_cast<std::size_t>(node_count));
  line.text("engine", engine()).count("elements", row.elements).count("key", options.key);
  line.count("value", row.value).count("batch", row.batch).count("readers", row.readers);
  line.figure("ns", row.each, "ns", Better::less);
  line.at(std::string(row.kernel) + " " + what, static_cast<double>(std::max<std::size_t>(row.value, 1)));
  line.number("ns", row.each).number("rate", row.rate());
  line.cell(-26, "  " + what);
  const std::pair<int, std::size_t> counts[] = {
      {9, row.elements}, {7, row.value}, {6, row.batch}, {8, row.readers}};
  for (const auto& [width, number] : counts) line.cell(width, number == 0 ? "-" : std::to_string(number));
  line.cell(12, row.each).cell(12, row.rate());
  if (row.ratio > 0) line.number("ratio", row.ratio).cell(12, row.ratio, 3);
  if (row.tail.longest <= 0) return line;
  const Tail& tail = row.tail;
  line.number("median", tail.median).number("p99", tail.p99).number("p99_9", tail.p99_9);
  line.number("p99_99", tail.p99_99).number("longest", tail.longest);
  for (const double ns : {tail.median, tail.p99, tail.p99_9, tail.p99_99, tail.longest}) line.cell(9, ns);
  return line;
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
  Report report("kv", options, about(options));
  for (const Kernel& kernel : kKernels) {
    if (!options.wants(kernel.name)) continue;
    say_heading(report, kernel);
    report.next(kernel.name);
    const bool room = kernel.measure(options, [&](const KvRow& row) {
      report.row(line_of(row, options, report.nodes()), row.right);
      report.next(kernel.name);
    });
    if (!room) refuse_room(options);
    if (!room) return 1;
  }
  return report.end();
}

}  // namespace

int kv(Words words) {
  KvOptions options;
  std::string why;
  const Parsed parsed = parse(words, options, why);
  if (parsed != Parsed::run)
    return end_unrun(parsed, "kv", (std::string(kKvUsage) + kReportUsage).c_str(), why);
  return run_all(options);
}

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench nvm: what the heap on NVM takes, verified.
#include <shmem.h>

#include <cstdio>
#include <string>

#include "command.hpp"
#include "measure.hpp"
#include "nvm_kernels.hpp"
#include "nvm_options.hpp"
#include "report.hpp"

namespace bench {
namespace {

struct Kernel {
  const char* name;
  const char* rate;    ///< what Row::rate is, for the heading
  const char* each;    ///< what Row::each is
  const char* beside;  ///< what Row::read or Row::beside is
  bool (*measure)(const NvmOptions& options, const NvmReport& report);
};

constexpr Kernel kKernels[] = {
    {"miss", "MB/s", "us/page", "NVM reads", measure_miss},
    {"gets", "MB/s", "us/page", "NVM reads", measure_gets},
    {"sharing", "1000 puts/s", "us/put", "", measure_sharing},
    {"computing", "million/s", "% of a core", "", measure_computing},
    {"faults", "1000/s", "us/access", "by the pager", measure_faults},
    {"cached", "MB/s", "ns", "in memory ns", measure_cached},
};

std::string about(const NvmOptions& options) {
  std::string text = job_in_words() + ", " + (options.dram ? "all in memory" : "on NVM") + "; pages of " +
                     std::to_string(options.page) + " bytes";
  if (options.pool != 0 && !options.dram)
    text += ", " + std::to_string(options.pool) + " of a node in memory";
  return text + "; median of " + std::to_string(options.rounds) + " round" + plural(options.rounds);
}

std::size_t data_pages(const NvmOptions& options, const std::string& kernel) {
  if (kernel == "miss" || kernel == "faults") return options.pages_of_miss();
  if (kernel == "gets" || kernel == "computing") return options.pages_of_gets();
  return kernel == "sharing" ? 1 : (options.memory + options.page - 1) / options.page;
}

void say_heading(const Report& report, const NvmOptions& options, const Kernel& kernel) {
  const std::size_t pages = data_pages(options, kernel.name);
  const std::string title = std::string(kernel.name) + ", " + std::to_string(pages) + " page" + plural(pages);
  char text[120];
  std::snprintf(text, sizeof text, "%-36s %12s %12s %12s", title.c_str(), kernel.rate, kernel.each,
                kernel.beside);
  report.say(text);
}

Line line_of(const Row& row, const NvmOptions& options, int node_count) {
  Line line;
  line.text("kernel", row.kernel)
      .text("what", row.what)
      .count("pes", static_cast<std::size_t>(shmem_n_pes()));
  line.count("nodes", static_cast<std::size_t>(node_count)).truth("nvm", !options.dram);
  line.count("page", options.page)
      .count("pool", options.pool)
      .count("pages", data_pages(options, row.kernel));
  const std::string_view kernel = row.kernel;
  line.figure("each", row.each,
              kernel == "cached"      ? "ns"
              : kernel == "computing" ? "% of a core"
                                      : "us",
              Better::less);
  line.at(std::string(kernel) + " " + row.what, static_cast<double>(options.page));
  line.number("rate", row.rate).number("each", row.each);
  line.cell(-36, std::string("  ") + row.what).cell(12, row.rate).cell(12, row.each);
  if (row.read >= 0) line.number("nvm_reads", row.read).cell(12, row.read, 3);
  if (row.beside < 0) return line;
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, " ratio %.2f", row.each / row.beside);
  return line.number("beside", row.beside).cell(12, row.beside).cell(0, ratio);
}

void refuse_room(const NvmOptions& options, const std::string& kernel) {
  if (shmem_my_pe() != 0) return;
  const std::size_t pages = data_pages(options, kernel);
  const bool fills_pool = !options.dram && options.pool != 0 && kernel != "sharing" && kernel != "cached";
  const std::string pool = fills_pool ? ", and twice the pool of " + std::to_string(options.pool) : "";
  std::fprintf(
      stderr,
      "shmem_bench nvm: the symmetric heap has no room for %zu page%s of %zu bytes%s; take fewer, or "
      "set SHMEM_NVM_SIZE or SHMEM_SYMMETRIC_SIZE to more\n",
      pages, plural(pages), options.page, pool.c_str());
}

/// Collective; the exit code.
int run_all(const NvmOptions& options) {
  Report report("nvm", options, about(options));
  for (const Kernel& kernel : kKernels) {
    if (!options.wants(kernel.name)) continue;
    say_heading(report, options, kernel);
    report.next(kernel.name);
    const bool room = kernel.measure(options, [&](const Row& row) {
      report.row(line_of(row, options, report.nodes()), row.right);
      report.next(kernel.name);
    });
    if (!room) refuse_room(options, kernel.name);
    if (!room) return 1;
    if (kernel.name == std::string("miss") && report.nodes() < 3 && !options.dram)
      report.say("  from a third node's memory: needs 3 nodes");
  }
  return report.end();
}

}  // namespace

int nvm(Words words) {
  NvmOptions options;
  std::string why;
  const JobShape job{static_cast<std::size_t>(shmem_n_pes()),
                     static_cast<std::size_t>(largest(shmem_team_n_pes(SHMEM_TEAM_SHARED)))};
  const Parsed parsed = parse(words, job, options, why);
  if (parsed != Parsed::run)
    return end_unrun(parsed, "nvm", (std::string(kNvmUsage) + kReportUsage).c_str(), why);
  return run_all(options);
}

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench nvm: what the heap on NVM takes, verified.
#include <shmem.h>

#include <cstdio>
#include <string>

#include "command.hpp"
#include "measure.hpp"
#include "nvm_kernels.hpp"
#include "nvm_options.hpp"

namespace bench {
namespace {

struct Kernel {
  const char* name;
  const char* rate;    ///< what Row::rate is, for the heading
  const char* each;    ///< what Row::each is
  const char* beside;  ///< what Row::read or Row::beside is
  bool (*measure)(const NvmOptions& options, const Report& report);
};

constexpr Kernel kKernels[] = {
    {"miss", "MB/s", "us/page", "NVM reads", measure_miss},
    {"gets", "MB/s", "us/page", "NVM reads", measure_gets},
    {"sharing", "1000 puts/s", "us/put", "", measure_sharing},
    {"computing", "million/s", "% of a core", "", measure_computing},
    {"faults", "1000/s", "us/access", "by the pager", measure_faults},
    {"cached", "MB/s", "ns", "in memory ns", measure_cached},
};

void print_job(const NvmOptions& options, int node_count) {
  const auto pes = static_cast<std::size_t>(shmem_n_pes());
  std::printf("%zu PE%s on %d node%s, %s; pages of %zu bytes", pes, plural(pes), node_count,
              plural(static_cast<std::size_t>(node_count)), options.dram ? "all in memory" : "on NVM",
              options.page);
  if (options.pool != 0 && !options.dram) std::printf(", %zu of a node in memory", options.pool);
  std::printf("; median of %zu round%s\n", options.rounds, plural(options.rounds));
}

std::size_t data_pages(const NvmOptions& options, const std::string& kernel) {
  if (kernel == "miss" || kernel == "faults") return options.pages_of_miss();
  if (kernel == "gets" || kernel == "computing") return options.pages_of_gets();
  return kernel == "sharing" ? 1 : (options.memory + options.page - 1) / options.page;
}

void print_heading(const NvmOptions& options, const Kernel& kernel) {
  const std::size_t pages = data_pages(options, kernel.name);
  const std::string title = std::string(kernel.name) + ", " + std::to_string(pages) + " page" + plural(pages);
  std::printf("%-36s %12s %12s %12s\n", title.c_str(), kernel.rate, kernel.each, kernel.beside);
}

void print_row(const Row& row) {
  std::printf("  %-34s %12.4g %12.4g", row.what, row.rate, row.each);
  if (row.read >= 0) std::printf(" %12.3g", row.read);
  if (row.beside >= 0) std::printf(" %12.4g  ratio %.2f", row.beside, row.each / row.beside);
  std::printf("%s\n", row.right ? "" : "  WRONG");
}

void print_json(const Row& row, const NvmOptions& options, int node_count) {
  std::printf(
      "{\"kernel\": \"%s\", \"what\": \"%s\", \"pes\": %d, \"nodes\": %d, \"nvm\": %s, \"page\": %zu, ",
      row.kernel, row.what, shmem_n_pes(), node_count, options.dram ? "false" : "true", options.page);
  std::printf("\"pool\": %zu, \"pages\": %zu, \"rate\": %.6g, \"each\": %.6g, ", options.pool,
              data_pages(options, row.kernel), row.rate, row.each);
  if (row.read >= 0) std::printf("\"nvm_reads\": %.6g, ", row.read);
  if (row.beside >= 0) std::printf("\"beside\": %.6g, ", row.beside);
  std::printf("\"right\": %s}\n", row.right ? "true" : "false");
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
  const int node_count = nodes();
  const bool prints = shmem_my_pe() == 0;
  std::size_t wrong = 0;
  if (prints && !options.json) print_job(options, node_count);
  for (const Kernel& kernel : kKernels) {
    if (!options.wants(kernel.name)) continue;
    if (prints && !options.json) print_heading(options, kernel);
    const bool room = kernel.measure(options, [&](Row row) {
      row.right = total(row.right ? 0 : 1) == 0;
      wrong += row.right ? 0 : 1;
      if (!prints) return;
      options.json ? print_json(row, options, node_count) : print_row(row);
      std::fflush(stdout);
    });
    if (!room) refuse_room(options, kernel.name);
    if (!room) return 1;
    if (prints && !options.json && kernel.name == std::string("miss") && node_count < 3 && !options.dram)
      std::puts("  from a third node's memory: needs 3 nodes");
  }
  return end_run(wrong);
}

}  // namespace

int nvm(Words words) {
  NvmOptions options;
  std::string why;
  const JobShape job{static_cast<std::size_t>(shmem_n_pes()),
                     static_cast<std::size_t>(largest(shmem_team_n_pes(SHMEM_TEAM_SHARED)))};
  const Parsed parsed = parse(words, job, options, why);
  if (parsed != Parsed::run) return end_unrun(parsed, "nvm", kNvmUsage, why);
  return run_all(options);
}

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
#include "sweep.hpp"

#include <shmem.h>

#include <cstdio>
#include <string>

namespace bench {
namespace {

constexpr std::size_t kMostSingles = 2000;

/// Sizes between commas.
bool sizes_of(const std::string& text, std::vector<std::size_t>& sizes) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    std::size_t one = 0;
    if (!bytes(text.substr(begin, comma - begin), one) || one > std::size_t{1} << 30) return false;
    sizes.push_back(one);
    begin = comma + 1;
  }
  return true;
}

constexpr Option<SweepOptions> kSweepOptions[] = {
    {"--kind", "names with commas, which --help has",
     [](const std::string& value, SweepOptions& o) {
       for (std::size_t begin = 0; begin <= value.size();) {
         const std::size_t comma = std::min(value.find(',', begin), value.size());
         o.kinds.push_back(value.substr(begin, comma - begin));
         begin = comma + 1;
       }
       return true;
     }},
    {"--size", "bytes such as 8, 4k or 1m, at most 1g, or several with commas",
     [](const std::string& value, SweepOptions& o) { return sizes_of(value, o.sizes); }},
    {"--window", "a number from 1 to 4096",
     [](const std::string& value, SweepOptions& o) { return number(value, 4096, o.window); }},
    {"--seconds", kDurationAllowed,
     [](const std::string& value, SweepOptions& o) { return duration(value, o.seconds); }},
    {"--rounds", "a number from 1 to 10000",
     [](const std::string& value, SweepOptions& o) { return number(value, 10000, o.rounds); }},
    plot_option<SweepOptions>(),
};

constexpr Flag<SweepOptions> kSweepFlags[] = {{"--json", &SweepOptions::json}};

std::string usage_of(const SweepCommand& command) {
  std::string sizes;
  for (const std::size_t size : command.sizes)
    sizes.append(sizes.empty() ? "" : ",").append(std::to_string(size));
  std::string text = "usage: oshrun -n 2 [--virtual-nodes 2] shmem_bench " + std::string(command.name) +
                     " [options]\n" + command.about + "\n" + command.kinds_usage;
  if (!sizes.empty()) text += "  --size BYTES,..   (default " + sizes + ")\n";
  return text +
         "  --window N        operations that are under way at a time, where a kind has several (default "
         "64)\n"
         "  --seconds S       length of a round (default 0.02): how many operations that are is found by "
         "trying\n"
         "  --rounds N        rounds, of which the median is shown; JSON has them all (default 10)\n" +
         kReportUsage;
}

/// What is not there among the kinds that were asked for, or "".
std::string unknown_kind(const SweepCommand& command, const SweepOptions& options) {
  std::string all;
  for (const SweepKind& kind : command.kinds) all.append(all.empty() ? "" : ", ").append(kind.name);
  for (const std::string& asked : options.kinds) {
    const auto is = [&](const SweepKind& kind) { return kind.name == asked; };
    if (std::none_of(command.kinds.begin(), command.kinds.end(), is))
      return "--kind must be " + all + ", or several with commas, not '" + asked + "'";
  }
  return "";
}

double median_of_samples(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  return samples.size() % 2 != 0 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

Line line_of(const SweepCommand& command, const SweepKind& kind, std::size_t bytes, const Swept& swept,
             int node_count) {
  const double us = median_of_samples(swept.samples), messages = swept.at_once * 1e6 / us;
  const double mb = messages * static_cast<double>(bytes) * 1e-6;
  Line line;
  line.text("kernel", command.name).text("what", kind.name);
  line.count("pes", static_cast<std::size_t>(shmem_n_pes()))
      .count("nodes", static_cast<std::size_t>(node_count));
  line.count("bytes", bytes).count("step", swept.step);
  line.figure("us", us, "us", Better::less, swept.samples);
  line.number("us", us).number("rate", messages).number("mb_s", mb);
  line.number("p50", swept.tail.median).number("p99", swept.tail.p99).number("p99_9", swept.tail.p99_9);
  line.number("longest", swept.tail.longest);
  line.at(std::string(kind.name), static_cast<double>(std::max<std::size_t>(bytes, 1)));
  line.cell(-18, kind.name).cell(9, kind.sized ? std::to_string(bytes) : "-").cell(12, us);
  for (const double each : {swept.tail.median, swept.tail.p99, swept.tail.p99_9, swept.tail.longest})
    line.cell(10, each);
  kind.sized ? line.cell(12, mb) : line.cell(12, "-");
  return line.cell(12, messages);
}

void say_heading(const Report& report) {
  char text[160];
  std::snprintf(text, sizeof text, "%-18s %9s %12s %10s %10s %10s %10s %12s %12s", "# what", "size",
                "latency us", "p50", "p99", "p99.9", "longest", "MB/s", "messages/s");
  report.say(text);
}

int run_all(const SweepCommand& command, const SweepOptions& options) {
  std::size_t rows = 0;
  for (const SweepKind& kind : command.kinds)
    rows += among(options.kinds, kind.name) && shmem_n_pes() >= kind.least_pes
                ? (kind.sized ? options.sizes.size() : 1)
                : 0;
  Report report(command.name, options,
                "# " + std::string(command.about) + "; median of " + std::to_string(options.rounds) +
                    " round" + plural(options.rounds),
                rows);
  say_heading(report);
  const std::size_t none[] = {0};
  for (const SweepKind& kind : command.kinds) {
    if (!among(options.kinds, kind.name)) continue;
    if (shmem_n_pes() < kind.least_pes) {
      report.say("# " + std::string(kind.name) + ": needs " + std::to_string(kind.least_pes) + " PEs");
      continue;
    }
    for (const std::size_t bytes : kind.sized ? std::span<const std::size_t>(options.sizes) : none) {
      report.next(std::string(kind.name) + (kind.sized ? ", " + std::to_string(bytes) + " bytes" : ""));
      const Swept swept = kind.measure(options, bytes);
      report.row(line_of(command, kind, bytes, swept, report.nodes()), swept.right);
    }
  }
  return report.end();
}

}  // namespace

Swept sweep(const SweepOptions& options, const Steps& steps) {
  const auto timed = [&](std::size_t count) {
    shmem_barrier_all();
    const double start = now();
    if (steps.takes_part) steps.run(count);
    const double took = steps.takes_part ? now() - start : 0;
    shmem_barrier_all();
    return largest(took);
  };
  Swept swept{.step = steps.operations};
  const std::size_t count = calibrate(options.seconds, timed, 4);
  const double operations = static_cast<double>(count * steps.operations);
  for (std::size_t i = 0; i < options.rounds; ++i) swept.samples.push_back(timed(count) * 1e6 / operations);

  std::vector<float> singles;
  const std::size_t most = std::clamp<std::size_t>(count * options.rounds, 1, kMostSingles);
  shmem_barrier_all();
  for (std::size_t i = 0; i < most && steps.takes_part; ++i) {
    const double start = now();
    steps.run(1);
    singles.push_back(static_cast<float>((now() - start) * 1e6 / static_cast<double>(steps.operations)));
  }
  shmem_barrier_all();
  if (!singles.empty()) swept.tail = tail_of(std::move(singles));
  return swept;
}

int run_sweep(const SweepCommand& command, Words words) {
  SweepOptions options;
  std::string why;
  Parsed parsed = parse_words<SweepOptions>(words, kSweepOptions, kSweepFlags, options, why);
  if (parsed == Parsed::run) {
    why = unknown_kind(command, options);
    if (why.empty() && command.sizes.empty() && !options.sizes.empty())
      why = "--size means nothing here: nothing is sent";
    if (!why.empty()) parsed = Parsed::wrong;
  }
  if (parsed != Parsed::run) return end_unrun(parsed, command.name, usage_of(command).c_str(), why);
  if (options.sizes.empty()) options.sizes.assign(command.sizes.begin(), command.sizes.end());
  return run_all(command, options);
}

Symmetric::Symmetric(std::size_t bytes) : block_(static_cast<unsigned char*>(shmem_calloc(1, bytes))) {
  if (block_ != nullptr) return;
  if (shmem_my_pe() == 0)
    std::fprintf(stderr,
                 "shmem_bench: the symmetric heap has no room for %zu bytes; take a smaller --size, or set "
                 "SHMEM_SYMMETRIC_SIZE to more\n",
                 bytes);
  shmem_global_exit(1);
}

Symmetric::~Symmetric() { shmem_free(block_); }

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench atomics: rates of atomic operations in eight access patterns, three forms, verified.
#include <shmem.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "atomics_check.hpp"
#include "atomics_options.hpp"
#include "command.hpp"
#include "kernels.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace bench {
namespace {

/// What a PE has: symmetric memory, and private memory for the model.
struct Memory {
  std::vector<Word> index, next;  ///< what the symmetric ones hold
  std::vector<Word> model, old;   ///< private
  std::vector<int> targets;
  Ground ground{};
  Sandbox sandbox{};
};

/// One cycle through all places, in random order.
std::vector<Word> random_cycle(std::size_t size, std::mt19937_64& random) {
  std::vector<Word> order(size), next(size);
  for (std::size_t i = 0; i < size; ++i) order[i] = i;
  for (std::size_t i = size - 1; i > 1; --i) std::swap(order[i], order[1 + random() % i]);
  for (std::size_t i = 0; i < size; ++i) next[order[i]] = order[(i + 1) % size];
  return next;
}

void set_up_model(Memory& m) {
  const std::size_t n = m.ground.iterations;
  m.model.resize(m.ground.words + 2 * n + 1);
  m.sandbox = {m.ground, m.index.data(), m.next.data()};
  m.sandbox.ground.array = m.model.data();
  m.sandbox.ground.index = m.sandbox.ground.array + m.ground.words;
  m.sandbox.ground.next = m.sandbox.ground.index + n + 1;
}

/// The array, the index table and the cycle of pointers.
std::size_t symmetric_bytes(const AtomicsOptions& options) {
  return (options.memory / sizeof(Word) + 2 * options.iterations + 1) * sizeof(Word);
}

/// Collective.  False if the symmetric heap has no room.
bool set_up(const AtomicsOptions& options, Memory& m) {
  const std::size_t n = options.iterations;
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  Ground& g = m.ground;
  g = {.words = options.memory / sizeof(Word), .iterations = n, .stride = options.stride};
  auto* const symmetric = static_cast<Word*>(shmem_malloc(symmetric_bytes(options)));
  if (symmetric == nullptr) return false;
  g.array = symmetric;
  g.index = g.array + g.words;
  g.next = g.index + n + 1;
  std::mt19937_64 random(42);  // the same on all PEs
  m.index.resize(n + 1);
  for (Word& place : m.index) place = random() % g.words;
  m.next = random_cycle(n, random);
  std::copy(m.index.begin(), m.index.end(), g.index);
  std::copy(m.next.begin(), m.next.end(), g.next);
  m.targets.resize(n);
  random.seed(static_cast<std::uint64_t>(me));
  for (int& target : m.targets) target = static_cast<int>(random() % static_cast<std::uint64_t>(pes));
  m.old.resize(3 * n);
  for (std::size_t i = 0; i < 3; ++i) g.old[i] = m.old.data() + i * n;
  g.targets = m.targets.data();
  set_up_model(m);
  return true;
}

/// Seconds: of all PEs together with the barrier at the end, and of the quickest and the slowest PE without.
struct Times {
  double together, shortest, longest;
};

/// Collective.
Times timed(const Kernel& kernel, const Ground& ground, std::size_t count, Tally& tally) {
  for (std::size_t i = 0; i < ground.words; ++i) ground.array[i] = initial(kernel, i);
  shmem_barrier_all();
  const double start = now();
  repeat(kernel.run, ground, count, tally);
  shmem_quiet();
  const double mine = now() - start;
  shmem_barrier_all();
  const double together = now() - start;
  return {largest(together), -largest(-mine), largest(mine)};
}

/// Iterations that take about `seconds`, the same on all PEs.
std::size_t calibrated(const Kernel& kernel, const Ground& ground, double seconds) {
  return calibrate(seconds, [&](std::size_t count) {
    Tally unused;
    return timed(kernel, ground, count, unused).together;
  });
}

struct Result {
  std::size_t count;            ///< iterations of a PE
  double rate, best;            ///< million atomics a second, median and best of the rounds
  double slowest, quickest;     ///< of a PE, in the round of the median
  bool right;                   ///< on this PE
  std::vector<double> samples;  ///< the rate of each round
};

/// Collective.
Result measure(const Kernel& kernel, const AtomicsOptions& options, Memory& memory) {
  Ground& ground = memory.ground;
  const int pes = shmem_n_pes();
  const int ahead = static_cast<int>(options.distance);
  ground.target = kernel.aim == Aim::hot ? 0 : (shmem_my_pe() + ahead) % pes;
  const std::size_t count = options.count != 0 ? options.count : calibrated(kernel, ground, options.seconds);
  bool right = true;
  std::vector<Times> rounds;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    Tally tally;
    rounds.push_back(timed(kernel, ground, count, tally));
    right = verify(kernel, ground, memory.sandbox, count, tally) && right;
    shmem_barrier_all();  // before anybody writes to the arrays anew
  }
  const double of_a_pe = static_cast<double>(count) * kernel.atomics * 1e-6;
  std::vector<double> samples;
  for (const Times& round : rounds) samples.push_back(of_a_pe * pes / round.together);
  std::sort(rounds.begin(), rounds.end(),
            [](const Times& a, const Times& b) { return a.together < b.together; });
  const Times& median = rounds[rounds.size() / 2];
  return {count,
          of_a_pe * pes / median.together,
          of_a_pe * pes / rounds.front().together,
          of_a_pe / median.longest,
          of_a_pe / median.shortest,
          right,
          samples};
}

const char* amo_mode() {
  const char* mode = std::getenv("SHMEM_AMO");
  return mode != nullptr && *mode != '\0' ? mode : "auto";
}

std::string about(const AtomicsOptions& options) {
  std::string text = job_in_words();
  if (nodes() > 1) text += std::string(", SHMEM_AMO=") + amo_mode();
  if (options.session) text += ", in a session";
  return text + "; --memory " + std::to_string(options.memory) + " --iterations " +
         std::to_string(options.iterations) + " --stride " + std::to_string(options.stride) + " --distance " +
         std::to_string(options.distance);
}

void say_heading(const Report& report, const AtomicsOptions& options) {
  report.say("million atomics a second; median of " + std::to_string(options.rounds) + " round" +
             plural(options.rounds));
  char text[120];
  std::snprintf(text, sizeof text, "%-13s %-12s %11s %11s %11s %11s %11s", "kernel", "form", "all PEs",
                "GAMS", "best", "slowest PE", "quickest PE");
  report.say(text);
}

Line line_of(const Kernel& kernel, const Result& r, int node_count, bool session) {
  const auto pes = static_cast<std::size_t>(shmem_n_pes());
  Line line;
  line.text("kernel", kernel.name).text("form", name_of(kernel.form)).count("pes", pes);
  line.count("nodes", static_cast<std::size_t>(node_count)).text("amo", amo_mode()).truth("session", session);
  line.figure("mamos", r.rate, "million/s", Better::more, r.samples);
  line.at(std::string(kernel.name) + " " + name_of(kernel.form), sizeof(Word));
  line.count("iterations", r.count);
  line.count("atomics", r.count * static_cast<std::size_t>(kernel.atomics) * pes);
  line.number("mamos", r.rate).number("gams", r.rate * 1e-3).number("best_mamos", r.best);
  line.number("slowest_pe_mamos", r.slowest).number("quickest_pe_mamos", r.quickest);
  line.cell(-13, kernel.name).cell(-12, name_of(kernel.form));
  for (const double each : {r.rate, r.rate * 1e-3, r.best, r.slowest, r.quickest}) line.cell(11, each);
  return line;
}

/// Collective; the exit code.
int run_all(const AtomicsOptions& options, Memory& memory) {
  std::size_t rows = 0;
  for (const Kernel& kernel : all_kernels()) rows += options.wants(kernel) ? 1 : 0;
  Report report("atomics", options, about(options), rows);
  say_heading(report, options);
  for (const Kernel& kernel : all_kernels()) {
    if (!options.wants(kernel)) continue;
    report.next(std::string(kernel.name) + ", " + name_of(kernel.form));
    const Result result = measure(kernel, options, memory);
    report.row(line_of(kernel, result, report.nodes(), options.session), result.right);
  }
  const std::string absent = options.what_is_not();
  if (!absent.empty()) report.say(absent + ".");
  return report.end();
}

}  // namespace

int atomics(Words words) {
  AtomicsOptions options;
  std::string why;
  const Parsed parsed = parse(words, static_cast<std::size_t>(shmem_n_pes()), options, why);
  if (parsed != Parsed::run)
    return end_unrun(parsed, "atomics", (std::string(kAtomicsUsage) + kReportUsage).c_str(), why);
  Memory memory;
  if (!set_up(options, memory)) {
    if (shmem_my_pe() == 0) {
      std::fprintf(
          stderr,
          "shmem_bench atomics: --memory and --iterations need %zu bytes, for which the symmetric heap "
          "has no room; take less, or set SHMEM_SYMMETRIC_SIZE to more\n",
          symmetric_bytes(options));
    }
    return 1;
  }
  if (options.session) shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  const int code = run_all(options, memory);
  if (options.session) shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  shmem_free(memory.ground.array);
  return code;
}

}  // namespace bench

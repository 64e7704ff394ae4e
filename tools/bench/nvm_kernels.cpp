// SPDX-License-Identifier: BSD-3-Clause
// The kernels of `shmem_bench nvm` that go from node to node.
#include "nvm_kernels.hpp"

#include <shmem.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "measure.hpp"
#include "nvm_pages.hpp"

namespace bench {
namespace {

/// Seconds, and pages read from the files for each page.
struct Sample {
  double seconds, read;
};

Sample median(std::vector<Sample>& samples) {
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.seconds < b.seconds; });
  return samples[samples.size() / 2];
}

/// Its order differs from PE to PE and from round to round.
std::vector<std::size_t> order(std::size_t count, bool shuffled, std::size_t round) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (shuffled) {
    std::mt19937_64 random(round * static_cast<std::size_t>(shmem_n_pes()) +
                           static_cast<std::size_t>(shmem_my_pe()));
    std::shuffle(numbers.begin(), numbers.end(), random);
  }
  return numbers;
}

// ---- miss

enum class From { nvm, home, third };
constexpr const char* kFrom[] = {"from NVM", "from home's memory", "from a third node's memory"};

class Miss {
 public:
  Miss(Pages& pages, const NvmOptions& options) : pages_(pages), dram_(options.dram), firsts_(first_pes()) {
    reader_ = firsts_.size() > 1 ? firsts_[1] : 0;
    third_ = firsts_.size() > 2 ? firsts_[2] : -1;
  }

  bool has(From from) const { return from == From::home || (!dram_ && (from != From::third || third_ >= 0)); }

  Sample round(From from, std::size_t number) {
    prepare(from);
    const double before = pages_read();
    double took = 0;
    if (shmem_my_pe() == reader_) {
      for (const std::size_t n : order(pages_.count(), true, number)) {
        const double start = now();
        pages_.get(n);
        took += now() - start;
        right_ = pages_.right(false) && right_;
      }
    }
    took = largest(took);
    return {took, (pages_read() - before) / static_cast<double>(pages_.count())};
  }

  bool right() const { return right_; }

 private:
  /// Again and again: what is used once only need not stay (SHMEM_NVM_POLICY).
  void get_all() {
    for (int pass = 0; pass < 4; ++pass) {
      for (std::size_t n = 0; n < pages_.count(); ++n) pages_.get(n);
    }
  }

  /// Collective: the data are in the memory of one node only, or of none.
  void prepare(From from) {
    const int me = shmem_my_pe();
    pages_.empty_pools();
    if (from == From::home && me == 0) get_all();
    if (from == From::third && me == third_) get_all();
    shmem_barrier_all();
    if (from == From::third && me == 0) pages_.leave_my_pool();
    shmem_barrier_all();
  }

  Pages& pages_;
  const bool dram_;
  const std::vector<int> firsts_;
  int reader_, third_;
  bool right_ = true;
};

// ---- gets

/// All PEs but PE 0, or that one where it is alone.
bool reads() { return shmem_my_pe() != 0 || shmem_n_pes() == 1; }

Sample pass(Pages& pages, const std::vector<std::size_t>& numbers, bool quickly, bool& right) {
  const double before = pages_read();
  shmem_barrier_all();
  const double start = now();
  if (reads()) {
    for (const std::size_t n : numbers) {
      pages.get(n);
      right = pages.right(quickly) && right;
    }
  }
  shmem_barrier_all();
  const double took = largest(now() - start);
  const double gets = total(reads() ? static_cast<double>(numbers.size()) : 0);
  return {took, (pages_read() - before) / gets};
}

Row row_of_pages(const char* kernel, const char* what, const Pages& pages, std::size_t readers, Sample sample,
                 bool right) {
  const auto of_one = static_cast<double>(pages.count());
  const double gets = of_one * static_cast<double>(readers);
  return {.kernel = kernel,
          .what = what,
          .rate = gets * static_cast<double>(pages.page()) * 1e-6 / sample.seconds,
          .each = sample.seconds * 1e6 / of_one,
          .read = sample.read,
          .right = right};
}

// ---- sharing

/// What follows each put: nothing, a quiet, or a barrier, so that nobody is a put ahead of the others.
enum class Pace { stream, one_by_one, in_step };
constexpr const char* kPaces[] = {"puts", "put, quiet", "put, barrier"};

/// Seconds of `count` puts by each PE of its `bytes` of PE 0's page.
double put_bytes(std::byte* page, std::size_t bytes, std::size_t count, Pace pace) {
  std::byte* const mine = page + static_cast<std::size_t>(shmem_my_pe()) * bytes;
  std::vector<std::byte> values(bytes);
  shmem_barrier_all();
  const double start = now();
  for (std::size_t i = 1; i <= count; ++i) {
    values.front() = values.back() = static_cast<std::byte>(i);
    shmem_putmem(mine, values.data(), bytes, 0);
    if (pace == Pace::one_by_one) shmem_quiet();
    if (pace == Pace::in_step) shmem_barrier_all();
  }
  shmem_quiet();
  shmem_barrier_all();
  return largest(now() - start);
}

/// On PE 0, after `count` puts by each PE: each has left its last value at both ends of what it has, and
/// nothing else has changed.
bool right_bytes(const std::byte* page, const NvmOptions& options, std::size_t count) {
  if (shmem_my_pe() != 0) return true;
  std::vector<std::byte> found(options.page);
  shmem_getmem(found.data(), page, found.size(), 0);
  const std::size_t all = options.bytes * static_cast<std::size_t>(shmem_n_pes());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t within = i % options.bytes;
    const bool is_end = i < all && (within == 0 || within == options.bytes - 1);
    const std::byte expected = is_end ? static_cast<std::byte>(count) : std::byte{0};
    if (found[i] == expected) continue;
    std::fprintf(stderr, "shmem_bench: byte %zu of the shared page is %d instead of %d\n", i,
                 std::to_integer<int>(found[i]), std::to_integer<int>(expected));
    return false;
  }
  return true;
}

void measure_puts(const NvmOptions& options, std::byte* page, Pace pace, const NvmReport& report) {
  const std::size_t count =
      calibrate(options.seconds, [&](std::size_t n) { return put_bytes(page, options.bytes, n, pace); });
  std::vector<double> rounds;
  bool right = true;
  for (std::size_t i = 0; i < options.rounds; ++i) {
    rounds.push_back(put_bytes(page, options.bytes, count, pace));
    right = right_bytes(page, options, count) && right;
    shmem_barrier_all();
  }
  std::sort(rounds.begin(), rounds.end());
  const double took = rounds[rounds.size() / 2];
  const auto puts = static_cast<double>(count);
  report({.kernel = "sharing",
          .what = kPaces[static_cast<int>(pace)],
          .rate = puts * shmem_n_pes() * 1e-3 / took,
          .each = took * 1e6 / puts,
          .right = right});
}

}  // namespace

bool measure_miss(const NvmOptions& options, const NvmReport& report) {
  Pages pages(options, options.pages_of_miss());
  if (!pages.valid()) return false;
  Miss miss(pages, options);
  for (const From from : {From::nvm, From::home, From::third}) {
    if (!miss.has(from)) continue;
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < options.rounds; ++i) samples.push_back(miss.round(from, i));
    report(row_of_pages("miss", kFrom[static_cast<int>(from)], pages, 1, median(samples), miss.right()));
  }
  return true;
}

bool measure_gets(const NvmOptions& options, const NvmReport& report) {
  Pages pages(options, options.pages_of_gets());
  if (!pages.valid()) return false;
  const auto readers = static_cast<std::size_t>(total(reads() ? 1 : 0));
  bool right = true;
  pass(pages, order(pages.count(), false, 0), false, right);  // all words are looked at here
  for (const bool shuffled : {false, true}) {
    std::vector<Sample> first, again;
    for (std::size_t i = 0; i < options.rounds; ++i) {
      pages.empty_pools();
      first.push_back(pass(pages, order(pages.count(), shuffled, 2 * i), true, right));
      again.push_back(pass(pages, order(pages.count(), shuffled, 2 * i + 1), true, right));
    }
    const char* const what = shuffled ? "random" : "sequential";
    const char* const once_more = shuffled ? "random, again" : "sequential, again";
    report(row_of_pages("gets", what, pages, readers, median(first), right));
    report(row_of_pages("gets", once_more, pages, readers, median(again), right));
  }
  return true;
}

bool measure_sharing(const NvmOptions& options, const NvmReport& report) {
  const Block block(options.page, options.page, options.dram ? Block::Where::memory : Block::Where::nvm);
  std::byte* const page = block.begin();
  if (page == nullptr) return false;
  if (shmem_my_pe() == 0) {
    const std::vector<std::byte> zeros(options.page);
    shmem_putmem(page, zeros.data(), options.page, 0);
  }
  for (const Pace pace : {Pace::in_step, Pace::one_by_one, Pace::stream})
    measure_puts(options, page, pace, report);
  return true;
}

}  // namespace bench

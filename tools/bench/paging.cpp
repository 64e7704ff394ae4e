// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench paging: what memory on memory servers takes, verified.
#include <shmem.h>
#include <shmemx.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "command.hpp"
#include "measure.hpp"
#include "paging_options.hpp"
#include "report.hpp"

namespace bench {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kStep = std::size_t{1} << 20;  // micro looks at a word of each

struct Row {
  const char* kernel;
  const char* what;
  double each;    // us a page
  double beside;  // the same by plain transfers; 0: none
  double rate;    // MB/s of what the kernel counts
  bool right;
  shmemx_stats_t counted;  // in all rounds
};

/// What the library has counted between begin() and end(), in sum.
class Counted {
 public:
  void begin() { shmemx_stats_read(&before_); }
  void end() {
    shmemx_stats_t now;
    shmemx_stats_read(&now);
#define BENCH_ADD_(NAME, HELP) sum_.NAME += now.NAME - before_.NAME;
    SHMEMX_STATS(BENCH_ADD_)
#undef BENCH_ADD_
  }
  const shmemx_stats_t& sum() const { return sum_; }

 private:
  shmemx_stats_t before_{}, sum_{};
};

struct FreeRemote {
  void operator()(std::byte* block) const { shmemx_remote_free(block); }
};
using Block = std::unique_ptr<std::byte[], FreeRemote>;

Block allocate(std::size_t bytes) { return Block(static_cast<std::byte*>(shmemx_remote_alloc(bytes))); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Pages of other memory, on huge pages where there are some, which are used in turn: as little in the caches
/// as the frames of pages that come.
class PlainPages {
 public:
  explicit PlainPages(std::size_t page)
      : page_(page), memory_(static_cast<std::byte*>(std::aligned_alloc(kHuge, bytes()))) {
    madvise(memory_.get(), bytes(), MADV_HUGEPAGE);
    std::fill_n(memory_.get(), bytes(), std::byte{1});
  }
  std::byte* page(std::size_t n) const { return memory_.get() + n % (bytes() / page_) * page_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  static constexpr std::size_t kHuge = std::size_t{2} << 20;
  std::size_t bytes() const { return std::max(page_, 32 * kHuge); }

  const std::size_t page_;
  const std::unique_ptr<std::byte[], Free> memory_;
};

/// Pages that hold `first word = their number`, more than are local, so that the first ones are not here.
class Data {
 public:
  explicit Data(const PagingOptions& options)
      : page_(options.page), count_(options.size / options.page), block_(allocate(count_ * page_)) {}
  bool valid() const { return block_ != nullptr; }
  std::size_t count() const { return count_; }
  std::byte* page(std::size_t n) const { return block_.get() + n * page_; }
  Word& word(std::size_t n) const { return *reinterpret_cast<Word*>(page(n)); }
  void fill() const {
    for (std::size_t n = 0; n < count_; ++n) std::fill_n(&word(n), page_ / sizeof(Word), n);
  }

 private:
  const std::size_t page_, count_;
  Block block_;
};

// Past the cache, of pages that are not here: one read of the wire each.
double plain_read(const PagingOptions& options, const Data& data, const PlainPages& memory, bool& right) {
  const std::size_t pages = std::max<std::size_t>(1, std::min<std::size_t>(64, data.count() / 4));
  const double start = now();
  for (std::size_t n = 0; n < pages; ++n) {
    shmemx_remote_get(memory.page(n), data.page(n), options.page);
    right = *reinterpret_cast<Word*>(memory.page(n)) == n && right;
  }
  return (now() - start) * 1e6 / static_cast<double>(pages);
}

double plain_write(const PagingOptions& options, const Data& data, const PlainPages& memory) {
  const std::size_t pages = std::max<std::size_t>(1, std::min<std::size_t>(64, data.count() / 4));
  const double start = now();
  for (std::size_t n = 0; n < pages; ++n) {
    *reinterpret_cast<Word*>(memory.page(n)) = n;
    shmemx_remote_put(data.page(n), memory.page(n), options.page);
  }
  return (now() - start) * 1e6 / static_cast<double>(pages);
}

bool measure_fault(const PagingOptions& options, std::vector<Row>& rows) {
  const Data data(options);
  if (!data.valid()) return false;
  data.fill();
  const PlainPages memory(options.page);
  // Every second one of the first half, so that none is what another one makes likely.
  std::vector<std::size_t> order(data.count() / 4);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = 2 * i;
  std::vector<double> each, beside;
  bool right = true;
  Counted counted;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    // The last pages are here: those before them are not, as they are more than fit.
    volatile Word sum = 0;
    for (std::size_t n = data.count() / 2; n < data.count(); ++n) sum = sum + data.word(n);
    beside.push_back(plain_read(options, data, memory, right));
    std::mt19937_64 random(round);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<double> times;
    counted.begin();
    for (const std::size_t n : order) {
      const double start = now();
      const Word got = data.word(n);
      times.push_back((now() - start) * 1e6);
      right = got == n && right;
    }
    counted.end();
    each.push_back(median(times));
  }
  const double us = median(each);
  rows.push_back({"fault", "load, random", us, median(beside), static_cast<double>(options.page) / us, right,
                  counted.sum()});
  return true;
}

// Each thread has a part of its own.
template <class Work>
void in_parallel(std::size_t threads, std::size_t count, Work work) {
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t)
    all.emplace_back([=] { work(count * t / threads, count * (t + 1) / threads); });
  for (std::thread& thread : all) thread.join();
}

// The micro-benchmark of the DLM's paper.
bool measure_micro(const PagingOptions& options, std::vector<Row>& rows) {
  std::vector<double> times;
  std::atomic<bool> right{true};
  Counted counted;
  const std::size_t words = options.size / sizeof(Word), step = kStep / sizeof(Word);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const Block block = allocate(options.size);
    if (block == nullptr) return false;
    auto* data = reinterpret_cast<Word*>(block.get());
    counted.begin();
    const double start = now();
    in_parallel(options.threads, words, [data](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) data[i] = i;
    });
    for (int pass = 0; pass < 3; ++pass) {
      in_parallel(options.threads, words / step, [data, step, &right](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
          if (data[i * step] != i * step) right = false;
        }
      });
    }
    times.push_back(now() - start);
    counted.end();
  }
  const double seconds = median(times);
  const double pages = static_cast<double>(options.size) / static_cast<double>(options.page);
  rows.push_back({"micro", "write, three passes", seconds * 1e6 / pages, 0,
                  static_cast<double>(options.size) / seconds / 1e6, right, counted.sum()});
  return true;
}

// Of each page of a: b and c are read, and a too unless it is overwritten; a is written.
bool measure_triad(const PagingOptions& options, bool overwrites, std::vector<Row>& rows) {
  PagingOptions part = options;
  part.size = options.size / 3 / options.page * options.page;
  const Data a(part), b(part), c(part);
  if (!a.valid() || !b.valid() || !c.valid()) return false;
  a.fill();
  b.fill();
  c.fill();
  const PlainPages memory(options.page);
  const std::size_t doubles = part.size / sizeof(double);
  auto* const to = reinterpret_cast<double*>(a.page(0));
  auto* const x = reinterpret_cast<double*>(b.page(0));
  auto* const y = reinterpret_cast<double*>(c.page(0));
  for (std::size_t i = 0; i < doubles; ++i) {
    x[i] = static_cast<double>(i);
    y[i] = 2;
  }
  bool right = true;
  Counted counted;
  std::vector<double> times, beside;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    if (overwrites) shmemx_overwrite(to, part.size);
    counted.begin();
    const double start = now();
    for (std::size_t i = 0; i < doubles; ++i) to[i] = x[i] + 3 * y[i];
    times.push_back((now() - start) * 1e6 / static_cast<double>(a.count()));
    counted.end();
    for (std::size_t i = 0; i < doubles; i += 1021) right = to[i] == static_cast<double>(i) + 6 && right;
    bool unused = true;
    const double reads = overwrites ? 2 : 3;
    beside.push_back(reads * plain_read(options, b, memory, unused));
  }
  // What a page of a moves: reads, and a write.
  const double write = [&] {
    PagingOptions small = options;
    const Data other(small);
    return other.valid() ? plain_write(options, other, memory) : 0;
  }();
  const double us = median(times);
  rows.push_back({"triad", overwrites ? "a is overwritten" : "a is read too", us, median(beside) + write,
                  3 * static_cast<double>(options.page) / us, right, counted.sum()});
  return true;
}

// The mean of each stage of a swap, A1 to A2 and so on, in us.
std::vector<double> stages_of(const shmemx_stats_t& counted) {
  std::vector<double> means;
  for (const std::uint64_t ns : {counted.swap_queued_ns, counted.swap_received_ns, counted.swap_kept_ns,
                                 counted.swap_placed_ns, counted.swap_ended_ns})
    means.push_back(static_cast<double>(ns) / 1e3 /
                    static_cast<double>(std::max<std::uint64_t>(counted.swaps, 1)));
  return means;
}

std::string protocol() {
  const std::string swap = variable("SHMEM_SWAP");
  return swap.empty() ? "direct" : swap;
}

Line line_of(const Row& row, const PagingOptions& options) {
  Line line;
  line.text("kernel", row.kernel).text("what", row.what).text("swap", protocol()).count("page", options.page);
  line.count("local", options.local).count("size", options.size).count("threads", options.threads);
  line.figure("each", row.each, "us", Better::less);
  line.at(std::string(row.kernel) + " " + row.what, static_cast<double>(options.page));
  line.number("each", row.each).number("beside", row.beside).number("rate", row.rate);
  const shmemx_stats_t& counted = row.counted;
  line.count("faults", counted.remote_faults)
      .count("hits", counted.remote_hits)
      .count("kept", counted.remote_kept);
  line.count("reads", counted.remote_reads).count("read_bytes", counted.remote_read_bytes);
  line.count("writes", counted.remote_writes).count("write_bytes", counted.remote_write_bytes);
  line.count("ahead", counted.remote_ahead).count("zeroed", counted.remote_zeroed);
  line.count("dropped", counted.remote_dropped).count("slot_waits", counted.remote_slot_waits);
  line.count("swaps", counted.swaps).numbers("stages", stages_of(counted));
  char beside[64] = "";
  if (row.beside > 0)
    std::snprintf(beside, sizeof beside, " plain %10.4g  ratio %.2f", row.beside, row.each / row.beside);
  line.cell(-8, row.kernel).cell(-24, row.what).cell(10, row.each).cell(-7, "us/page").cell(-30, beside);
  return line.cell(9, row.rate).cell(0, "MB/s");
}

void print_counts(const std::vector<Row>& rows, const PagingOptions& options) {
  std::printf("\nAll rounds, SHMEM_SWAP=%s\n%-8s %-24s%10s%10s%10s%10s%10s%10s\n", protocol().c_str(), "", "",
              "faults", "hits", "read", "ahead", "written", "dropped");
  for (const Row& row : rows) {
    const shmemx_stats_t& counted = row.counted;
    std::printf("%-8s %-24s", row.kernel, row.what);
    for (const std::uint64_t value : {counted.remote_faults, counted.remote_hits, counted.remote_reads,
                                      counted.remote_ahead, counted.remote_writes, counted.remote_dropped})
      std::printf("%10llu", static_cast<unsigned long long>(value));
    std::printf("\n");
  }
  std::printf("\nStages of a swap, us, pages of %zu\n%-8s %-24s%10s%10s%10s%10s%10s%10s\n", options.page, "",
              "", "swaps", "A1-A2", "A2-A3", "A3-A4", "A4-A5", "A5-A6");
  for (const Row& row : rows) {
    std::printf("%-8s %-24s%10llu", row.kernel, row.what, static_cast<unsigned long long>(row.counted.swaps));
    for (const double mean : stages_of(row.counted)) std::printf("%10.4g", mean);
    std::printf("\n");
  }
}

/// PE 0 alone.  False: there is no room.
bool measure(const PagingOptions& options, std::vector<Row>& rows) {
  bool room = true;
  if (options.wants("fault")) room = measure_fault(options, rows);
  if (room && options.wants("micro")) room = measure_micro(options, rows);
  for (const bool overwrites : {false, true}) {
    if (room && options.wants("triad")) room = measure_triad(options, overwrites, rows);
  }
  return room;
}

}  // namespace

int paging(Words words) {
  PagingOptions options;
  std::string why;
  const Parsed parsed = parse(words, options, why);
  if (parsed != Parsed::run)
    return end_unrun(parsed, "paging", (std::string(kPagingUsage) + kReportUsage).c_str(), why);
  Report report("paging", options,
                std::to_string(options.size) + " bytes of data, " + std::to_string(options.local) +
                    " local, pages of " + std::to_string(options.page) + "; median of " +
                    std::to_string(options.rounds) + " rounds");
  const bool measures = shmem_my_pe() == 0;
  std::vector<Row> rows;
  const bool room = !measures || measure(options, rows);
  const auto count = static_cast<std::size_t>(total(static_cast<double>(rows.size())));
  for (std::size_t i = 0; i < count; ++i)
    report.row(measures ? line_of(rows[i], options) : Line(), !measures || rows[i].right);
  if (measures && !options.json && !rows.empty()) print_counts(rows, options);
  const int code = report.end();
  return total(room ? 0 : 1) == 0 ? code : 1;  // the library has said why
}

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
// Small updates of a distributed table in two styles, side by side: plain, each an operation of its own where
// it comes up; and buffered, gathered by hand for each PE and sent as blocks, as one does where the library
// gathers nothing.  Both must leave the same table.
//
//   oshc++ -O2 styles.cpp -o styles && oshrun -n 4 ./styles [scale [updates per word [KiB of a block]]]
#include <shmem.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kronecker.hpp"

// Blocks of words between all PEs, two under way for each pair.  apply(word) runs where a word is sent to.
template <class Apply>
class Mail {
 public:
  Mail(Apply apply, Word block)
      : apply_(apply), block_(block), n_(Word(shmem_n_pes())), me_(Word(shmem_my_pe())) {
    out_.resize(n_), sent_.resize(n_), got_.resize(n_);
    blocks_ = words(2 * n_ * block_), full_ = words(2 * n_), taken_ = words(n_);
  }
  ~Mail() { shmem_free(taken_), shmem_free(full_), shmem_free(blocks_); }
  void push(Word pe, Word word) {
    out_[pe].push_back(word);
    if (out_[pe].size() == block_) send(pe, 0);
  }
  void finish() {  // collective: all words have been applied
    for (Word pe = 0; pe < n_; ++pe) send(pe, kLast);
    while (ended_ < n_) take();
    shmem_barrier_all();
  }

 private:
  static constexpr Word kLast = Word{1} << 32, kThere = Word{1} << 33;
  void send(Word pe, Word last) {
    while (sent_[pe] - shmem_signal_fetch(&taken_[pe]) == 2) take();  // no room there
    const Word place = 2 * me_ + sent_[pe]++ % 2;
    shmem_putmem_signal(&blocks_[place * block_], out_[pe].data(), out_[pe].size() * sizeof(Word),
                        &full_[place], kThere | last | out_[pe].size(), SHMEM_SIGNAL_SET, int(pe));
    out_[pe].clear();
  }
  void take() {
    for (Word pe = 0; pe < n_; ++pe) {
      const Word place = 2 * pe + got_[pe] % 2, there = shmem_signal_fetch(&full_[place]);
      if (there == 0) continue;
      for (Word i = 0; i < there % kLast; ++i) apply_(blocks_[place * block_ + i]);
      full_[place] = 0, ended_ += (there & kLast) != 0;
      shmem_ulong_p(&taken_[me_], ++got_[pe], int(pe));
    }
  }

  Apply apply_;
  const Word block_, n_, me_;  // words of a block, PEs, this PE
  std::vector<std::vector<Word>> out_;
  std::vector<Word> sent_, got_;  // blocks, to and from each PE
  Word ended_ = 0;                // PEs that have sent their last block
  Word *blocks_, *full_, *taken_;
};

enum Kernel { kHistogram, kGups, kScatter, kInverse };
static Word mine[2], all[2];  // mistakes, microseconds

// The i-th update of this PE: a word of the table, and for scatter and inverse what it becomes.
struct Update {
  Word index, value;
};
static Update update(Kernel kernel, Word scale, Word i) {
  const Word mask = (Word{1} << scale) - 1, random = mix(mix(i) + kernel);
  if (kernel == kInverse)
    return {(i * 0x9e3779b1U + 12345) & mask, i};  // a permutation, as the factor is odd
  return {random & mask, kernel == kScatter ? random & mask : random};
}

static void plain(Kernel kernel, Word scale, Word first, Word last, Word* table) {
  const Word n = Word(shmem_n_pes());
  for (Word i = first; i < last; ++i) {
    const auto [index, value] = update(kernel, scale, i);
    Word* const word = &table[index / n];
    if (kernel == kHistogram) shmem_ulong_atomic_inc(word, int(index % n));
    if (kernel == kGups) shmem_ulong_atomic_xor(word, value, int(index % n));
    if (kernel >= kScatter) shmem_ulong_p(word, value, int(index % n));
  }
  shmem_barrier_all();
}

static void buffered(Kernel kernel, Word scale, Word block, Word first, Word last, Word* table) {
  const Word n = Word(shmem_n_pes()), mask = (Word{1} << scale) - 1;
  const auto apply = [&](Word word) {  // a number, or, of scatter and inverse, index and value
    if (kernel == kHistogram) ++table[word / n];
    if (kernel == kGups) table[(word & mask) / n] ^= word;
    if (kernel >= kScatter) table[(word >> 32) / n] = word & 0xffffffff;
  };
  Mail mail(apply, block);
  for (Word i = first; i < last; ++i) {
    const auto [index, value] = update(kernel, scale, i);
    mail.push(index % n, kernel == kHistogram ? index : kernel == kGups ? value : index << 32 | value);
  }
  mail.finish();
}

// Microseconds that all took.
template <class Run>
static double time_of(Run run) {
  shmem_barrier_all();
  const auto start = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  mine[1] = Word(took.count());
  shmem_max_reduce(SHMEM_TEAM_WORLD, &all[1], &mine[1], 1);
  return double(all[1]);
}

int main(int argc, char** argv) {
  Word scale = 14, per_word = 8, block = 64;
  shmem_init();
  const bool right = argc < 4 || (argc == 4 && number(argv[3], 1024, block));
  if (!arguments(right ? std::min(argc, 3) : argc, argv, scale, per_word)) return shmem_finalize(), 2;
  const Word me = Word(shmem_my_pe()), n = Word(shmem_n_pes());
  const Word size = (Word{1} << scale) / n + 1;
  Word *const one = words(size), *const other = words(size);
  const char* const names[] = {"histogram", "GUPS", "scatter", "inverse"};
  if (me == 0) std::printf("%-12s %14s %14s %8s\n", "", "plain (1/s)", "buffered (1/s)", "ratio");
  for (const Kernel kernel : {kHistogram, kGups, kScatter, kInverse}) {
    std::fill_n(one, size, Word{0}), std::fill_n(other, size, Word{0});
    const Word updates = kernel == kInverse ? Word{1} << scale : per_word << scale;
    const Word first = updates / n * me, last = me + 1 == n ? updates : first + updates / n;
    const double a = time_of([&] { plain(kernel, scale, first, last, one); });
    const double b = time_of([&] { buffered(kernel, scale, 128 * block, first, last, other); });
    for (Word i = 0; i < size; ++i) mine[0] += one[i] != other[i];
    if (me == 0)
      std::printf("%-12s %14.3g %14.3g %8.2f\n", names[kernel], double(updates) / a * 1e6,
                  double(updates) / b * 1e6, b / a);
  }
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 1);
  if (me == 0) std::printf("%.0f words differ\n", double(all[0]));
  shmem_finalize();
  return all[0] != 0;
}

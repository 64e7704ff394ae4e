// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench nvm --kernel cached: what is in memory already, beside the same in the heap in memory.
#include <shmem.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "measure.hpp"
#include "nvm_kernels.hpp"
#include "nvm_pages.hpp"

namespace bench {
namespace {

using Word = std::uint64_t;

enum class Kind { get, put, load, store };
constexpr const char* kNames[] = {"get", "put", "load", "store"};

// Out of line: the same instructions for both blocks.

[[gnu::noinline]] Word sum_of(const Word* words, std::size_t count) {
  Word sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

[[gnu::noinline]] void store(Word* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) words[i] = i;
}

/// Private memory of a PE.  It begins with a page of the machine: how fast a copy is depends on that.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : words_(bytes / sizeof(Word) + 2 * kAlignment / sizeof(Word)) {}

  Word* words() {
    const auto address = reinterpret_cast<std::uintptr_t>(words_.data());
    return words_.data() + (kAlignment - address % kAlignment) % kAlignment / sizeof(Word);
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words()); }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::vector<Word> words_;
};

/// What a PE works on: `memory` bytes of a PE of its node, `size` at a time.
class Work {
 public:
  /// Both stay the caller's.
  Work(Kind kind, const NvmOptions& options, const Block& block, Buffer& buffer)
      : kind_(kind), size_(options.size), block_(block), buffer_(buffer) {
    const int place = shmem_team_my_pe(SHMEM_TEAM_SHARED), all = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    target_ = shmem_team_translate_pe(SHMEM_TEAM_SHARED, (place + 1) % all, SHMEM_TEAM_WORLD);
  }

  /// Seconds of `passes` over all of it.
  [[gnu::noinline]] double run(std::size_t passes) {
    std::memset(buffer_.bytes(), 0, size_);  // what a get brings is not left over
    if (kind_ == Kind::put) fill(buffer_.bytes(), 0, size_);
    shmem_barrier_all();
    const double start = now();
    for (std::size_t i = 0; i < passes; ++i) one_pass();
    shmem_quiet();
    const double took = now() - start;
    shmem_barrier_all();
    return largest(took);
  }

  /// Whether what the operations of the last run have left, or seen, is right.
  bool right();
  /// Operations of a pass: calls, or words.
  double operations() const {
    return static_cast<double>(block_.bytes() / (by_calls() ? size_ : sizeof(Word)));
  }
  bool by_calls() const { return kind_ == Kind::get || kind_ == Kind::put; }

 private:
  void one_pass() {
    std::byte* const begin = block_.begin();
    std::byte* const end = begin + block_.bytes();
    if (kind_ == Kind::get) {
      for (std::byte* at = begin; at < end; at += size_) shmem_getmem(buffer_.words(), at, size_, target_);
    } else if (kind_ == Kind::put) {
      for (std::byte* at = begin; at < end; at += size_) shmem_putmem(at, buffer_.words(), size_, target_);
    } else {
      auto* const words = reinterpret_cast<Word*>(begin);
      const std::size_t count = block_.bytes() / sizeof(Word);
      kind_ == Kind::load ? void(sum_ = sum_of(words, count)) : store(words, count);
    }
    asm volatile("" ::: "memory");  // the next pass is not the same to the compiler
  }

  const Kind kind_;
  const std::size_t size_;
  const Block& block_;
  Buffer& buffer_;
  Word sum_ = 0;
  int target_;
};

/// Collective: all PEs have the pattern of each part in their memory, in every page.
void prepare(const Block& block, std::size_t size) {
  std::vector<std::byte> part(size);
  fill(part.data(), 0, size);
  for (std::size_t at = 0; at < block.bytes(); at += size)
    shmem_putmem(block.begin() + at, part.data(), size, shmem_my_pe());
  shmem_barrier_all();
}

bool Work::right() {
  std::vector<Word> part(size_ / sizeof(Word)), found(part.size());
  fill(reinterpret_cast<std::byte*>(part.data()), 0, size_);
  if (kind_ == Kind::get) return std::equal(part.begin(), part.end(), buffer_.words());
  Word sum = 0;
  for (std::size_t at = 0; at < block_.bytes(); at += size_) {
    shmem_getmem(found.data(), block_.begin() + at, size_, shmem_my_pe());
    for (std::size_t i = 0; i < found.size(); ++i) {
      sum += found[i];
      const Word stored = at / sizeof(Word) + i;
      if (kind_ != Kind::load && found[i] != (kind_ == Kind::store ? stored : part[i])) return false;
    }
  }
  return kind_ != Kind::load || sum == sum_;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Both in turn, so that what disturbs one disturbs the other.
Row measure_kind(Kind kind, const NvmOptions& options, const Block& nvm, const Block& memory) {
  prepare(nvm, options.size);
  prepare(memory, options.size);
  Buffer buffer(options.size);
  Work cached(kind, options, nvm, buffer), plain(kind, options, memory, buffer);
  const std::size_t passes = calibrate(
      options.seconds, [&](std::size_t n) { return std::max(cached.run(n), plain.run(n)); }, 1);
  std::vector<double> seconds, beside;
  bool right = true;
  for (std::size_t i = 0; i < options.rounds; ++i) {
    beside.push_back(plain.run(passes));
    right = plain.right() && right;
    seconds.push_back(cached.run(passes));
    right = cached.right() && right;
  }
  shmem_barrier_all();
  if (!right)
    std::fprintf(stderr, "shmem_bench: PE %d: %s left or saw wrong data\n", shmem_my_pe(),
                 kNames[static_cast<int>(kind)]);
  const double took = median(seconds), count = static_cast<double>(passes);
  const double operations = count * cached.operations();
  return {.kernel = "cached",
          .what = kNames[static_cast<int>(kind)],
          .rate = count * static_cast<double>(nvm.bytes()) * 1e-6 * shmem_n_pes() / took,
          .each = took * 1e9 / operations,
          .beside = median(beside) * 1e9 / operations,
          .right = right};
}

}  // namespace

bool measure_cached(const NvmOptions& options, const NvmReport& report) {
  const Block nvm(options.memory, options.page, options.dram ? Block::Where::memory : Block::Where::nvm);
  const Block memory(options.memory, options.page, Block::Where::memory);
  if (nvm.begin() == nullptr || memory.begin() == nullptr) return false;
  for (const Kind kind : {Kind::get, Kind::put, Kind::load, Kind::store})
    report(measure_kind(kind, options, nvm, memory));
  return true;
}

}  // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
#include "nvm_pages.hpp"

#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "measure.hpp"

namespace bench {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kStep = 4096 / sizeof(Word);

std::byte* allocated(std::size_t bytes, Block::Where where) {
  if (bytes == 0) return nullptr;
  const long hint = where == Block::Where::nvm ? SHMEMX_MALLOC_NVM : SHMEM_MALLOC_ATOMICS_REMOTE;
  return static_cast<std::byte*>(shmem_malloc_with_hints(bytes, hint));
}

std::byte* aligned(std::byte* at, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at == nullptr ? nullptr : at + (alignment - address % alignment) % alignment;
}

}  // namespace

// Hints and an alignment cannot be asked for at once.
Block::Block(std::size_t bytes, std::size_t alignment, Where where)
    : block_(allocated(bytes == 0 ? 0 : bytes + alignment, where)),
      begin_(aligned(block_, alignment)),
      bytes_(bytes) {}

Block::~Block() { shmem_free(block_); }

Word pattern(std::size_t at) { return (static_cast<Word>(at) + 1) * 0x9e3779b97f4a7c15U; }

void fill(std::byte* to, std::size_t first_word, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(Word); ++i) {
    const Word word = pattern(first_word + i);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

std::vector<int> first_pes() {
  static int first;
  first = shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD);
  shmem_barrier_all();
  std::vector<int> found;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    if (shmem_int_g(&first, pe) == pe) found.push_back(pe);
  }
  shmem_barrier_all();
  return found;
}

double pages_read() {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return total(static_cast<double>(stats.page_loads));
}

Pages::Pages(const NvmOptions& options, std::size_t count)
    : page_(options.page),
      count_(count),
      data_(count * page_, page_, options.dram ? Block::Where::memory : Block::Where::nvm),
      other_(options.dram ? 0 : 2 * options.pool * page_, page_, Block::Where::nvm),
      got_(page_ / sizeof(Word)) {
  if (shmem_my_pe() == 0 && valid()) {
    auto* const buffer = reinterpret_cast<std::byte*>(got_.data());
    for (std::size_t n = 0; n < count_; ++n) {
      fill(buffer, n * got_.size(), page_);
      shmem_putmem((*this)[n], buffer, page_, 0);
    }
  }
  shmem_barrier_all();
}

// Nothing to read: the next pages that come take the places of these.
void Pages::fill_my_pool() const {
  const std::size_t part = other_.bytes() / 2;
  for (int pass = 0; pass < 8; ++pass) {
    for (std::size_t at = 0; at < part; at += page_)
      shmem_uint64_g(reinterpret_cast<Word*>(other_.begin() + at + pass / 4 * part), shmem_my_pe());
  }
}

// A page that is in use just then stays, so they are told several times.  The other advice is taken in turn,
// at once: then what was told before has begun, and who wants a page comes after that.
void Pages::leave_my_pool() const {
  if (other_.bytes() == 0) return;
  for (int pass = 0; pass < 4; ++pass) {
    shmemx_nvm_advise(data_.begin(), count_ * page_, SHMEMX_NVM_DONTNEED);
    for (std::size_t page = 0; page <= count_; page += 32)
      shmemx_nvm_advise(other_.begin(), page_, SHMEMX_NVM_OVERWRITE);
  }
}

void Pages::empty_pools() const {
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {  // who writes to a page takes it from all others
    for (std::size_t n = 0; n < count_; ++n) {
      auto* const word = reinterpret_cast<Word*>((*this)[n]);
      shmem_uint64_p(word, shmem_uint64_g(word, 0), 0);
    }
    shmem_quiet();
    leave_my_pool();
  }
  shmem_barrier_all();
  if (shmem_team_my_pe(SHMEM_TEAM_SHARED) == 0) fill_my_pool();
  shmem_barrier_all();
}

void Pages::get(std::size_t n) {
  shmem_getmem(got_.data(), (*this)[n], page_, 0);
  number_ = n;
}

bool Pages::right(bool quickly) const {
  for (std::size_t i = 0; i < got_.size(); i += quickly ? kStep : 1) {
    const Word expected = pattern(number_ * got_.size() + i);
    if (got_[i] == expected) continue;
    std::fprintf(stderr, "shmem_bench: PE %d: word %zu of page %zu is %llu instead of %llu\n", shmem_my_pe(),
                 i, number_, static_cast<unsigned long long>(got_[i]),
                 static_cast<unsigned long long>(expected));
    return false;
  }
  return true;
}

}  // namespace bench

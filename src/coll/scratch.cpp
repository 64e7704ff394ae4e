// SPDX-License-Identifier: BSD-3-Clause
#include "coll/scratch.hpp"

#include <bitset>

#include "base/mutex.hpp"
#include "base/spin.hpp"
#include "coll/internal.hpp"

namespace shm {
namespace {

constexpr std::size_t kBlocks = 32;
constexpr std::size_t kBlock = kScratchBytes / kBlocks;

SpinLock lock;
std::bitset<kBlocks> used GUARDED_BY(lock);

// The first of n free blocks in a row, or kBlocks.
std::size_t find_free(std::size_t n) REQUIRES(lock) {
  std::size_t run = 0;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    run = used[i] ? 0 : run + 1;
    if (run == n) return i + 1 - n;
  }
  return kBlocks;
}

}  // namespace

Scratch::Scratch(std::size_t n) {
  const std::size_t blocks = (n + kBlock - 1) / kBlock;
  if (n > 0 && blocks <= kBlocks) {
    const LockGuard guard(lock);
    first_ = find_free(blocks);
    if (first_ < kBlocks) blocks_ = blocks;
    for (std::size_t i = 0; i < blocks_; ++i) used.set(first_ + i);
  }
  if (blocks_ == 0) private_.resize(n);
  data_ = blocks_ == 0 ? private_.data() : internal_area().scratch + first_ * kBlock;
}

Scratch::~Scratch() {
  const LockGuard guard(lock);
  for (std::size_t i = 0; i < blocks_; ++i) used.reset(first_ + i);
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of `shmem_bench nvm` work on: PE 0's pages with known contents, and other pages to get
// those out of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nvm_options.hpp"

namespace bench {

/// A symmetric block, on NVM or in memory; aligned to pages.  Collective to make and to end.
class Block {
 public:
  enum class Where { nvm, memory };
  Block(std::size_t bytes, std::size_t alignment, Where where);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// nullptr: there was no room.
  std::byte* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* block_;
  std::byte* begin_;
  std::size_t bytes_;
};

/// Word `at` of all data.
std::uint64_t pattern(std::size_t at);
void fill(std::byte* to, std::size_t first_word, std::size_t bytes);

/// PEs by node: the first PE of each, in ascending order.  Collective.
std::vector<int> first_pes();

/// Pages that went from the files into memory, on all nodes, since the start.  Collective.
double pages_read();

class Pages {
 public:
  /// Collective.  PE 0 fills its pages.
  Pages(const NvmOptions& options, std::size_t count);

  /// False if the symmetric heap has no room.
  bool valid() const {
    return data_.begin() != nullptr && (other_.bytes() == 0 || other_.begin() != nullptr);
  }
  std::size_t count() const { return count_; }
  std::size_t page() const { return page_; }
  std::byte* operator[](std::size_t n) const { return data_.begin() + n * page_; }

  /// Collective: no node has any of the data in memory, but other pages.
  void empty_pools() const;
  /// By PE 0: what its node has of the data leaves.
  void leave_my_pool() const;

  /// Gets page `n` of PE 0 into memory of this PE's own.
  void get(std::size_t n);
  /// Whether the last get brought what it should: all of it, or, with `quickly`, a word of each 4 KiB.
  bool right(bool quickly) const;

 private:
  void fill_my_pool() const;

  const std::size_t page_, count_;
  const Block data_, other_;
  std::vector<std::uint64_t> got_;
  std::size_t number_ = 0;  ///< of the page in got_
};

}  // namespace bench

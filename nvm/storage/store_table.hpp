// SPDX-License-Identifier: BSD-3-Clause
// The table of a store: where each block of the object lies, in memory, and its way to and from the file.
//
// 8 bytes of memory for each block that is not zeros.  A chunk that changes is written to the home that the
// last epoch does not use, at the next write().
//
// Thread safety: one thread, that of the store.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nvm/storage/store_format.hpp"
#include "nvm/storage/store_space.hpp"

namespace shm::nvm {

/// Memory for transfers: zeros at first, which take no room before they are touched.  Can be moved.
class ZeroPages {
 public:
  /// Null data() if there is no memory.
  explicit ZeroPages(std::uint64_t bytes);
  ~ZeroPages();
  ZeroPages(ZeroPages&& other) noexcept;
  ZeroPages& operator=(ZeroPages&&) = delete;
  std::byte* data() const { return at_; }

 private:
  std::uint64_t bytes_;
  std::byte* at_;
};

/// Carries out transfers on a device that has none under way; returns the first errno among them, else 0.
int carry_out_all(Device& device, std::span<Transfer> transfers);

/// What is wrong with a table, each in words: "the table's chunk 3 of level 0 does not match its checksum".
using Defects = std::vector<std::string>;

class BlockTable {
 public:
  BlockTable(const FileLayout& layout, std::uint64_t id);
  /// False: there was no memory for it.
  bool good() const;

  TableEntry entry(std::uint64_t block) const { return levels_[0].entries()[block]; }
  void set(std::uint64_t block, TableEntry entry);

  /// Reads the table that begins at `root`.  What is wrong is added to `defects` and reads as never written.
  /// REQUIRES: newly made.
  void load(Device& device, TableEntry root, Defects& defects);

  /// Takes all places of data that it names from `space`, and finds those that cannot be.
  void check_places(Space& space, Defects& defects) const;

  /// Writes what has changed since written(), where the last epoch has nothing; sets `root`.  Returns errno.
  int write(Device& device, TableEntry& root);
  /// What write() wrote is an epoch's now.
  void written();

 private:
  struct Level {
    ZeroPages memory;
    std::vector<unsigned char> home;   // of each chunk: where the last epoch has it
    std::vector<unsigned char> dirty;  // each chunk: differs from the last epoch's
    TableEntry* entries() const { return reinterpret_cast<TableEntry*>(memory.data()); }
  };

  std::byte* chunk(std::size_t level, std::uint64_t index) const {
    return levels_[level].memory.data() + index * layout_.block();
  }
  std::uint32_t checksum(std::size_t level, std::uint64_t index) const;
  std::vector<Transfer> reads_of(std::size_t level, const TableEntry* parents, Defects& defects);
  bool whole(std::size_t level, std::uint64_t index, TableEntry parent) const;
  void write_level(std::size_t level, TableEntry* parents, std::vector<Transfer>& writes);
  void add(std::vector<Transfer>& transfers, Transfer::Kind kind, std::size_t level, std::uint64_t index,
           int home) const;

  const FileLayout layout_;
  const std::uint64_t id_;
  std::vector<Level> levels_;
};

}  // namespace shm::nvm

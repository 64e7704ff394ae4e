// SPDX-License-Identifier: BSD-3-Clause
// The file of miss status holding registers, extended as in RAE (Wang et al., "Remote Atomic Extension",
// section III-D): atomics that hit a cache line which others have missed are kept with them, and the line is
// loaded and stored once for all.
//
// Here the miss is real: add() prefetches the line, and the atomics are executed when the entry retires, by
// when the line has come.  So up to `entries` misses overlap, where one atomic after the other would wait for
// each.
//
//   entry      line | writes | count | subentries, a chain in order of arrival
//   subentry   operation and type | cell: which 4 bytes of the line | operands | where the old value goes
//
//   add(word)  line is held        -> subentry at the end of its chain                          hit, `merged`
//              line is not held    -> new entry, prefetch                                       miss, `lines`
//              chain is full       -> the entry retires first, the line is missed anew          `stalls`
//              file is full        -> the oldest entry retires first                            `stalls`
//   retire     one atomic          -> one instruction on the word
//              several             -> per word: load, all of them in order on the copy, compare-and-swap;
//                                     if the host has changed the word in between: one instruction each
//
// Where most of a sample of atomics miss, there is nothing to merge: those that follow wait in a short ring
// for their line instead, and take no entry (choose()).
//
// Atomicity: every access to the memory is one of base/atomic_op or a compare-and-swap of the whole word, so
// all this mixes with whatever CPUs of the node do.  Order: atomics on one word are executed in the order of
// add(); on different words in any, until drain().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/atomic_op.hpp"

namespace shm::nic {

/// Size of the file: SHMEM_NIC_MSHRS, SHMEM_NIC_SUBENTRIES.  RAE has 64 and 64 (Table I).
struct MshrSize {
  unsigned entries = 64;     // lines held at a time; 1 to kMostMshrs
  unsigned subentries = 64;  // atomics that wait for one line; 1 to kMostMshrs
};
inline constexpr unsigned kMostMshrs = 1024;

/// What the file has done so far.
struct MshrCounts {
  std::uint64_t executed = 0;  // atomics: lines + merged, and those that were executed without the file
  std::uint64_t lines = 0;     // misses
  std::uint64_t merged = 0;    // hits
  std::uint64_t updates = 0;   // accesses to words: instructions that read or write memory
  std::uint64_t stalls = 0;    // entries that retired because there was no room
};

/// Not thread safe; several files may work on the same memory.
class MshrFile {
 public:
  explicit MshrFile(MshrSize size);

  /// Takes one atomic.  `operands` (value, then what to compare with, 8 bytes each, as many as the operation
  /// has) and `old` (8 bytes for the old value, or null) must stay until drain().  REQUIRES: `word` aligned
  /// to the type's size, is_defined(op, type).
  void add(std::byte* word, AtomicOp op, AtomicType type, const std::byte* operands, std::byte* old);

  /// Executes all that is held: visible to every CPU on return.
  void drain();

  const MshrCounts& counts() const { return counts_; }

 private:
  using Index = std::uint16_t;
  static constexpr Index kNone = 0xffff;
  static constexpr std::uint32_t kEnd = 0xffffffff;  // of a chain of subentries
  static constexpr std::size_t kLine = 64;

  struct Sub {
    const std::byte* operands;
    std::byte* old;
    std::uint32_t next;
    AtomicOp op;
    AtomicType type;
    std::uint8_t cell;
  };
  struct Entry {
    std::byte* line;
    std::uint32_t first, last;  // of its subentries
    Index count;
    Index next;   // in its bucket
    bool writes;  // the W bit
  };

  // An atomic that is executed by itself, once its line has had time to come.
  struct Single {
    std::byte* word;
    const std::byte* operands;
    std::byte* old;
    AtomicOp op;
    AtomicType type;
  };
  static constexpr unsigned kSingles = 16;  // prefetched at a time

  void add_single(const Single& single);
  static void execute_single(const Single& single);
  void choose();
  std::size_t bucket_of(const std::byte* line) const;
  Index find(std::size_t bucket, const std::byte* line) const;
  Index open(std::size_t bucket, std::byte* line);
  void retire_oldest();
  void execute(const Entry& entry);
  static void execute_alone(std::byte* line, const Sub& sub);
  void execute_together(const Entry& entry);
  struct LineCopy;
  void write_back(const LineCopy& copy, std::uint32_t run, std::uint32_t end);

  const unsigned most_subentries_;
  std::vector<Entry> entries_;  // a ring
  std::vector<Sub> subs_;       // all since the last drain()
  std::vector<Index> buckets_;  // heads of chains of entries; a power of two
  unsigned oldest_ = 0;         // of the ring
  unsigned held_ = 0;
  MshrCounts counts_;

  bool direct_ = false;                   // the file is left out: see choose()
  std::array<Single, kSingles> singles_;  // a ring
  unsigned singles_added_ = 0, singles_done_ = 0;
  MshrCounts chosen_;  // counts_ when choose() last decided
};

}  // namespace shm::nic

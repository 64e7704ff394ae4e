// SPDX-License-Identifier: BSD-3-Clause
#include "nic/mshr.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "base/fatal.hpp"
#include "nic/packet.hpp"

namespace shm::nic {
namespace {

// The operation mapping table: what a wire operation is on this CPU, on a copy of the word, in 8 bytes.  On
// memory it is atomic_apply().
using Next = std::uint64_t (*)(std::uint64_t before, std::uint64_t value, std::uint64_t compare);

template <class T>
T narrow(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <AtomicOp op, class T>
std::uint64_t next_bits(std::uint64_t before, std::uint64_t value, std::uint64_t compare) {
  const T next = atomic_next<op>(narrow<T>(before), narrow<T>(value), narrow<T>(compare));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &next, sizeof next);
  return bits;
}

template <AtomicOp op, class T>
constexpr Next next_of() {
  if constexpr (is_defined(op, atomic_type<T>())) {
    return next_bits<op, T>;
  } else {
    return nullptr;
  }
}

using Row = std::array<Next, kAtomicTypes>;  // in the order of AtomicType
template <AtomicOp op>
constexpr Row row() {
  return {next_of<op, std::int32_t>(),  next_of<op, std::int64_t>(), next_of<op, std::uint32_t>(),
          next_of<op, std::uint64_t>(), next_of<op, float>(),        next_of<op, double>()};
}

using enum AtomicOp;
constexpr std::array kMappings = {row<fetch>(), row<set>(),     row<swap>(),   row<compare_swap>(),
                                  row<add>(),   row<bit_and>(), row<bit_or>(), row<bit_xor>(),
                                  row<min>(),   row<max>()};
static_assert(kMappings.size() == kAtomicOps, "an operation of base/atomic_op.hpp has no row here");

// Atomics between two decisions whether they pass through the file, while they do and do not; and how many of
// a hundred must miss so that they do not.
constexpr std::uint64_t kSampled = 1024, kUnsampled = 64 * kSampled, kMissesOfDirect = 75;

constexpr std::size_t kCell = 4;
constexpr std::size_t kCells = 16;

template <class Word>
std::uint64_t load(std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<Word*>(at)).load(std::memory_order_acquire);
}
template <class Word>
bool replace(std::byte* at, std::uint64_t before, std::uint64_t after) {
  auto expected = static_cast<Word>(before);
  return std::atomic_ref(*reinterpret_cast<Word*>(at))
      .compare_exchange_strong(expected, static_cast<Word>(after));
}

}  // namespace

// A copy of the words of a line that some atomics have touched.
struct MshrFile::LineCopy {
  std::byte* line;
  std::uint32_t touched = 0, wide = 0;  // a bit for the first cell of each word
  std::array<std::uint64_t, kCells> before, now;

  bool overlaps_other_width(unsigned cell, bool is_wide) const {
    const std::uint32_t bit = 1u << cell;
    if (is_wide) return (touched & ~wide & (bit | bit << 1)) != 0;
    const std::uint32_t holder = 1u << (cell & ~1u);
    return (touched & wide & holder) != 0;
  }
  std::uint64_t& word(unsigned cell, bool is_wide) {
    const std::uint32_t bit = 1u << cell;
    if ((touched & bit) == 0) {
      std::byte* at = line + cell * kCell;
      touched |= bit;
      if (is_wide) wide |= bit;
      before[cell] = now[cell] = is_wide ? load<std::uint64_t>(at) : load<std::uint32_t>(at);
    }
    return now[cell];
  }
  // Returns false if somebody else has changed the word since it was loaded.  A word that would not change
  // need not be stored: all its atomics happened when it was loaded.
  bool store(unsigned cell) const {
    std::byte* at = line + cell * kCell;
    if (now[cell] == before[cell]) return true;
    return (wide >> cell & 1) != 0 ? replace<std::uint64_t>(at, before[cell], now[cell])
                                   : replace<std::uint32_t>(at, before[cell], now[cell]);
  }
};

MshrFile::MshrFile(MshrSize size)
    : most_subentries_(size.subentries),
      entries_(size.entries),
      buckets_(std::bit_ceil(size.entries) * 2, kNone) {
  if (size.entries == 0 || size.entries > kMostMshrs || size.subentries == 0 || size.subentries > kMostMshrs)
    fatal("internal error: an MSHR file of %u entries of %u", size.entries, size.subentries);
}

std::size_t MshrFile::bucket_of(const std::byte* line) const {
  const std::uint64_t number = reinterpret_cast<std::uintptr_t>(line) / kLine;
  return (number * 0x9e3779b97f4a7c15u >> 32) & (buckets_.size() - 1);
}

MshrFile::Index MshrFile::find(std::size_t bucket, const std::byte* line) const {
  Index at = buckets_[bucket];
  while (at != kNone && entries_[at].line != line) at = entries_[at].next;
  return at;
}

MshrFile::Index MshrFile::open(std::size_t bucket, std::byte* line) {
  if (held_ == entries_.size()) {
    ++counts_.stalls;
    retire_oldest();
  }
  __builtin_prefetch(line, 1);
  unsigned at = oldest_ + held_++;
  if (at >= entries_.size()) at -= static_cast<unsigned>(entries_.size());
  entries_[at] = {line, 0, 0, 0, buckets_[bucket], false};
  buckets_[bucket] = static_cast<Index>(at);
  ++counts_.lines;
  return static_cast<Index>(at);
}

void MshrFile::add(std::byte* word, AtomicOp op, AtomicType type, const std::byte* operands, std::byte* old) {
  if (direct_) return add_single({word, operands, old, op, type});
  const std::uintptr_t in_line = reinterpret_cast<std::uintptr_t>(word) % kLine;
  std::byte* line = word - in_line;
  const std::size_t bucket = bucket_of(line);
  Index at = find(bucket, line);
  if (at == kNone) {
    at = open(bucket, line);
  } else if (entries_[at].count == most_subentries_) {
    ++counts_.stalls;
    ++counts_.lines;
    execute(entries_[at]);
    entries_[at].count = 0;
    entries_[at].writes = false;
  } else {
    ++counts_.merged;
  }
  ++counts_.executed;
  const auto number = static_cast<std::uint32_t>(subs_.size());
  subs_.push_back({operands, old, kEnd, op, type, static_cast<std::uint8_t>(in_line / kCell)});
  Entry& entry = entries_[at];
  (entry.count++ == 0 ? entry.first : subs_[entry.last].next) = number;
  entry.last = number;
  entry.writes |= op != AtomicOp::fetch;
}

void MshrFile::retire_oldest() {
  const Entry& entry = entries_[oldest_];
  execute(entry);
  Index* link = &buckets_[bucket_of(entry.line)];
  while (*link != oldest_) link = &entries_[*link].next;
  *link = entry.next;
  if (++oldest_ == entries_.size()) oldest_ = 0;
  --held_;
}

void MshrFile::drain() {
  while (singles_done_ != singles_added_) execute_single(singles_[singles_done_++ % kSingles]);
  while (held_ > 0) retire_oldest();
  subs_.clear();
  if (counts_.executed - chosen_.executed >= (direct_ ? kUnsampled : kSampled)) choose();
}

// Of what does not merge the file costs more than it saves: where most atomics miss they are executed in
// order, each some way behind its prefetch.  Now and then a sample passes through the file, so that it
// notices when they begin to merge.  REQUIRES: nothing is held.
void MshrFile::choose() {
  const std::uint64_t executed = counts_.executed - chosen_.executed, lines = counts_.lines - chosen_.lines;
  direct_ = !direct_ && lines * 100 >= executed * kMissesOfDirect;
  chosen_ = counts_;
}

void MshrFile::add_single(const Single& single) {
  __builtin_prefetch(single.word, 1);
  if (singles_added_ - singles_done_ == kSingles) execute_single(singles_[singles_done_++ % kSingles]);
  singles_[singles_added_++ % kSingles] = single;
  ++counts_.executed;
  ++counts_.updates;
}

void MshrFile::execute_single(const Single& single) {
  const std::byte* compare = single.op == AtomicOp::compare_swap ? single.operands + 8 : nullptr;
  atomic_apply(single.op, single.type, single.word, single.operands, compare, single.old);
}

void MshrFile::execute(const Entry& entry) {
  if (entry.count != 1) return execute_together(entry);
  ++counts_.updates;
  execute_alone(entry.line, subs_[entry.first]);
}

void MshrFile::execute_alone(std::byte* line, const Sub& sub) {
  const std::byte* compare = sub.op == AtomicOp::compare_swap ? sub.operands + 8 : nullptr;
  atomic_apply(sub.op, sub.type, line + sub.cell * kCell, sub.operands, compare, sub.old);
}

// In runs of atomics that agree on the widths of the words that they share: nearly always one run.
void MshrFile::execute_together(const Entry& entry) {
  LineCopy copy{entry.line};
  std::uint32_t run = entry.first, at = entry.first;
  for (unsigned left = entry.count; left > 0; --left) {
    const Sub& sub = subs_[at];
    const bool wide = atomic_size(sub.type) == 8;
    if (copy.overlaps_other_width(sub.cell, wide)) {
      write_back(copy, run, at);
      copy = LineCopy{entry.line};
      run = at;
    }
    std::uint64_t& word = copy.word(sub.cell, wide);
    if (sub.old != nullptr) std::memcpy(sub.old, &word, sizeof word);
    if (sub.op != AtomicOp::fetch) {
      std::uint64_t operands[2] = {};
      std::memcpy(operands, sub.operands, 8 * operands_of(sub.op));
      word = kMappings[static_cast<std::size_t>(sub.op)][static_cast<std::size_t>(sub.type)](
          word, operands[0], operands[1]);
    }
    at = sub.next;
  }
  if (entry.writes) return write_back(copy, run, kEnd);
  counts_.updates +=
      static_cast<unsigned>(std::popcount(copy.touched));  // loads alone: the line stays shared
}

// Ends a run: the subentries from `run` on, up to but not including `end`.
void MshrFile::write_back(const LineCopy& copy, std::uint32_t run, std::uint32_t end) {
  for (std::uint32_t cells = copy.touched; cells != 0; cells &= cells - 1) {
    const auto cell = static_cast<unsigned>(std::countr_zero(cells));
    ++counts_.updates;
    if (copy.store(cell)) continue;
    for (std::uint32_t at = run; at != end; at = subs_[at].next) {
      if (subs_[at].cell != cell) continue;
      ++counts_.updates;
      execute_alone(copy.line, subs_[at]);
    }
  }
}

}  // namespace shm::nic

// SPDX-License-Identifier: BSD-3-Clause
// What the file of a named object looks like: one PE's part, with all that the file holds of each epoch.
//
//      0      slot 0   a Header: who the object is, an epoch, and where that epoch's table begins
//     64 KiB  slot 1   another Header
//    128 KiB  tables   home 0: a place for each chunk of the table, the chunks of level 0 first
//                      home 1: the same once more
//             data     3 places for each block of the object, all of them alike
//
// The *object* is `blocks` blocks.  Its *table* is a tree of arrays: entry b of level 0 says in which place
// of the data block b lies, and its checksum; a level is cut into *chunks* of one block each, and entry c of
// the level above says in which of its two homes chunk c lies, and its checksum.  The level that is one chunk
// is the last; its entry is in the Header.  So a Header vouches for every byte of its epoch.
//
// An entry of zeros: nothing of it was ever written, and all below it reads as zeros.
//
// Checksums of blocks are block_checksum() with a seed that says which object, level and index: a block that
// is whole but not the one that belongs there is found too.  Numbers are little endian.
//
// Thread safety: none of its own; these are values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.hpp"
#include "nvm/pages.hpp"
#include "pages/device.hpp"

namespace shm::nvm {

static_assert(std::endian::native == std::endian::little, "files of objects are little endian");

inline constexpr std::uint64_t kMaxStoreBlock = std::uint64_t{1} << 20;
inline constexpr std::size_t kMaxObjectName = 64;
inline constexpr int kSlots = 2;
inline constexpr int kHomes = 2;
inline constexpr std::uint64_t kSlotDistance = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kTablesStart = kSlots * kSlotDistance;

/// Which object, and which part of it.
struct Identity {
  std::string name;              // letters, digits, '.', '_' and '-'; see name_problem()
  std::uint64_t id = 0;          // the same for all its PEs, and for no other object: random
  std::uint64_t bytes = 0;       // of one PE's part
  int npes = 1;                  // of the job
  int pe = 0;                    // whose part this is
  std::uint64_t block = kBlock;  // bytes; a power of two from kBlock to kMaxStoreBlock
  std::int64_t made = 0;         // seconds since 1970
};

/// Where something lies and its checksum; place 0: it was never written.  Of data blocks the place counts
/// from 1; of a chunk it is its home, also from 1.
struct TableEntry {
  std::uint32_t place = 0;
  std::uint32_t checksum = 0;
  friend bool operator==(const TableEntry&, const TableEntry&) = default;
};
static_assert(sizeof(TableEntry) == 8 && std::is_trivially_copyable_v<TableEntry>);

/// What a slot holds; the rest of its block is zeros.  All of it is within the first 512 bytes, which most
/// devices write as a whole.  A later format keeps `magic`, `format` and `checksum` where they are.
struct Header {
  char magic[8];
  std::uint32_t format;
  std::uint32_t checksum;  // CRC-32C of the slot's kBlock bytes with 0 here
  std::uint64_t id;
  std::uint64_t bytes;
  std::int64_t made;
  std::uint32_t npes, pe;
  std::uint64_t block;
  std::uint64_t epoch;
  std::int64_t written;  // when the epoch was: seconds since 1970
  TableEntry root;       // the entry of the last level's chunk
  char name[kMaxObjectName + 8];
};
static_assert(offsetof(Header, checksum) == 12 && offsetof(Header, id) == 16 && offsetof(Header, root) == 72);
static_assert(sizeof(Header) == 152 && std::is_trivially_copyable_v<Header>);

/// A slot as it lies in the file.
struct alignas(kBlock) SlotBlock {
  Header header;
  std::byte rest[kBlock - sizeof(Header)];
};
static_assert(sizeof(SlotBlock) == kBlock);

inline constexpr std::uint32_t kFormat = 1;

/// What the slots of a file say.
struct Slots {
  enum class State {
    nothing,  // zeros, or an object that was not made to its end: nothing was ever kept here
    object,   // at least one slot is whole
    other,    // not an object, or both slots are damaged
  };
  State state = State::nothing;
  bool whole[kSlots] = {};
  bool empty[kSlots] = {};
  bool newer = false;  // a later format than this library's
  Header header[kSlots] = {};

  /// The epochs that the file holds, the oldest first.
  std::vector<std::uint64_t> epochs() const;
  /// A slot that holds the epoch, or -1.
  int slot_of(std::uint64_t epoch) const;
  /// Any slot that is whole.  REQUIRES: state == object.
  const Header& any() const { return header[whole[0] ? 0 : 1]; }
};

/// The block of a slot, its checksum filled in.
SlotBlock make_slot(const Header& header);
Slots read_slots(const SlotBlock (&blocks)[kSlots]);

/// Why this cannot be an object's name; empty if it can: letters, digits, '.', '_' and '-', at most
/// kMaxObjectName of them, and a letter or a digit first.
std::string name_problem(const std::string& name);
/// Why these are not the slots of an object that this library can read; empty if they are.
std::string unusable(const Slots& slots);
/// Why this is not the object that is asked for (whose `id` may be 0: any); empty if it is.
std::string mismatch(const Identity& found, const Identity& asked);

/// The header of an object that was just made: epoch 0, all zeros.
Header first_header(const Identity& object);
Identity identity_of(const Header& header);

/// Where things are in the file of an object.
class FileLayout {
 public:
  struct Level {
    std::uint64_t entries;
    std::uint64_t chunks;  // what they take
    std::uint64_t first;   // number of its first chunk among those of all levels
  };

  /// REQUIRES: problem(bytes, block) is empty.
  FileLayout(std::uint64_t bytes, std::uint64_t block);
  /// Why there can be no such object; empty if there can.
  static std::string problem(std::uint64_t bytes, std::uint64_t block);

  std::uint64_t block() const { return block_; }
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t fanout() const { return block_ / sizeof(TableEntry); }  // entries of a chunk
  const std::vector<Level>& levels() const { return levels_; }
  std::uint64_t places() const { return 3 * blocks_; }

  static std::uint64_t slot(int which) { return static_cast<std::uint64_t>(which) * kSlotDistance; }
  std::uint64_t chunk(std::size_t level, std::uint64_t index, int home) const {
    const std::uint64_t row = static_cast<std::uint64_t>(home) * chunks_ + levels_[level].first + index;
    return kTablesStart + row * block_;
  }
  std::uint64_t data_start() const { return kTablesStart + kHomes * chunks_ * block_; }
  /// REQUIRES: place counts from 0.
  std::uint64_t place(std::uint64_t place) const { return data_start() + place * block_; }
  std::uint64_t file_bytes() const { return place(places()); }

 private:
  std::uint64_t block_, blocks_;
  std::uint64_t chunks_ = 0;
  std::vector<Level> levels_;
};

/// Level of data blocks in a checksum's seed; chunks of level l have l + 1.
inline constexpr std::uint64_t kDataLevel = 0;
std::uint32_t checksum_of(std::uint64_t id, std::uint64_t level, std::uint64_t index, const std::byte* data,
                          std::uint64_t block);

}  // namespace shm::nvm

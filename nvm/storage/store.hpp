// SPDX-License-Identifier: BSD-3-Clause
// One PE's part of a named object in a file: a device whose contents survive the job, an epoch at a time.
//
//                 start(), finished()                    prepare(N)                  settle(N)
//   epoch N-1  -----------------------> working state ---------------> N-1 and N  ---------------> N
//      ^                                     |              |                                      |
//      +---------- crash: begin_at(N-1) -----+              +-- crash: begin_at(N-1 or N)          +-- ...
//
// Flow.  Every PE opens its store, the PEs agree on the newest epoch that all of them hold (agree() in
// store_files.hpp), and each calls begin_at() with it.  From then on reads and writes are those of a device.
// When all that belongs to the next epoch has been written, every PE calls prepare(N), the PEs meet, and
// every PE calls settle(N).  REQUIRES of the PEs: all have begun before one prepares, all have prepared N
// before one settles N.
//
// Invariants
//  1. An *epoch* is all that one Header vouches for: the table by its root's checksum, the data by the
//     table's.  A file that was made has at least one whole Header at any instant.
//  2. No write goes where an epoch lies that the file holds: neither to a place of data (Space), nor to a
//  home
//     of a chunk of the table, nor to the only slot of an epoch.
//  3. A Header is written when all that it vouches for is durable.
//  4. What an epoch occupied is used again only when its Header is durably gone.
//
// Why a crash at any instant leaves the last complete epoch.  Let both slots have epoch N-1.  Up to the
// moment when prepare(N) has made data and table durable, no slot is written, and by (2) N-1 is as it was.
// Then slot N % 2 is written: it is the old Header, the new one, or damaged, and in that case left aside, as
// the other slot has N-1.  If it is the new one, N is whole by (3), and N-1 too.  As long as one PE has not
// prepared N none has settled N, so all hold N-1.  settle(N) writes Header N over that of N-1: if that is
// damaged, the other slot has N, and N-1 is not needed, as all PEs hold N.  Only when that is durable are
// blocks of N-1 free (4).  begin_at() writes its epoch's Header to both slots before anything else is
// written, and begins with what was prepared in vain gone on this PE; that all PEs have begun before one
// prepares keeps an old N and a new N from being taken for one.  Both Headers being equal otherwise, damage
// to one of them does no harm.
//
// Damage.  A block that does not match its checksum ends the read with EBADMSG; damage() says which.
//
// Room.  Slots and tables get theirs when the object is made, so prepare() needs none.  Copying on writing
// needs as much room again as changes in an epoch: reserve() makes two blocks of room for each block of its
// range.  That is enough for every write, provided that (a) all that is ever written is reserved, since
// the room serves the object as a whole, and (b) nothing is written between prepare() and settle(), when
// two epochs are held: such a write takes a third block, which is free or is sought in the file system.
// A write that finds no room ends with ENOSPC, and what was there before is still there; it may be tried
// again after settle().  prepare() is refused until the ranges of failed writes are written or released.
// Room that was taken stays the object's, for later epochs and also after a crash; only release() gives room
// beyond what is reserved back, at once or at the next settle(): to punch holes is slow on many systems.
//
// Cost.  A write or read of n blocks that lie together is one transfer of the file's device, and a checksum.
// Pages that are written whole stay together.  prepare(): the changed chunks of the table (8 bytes for each
// block), two flushes of the file; settle(): one block, one flush.  Memory: 8 bytes and 15 bits a block.
//
// Thread safety: one thread at a time, but for carry_out(); who submits transfers lives until they have
// ended.  prepare(), settle() and begin_at() wait for the file.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nvm/pages.hpp"
#include "nvm/storage/store_format.hpp"
#include "nvm/storage/store_space.hpp"
#include "nvm/storage/store_table.hpp"
#include "pages/device.hpp"

namespace shm::nvm {

class Store final : public Device {
 public:
  /// Makes an object of zeros, which holds epoch 0, on a device that reads as zeros and is at least
  /// FileLayout::file_bytes() long.  `file` is its name for people.
  static Result<std::unique_ptr<Store>> make(std::unique_ptr<Device> device, const std::string& file,
                                             const Identity& object);
  /// The object that is there, which must be this one: same name, bytes, PEs, and id unless that is 0.
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Device> device, const std::string& file,
                                             const Identity& object);

  const Identity& identity() const { return identity_; }
  /// Of the device: the object's bytes, rounded up to blocks.  No transfer goes beyond it.
  std::uint64_t size() const { return layout_.blocks() * layout_.block(); }
  /// What the file holds, the oldest first: one epoch or two.
  std::vector<std::uint64_t> epochs() const { return slots_.epochs(); }

  /// Contents and future are those of this epoch, and the file holds no other one.  Transfers are refused
  /// (EINVAL) before.  An epoch that is damaged is refused and nothing has changed.
  /// REQUIRES: no transfer under way.
  Status begin_at(std::uint64_t epoch);

  /// Makes all that was written by transfers that were started before this call epoch `epoch`, durably.
  /// Waits for them.  REQUIRES: begun; the last epoch is settled and is `epoch` - 1.
  /// After an error the epochs that the file held are still there; if writing the Header has failed, nobody
  /// knows whether it holds the new one, and prepare() and settle() are refused until begin_at() succeeds.
  Status prepare(std::uint64_t epoch);

  /// Lets go of the epoch before.  REQUIRES: all PEs have prepared `epoch`.  May be called again.
  Status settle(std::uint64_t epoch);

  /// The first block of [offset, offset + n) that was found damaged, in one line for people; empty: none was.
  std::string damage(std::uint64_t offset, std::uint64_t n) const;

  // The Device: of FileLayout::blocks() blocks.  Offsets and sizes are multiples of identity().block.  A
  // transfer that fails has moved nothing, or its range is damaged until it is written again.

  std::string describe() const override { return "named object, " + device_->describe(); }
  /// Two blocks of room for each block of the range.
  Status reserve(std::uint64_t offset, std::uint64_t n) override;
  /// Reads as zeros in the next epoch; the epochs that the file holds keep what they have.
  Status release(std::uint64_t offset, std::uint64_t n) override;
  bool never_blocks() const override { return device_->never_blocks(); }
  void start(Transfer& transfer) override;
  void submit() override { device_->submit(); }
  bool to_be_submitted() const override { return device_->to_be_submitted(); }
  /// Of those whose blocks lie together.
  Transfer* take_read(Transfer& transfer) override;
  void carry_out(Transfer& taken) override { device_->carry_out(taken); }
  Transfer* finished() override;
  std::size_t under_way() const override { return jobs_.size() + ended_.size(); }
  bool listen(int eventfd) override {
    if (under_way() == 0) return true;
    return ended_.empty() && device_->under_way() != 0 && device_->listen(eventfd);
  }
  /// What was written is in the file, but only prepare() makes it findable.
  Status persist() override { return device_->persist(); }

 private:
  struct Job;
  // Part of a job: blocks that lie together.
  struct Piece : Transfer {
    Job* job = nullptr;
  };
  // A transfer of the caller's that is under way.
  struct Job {
    Transfer* transfer = nullptr;
    std::list<Job>::iterator self;
    std::uint64_t first = 0;          // block
    std::vector<Piece> pieces;        // not moved while they are under way
    std::size_t left = 0;             // pieces that have not ended
    std::vector<TableEntry> entries;  // of a write: the new ones
  };

  Store(std::unique_ptr<Device> device, const std::string& file, const Identity& object);

  Status write_slot(int slot, const Header& header);
  Status load(const Header& header);
  Status cannot(const std::string& what, const std::string& why) const;
  bool is_range(std::uint64_t offset, std::uint64_t n) const;
  std::uint64_t block_of(std::uint64_t offset) const { return offset / layout_.block(); }

  bool find_places(Job& job);
  void cut(Job& job);
  void start_pieces(Job& job);
  void piece_ended(const Piece& piece);
  void complete_read(Job& job);
  void complete_write(Job& job);
  bool verify(std::uint64_t block, const std::byte* data);
  void drain();
  void give_back(const std::vector<Space::Run>& runs);
  std::uint64_t room_wanted() const { return 2 * reserved_count_; }

  const std::string file_;
  const Identity identity_;
  const FileLayout layout_;
  SlotBlock slot_block_{};  // for write_slot()
  Slots slots_;
  Header current_{};  // of the newest epoch
  bool begun_ = false;
  bool settled_ = true;    // the file holds one epoch
  bool released_ = false;  // settle() is to give room back
  Status broken_;          // why no epoch can be made any more
  std::unique_ptr<BlockTable> table_;
  std::unique_ptr<Space> space_;
  std::vector<bool> reserved_;  // each block; empty if none is
  std::uint64_t reserved_count_ = 0;
  std::uint64_t room_ = 0;           // places below it have room in the file
  std::set<std::uint64_t> failed_;   // blocks whose last write failed
  std::set<std::uint64_t> damaged_;  // blocks, as far as they have been read
  std::list<Job> jobs_;
  std::deque<Transfer*> ended_;
  std::unique_ptr<Device> device_;  // goes first: what is under way there uses the jobs
};

}  // namespace shm::nvm

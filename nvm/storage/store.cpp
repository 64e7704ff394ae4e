// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace shm::nvm {

Store::Store(std::unique_ptr<Device> device, const std::string& file, const Identity& object)
    : file_(file), identity_(object), layout_(object.bytes, object.block), device_(std::move(device)) {}

Status Store::cannot(const std::string& what, const std::string& why) const {
  return Status::error("cannot " + what + " the NVM object '" + identity_.name + "' in " + file_ + ": " +
                       why);
}

// ---- Being made and opened

Result<std::unique_ptr<Store>> Store::make(std::unique_ptr<Device> device, const std::string& file,
                                           const Identity& object) {
  std::string why = name_problem(object.name);
  if (why.empty()) why = FileLayout::problem(object.bytes, object.block);
  if (!why.empty()) return Status::error("cannot make an NVM object in " + file + ": " + why);
  std::unique_ptr<Store> store(new Store(std::move(device), file, object));
  const Header header = first_header(object);
  Status status = store->device_->reserve(0, store->layout_.data_start());
  if (status.ok()) status = store->write_slot(0, header);
  if (status.ok()) status = store->write_slot(1, header);
  if (!status.ok()) return status;
  return store;
}

Result<std::unique_ptr<Store>> Store::open(std::unique_ptr<Device> device, const std::string& file,
                                           const Identity& object) {
  const auto refused = [&](const std::string& why) {
    return Status::error("cannot open the NVM object '" + object.name + "' in " + file + ": " + why);
  };
  SlotBlock blocks[kSlots] = {};
  Transfer reads[kSlots];
  for (int slot = 0; slot < kSlots; ++slot) {
    auto* data = reinterpret_cast<std::byte*>(&blocks[slot]);
    reads[slot] = {Transfer::Kind::read, FileLayout::slot(slot), data, sizeof(SlotBlock)};
  }
  if (const int error = carry_out_all(*device, reads); error != 0) return refused(std::strerror(error));
  const Slots slots = read_slots(blocks);
  if (const std::string why = unusable(slots); !why.empty()) return refused(why);
  const Identity found = identity_of(slots.any());
  if (const std::string why = mismatch(found, object); !why.empty()) return refused(why);
  std::unique_ptr<Store> store(new Store(std::move(device), file, found));
  store->slots_ = slots;
  return store;
}

// Durably.
Status Store::write_slot(int slot, const Header& header) {
  slot_block_ = make_slot(header);
  slots_.whole[slot] = false;  // until it is
  auto* data = reinterpret_cast<std::byte*>(&slot_block_);
  Transfer write{Transfer::Kind::write, FileLayout::slot(slot), data, sizeof(SlotBlock)};
  if (const int error = carry_out_all(*device_, {&write, 1}); error != 0)
    return cannot("write a header of", std::strerror(error));
  if (Status status = device_->persist(); !status.ok()) return status;
  slots_.header[slot] = slot_block_.header;
  slots_.whole[slot] = true;
  slots_.empty[slot] = false;
  return {};
}

Status Store::begin_at(std::uint64_t epoch) {
  const int slot = slots_.slot_of(epoch);
  if (slot < 0)
    return cannot("go back to epoch " + std::to_string(epoch) + " of", "the file does not hold that epoch");
  const Header header = slots_.header[slot];
  Status status = load(header);
  if (!status.ok()) return status;
  const int other = 1 - slot;
  if (!slots_.whole[other] || slots_.header[other].epoch != epoch) status = write_slot(other, header);
  begun_ = status.ok();
  if (begun_) broken_ = {};  // both headers are known again
  return status;
}

// Takes over what the header vouches for; if that is damaged nothing changes.
Status Store::load(const Header& header) {
  const std::string what = "load epoch " + std::to_string(header.epoch) + " of";
  auto table = std::make_unique<BlockTable>(layout_, identity_.id);
  if (!table->good()) return cannot(what, "no memory for its table; choose larger blocks");
  auto space = std::make_unique<Space>(layout_.places());
  Defects defects;
  table->load(*device_, header.root, defects);
  if (defects.empty()) table->check_places(*space, defects);
  if (!defects.empty())
    return cannot(what, defects.front() + "; restore the file from a copy, or see shmem_nvm check");
  space->prepared();
  space->settled();
  table_ = std::move(table);
  space_ = std::move(space);
  current_ = header;
  settled_ = true;
  released_ = false;
  room_ = reserved_count_ = 0;
  reserved_.clear();
  failed_.clear();
  damaged_.clear();
  return {};
}

// ---- Epochs

Status Store::prepare(std::uint64_t epoch) {
  const std::string what = "make epoch " + std::to_string(epoch) + " of";
  if (!begun_) return cannot(what, "begin_at() comes first");
  if (!broken_.ok()) return broken_;
  if (!settled_ || epoch != current_.epoch + 1)
    return cannot(what, "the last epoch is " + std::to_string(current_.epoch) +
                            (settled_ ? "" : ", which is not settled"));
  drain();
  if (!failed_.empty())
    return cannot(what, "a write at offset " + std::to_string(*failed_.begin() * layout_.block()) +
                            " has failed; make room if there was none, and write it again");
  Header header = current_;
  header.epoch = epoch;
  header.written = std::time(nullptr);
  if (const int error = table_->write(*device_, header.root); error != 0)
    return cannot(what, std::strerror(error));
  if (Status durable = device_->persist(); !durable.ok()) return durable;
  broken_ = write_slot(static_cast<int>(epoch % kSlots), header);
  // Also if that has failed: the epoch may be there.
  table_->written();
  space_->prepared();
  if (!broken_.ok()) return broken_;
  current_ = header;
  settled_ = false;
  return {};
}

Status Store::settle(std::uint64_t epoch) {
  if (!broken_.ok()) return broken_;
  if (!begun_ || epoch != current_.epoch)
    return cannot("settle epoch " + std::to_string(epoch) + " of", "it is not the last one");
  if (settled_) return {};
  drain();
  broken_ = write_slot(static_cast<int>((epoch + 1) % kSlots), current_);
  if (!broken_.ok()) return broken_;
  settled_ = true;
  space_->settled();
  if (released_) give_back(space_->surplus(room_));
  released_ = false;
  return {};
}

// Waits for the transfers of the device; finished() returns the caller's later.
void Store::drain() {
  while (!jobs_.empty()) {
    if (const Transfer* ended = device_->finished()) {
      piece_ended(*static_cast<const Piece*>(ended));
    } else {
      device_->submit();
      device_->await();
    }
  }
}

// ---- Room

bool Store::is_range(std::uint64_t offset, std::uint64_t n) const {
  return begun_ && offset % layout_.block() == 0 && n % layout_.block() == 0 && offset <= size() &&
         n <= size() - offset;
}

Status Store::reserve(std::uint64_t offset, std::uint64_t n) {
  if (!is_range(offset, n)) return cannot("make room in", std::strerror(EINVAL));
  drain();  // of the file's blocks none may be under way
  if (reserved_.empty()) reserved_.resize(layout_.blocks());
  const auto begin = reserved_.begin() + static_cast<std::ptrdiff_t>(block_of(offset));
  const auto end = begin + static_cast<std::ptrdiff_t>(block_of(n));
  const auto more = static_cast<std::uint64_t>(std::count(begin, end, false));
  const std::uint64_t wanted = 2 * (reserved_count_ + more);
  if (wanted > room_) {
    Status status = device_->reserve(layout_.place(room_), (wanted - room_) * layout_.block());
    if (!status.ok()) {
      give_back(space_->free_runs(room_, wanted));
      return status;
    }
    room_ = wanted;
  }
  std::fill(begin, end, true);
  reserved_count_ += more;
  return {};
}

Status Store::release(std::uint64_t offset, std::uint64_t n) {
  if (!is_range(offset, n)) return cannot("give room back in", std::strerror(EINVAL));
  for (std::uint64_t block = block_of(offset); block < block_of(offset + n); ++block) {
    const TableEntry old = table_->entry(block);
    if (old.place != 0) {
      space_->drop(old.place - 1);
      table_->set(block, {});
    }
    if (!reserved_.empty() && reserved_[block]) {
      reserved_[block] = false;
      --reserved_count_;
    }
    failed_.erase(block);
    damaged_.erase(block);
  }
  if (room_ > room_wanted()) give_back(space_->free_runs(room_wanted(), room_));
  room_ = std::min(room_, room_wanted());
  give_back(space_->surplus(room_));
  released_ = true;  // what an epoch still has of it
  return {};
}

// Free places: nothing is lost if the file system keeps the room.
void Store::give_back(const std::vector<Space::Run>& runs) {
  for (const Space::Run& run : runs)
    static_cast<void>(device_->release(layout_.place(run.first), run.n * layout_.block()).ok());
}

// ---- Transfers

void Store::start(Transfer& transfer) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(transfer.data) % kBlock == 0;
  transfer.error = aligned && is_range(transfer.offset, transfer.n) ? 0 : EINVAL;
  if (transfer.error != 0 || transfer.n == 0) {
    ended_.push_back(&transfer);
    return;
  }
  jobs_.push_back({});
  Job& job = jobs_.back();
  job.self = std::prev(jobs_.end());
  job.transfer = &transfer;
  job.first = block_of(transfer.offset);
  job.entries.resize(transfer.n / layout_.block());
  if (transfer.kind == Transfer::Kind::write) {
    if (!find_places(job)) {
      transfer.error = ENOSPC;
      return complete_write(job);
    }
  } else {
    for (std::size_t i = 0; i < job.entries.size(); ++i) job.entries[i] = table_->entry(job.first + i);
  }
  cut(job);
  start_pieces(job);
}

// Where each block is to be written: where it is if no epoch needs that, else elsewhere.
bool Store::find_places(Job& job) {
  std::vector<std::size_t> homeless;
  for (std::size_t i = 0; i < job.entries.size(); ++i) {
    const TableEntry old = table_->entry(job.first + i);
    const std::byte* data = job.transfer->data + i * layout_.block();
    job.entries[i].checksum = checksum_of(identity_.id, kDataLevel, job.first + i, data, layout_.block());
    if (old.place != 0 && space_->fresh(old.place - 1))
      job.entries[i].place = old.place;
    else
      homeless.push_back(i);
  }
  std::vector<Space::Run> runs;
  if (!homeless.empty() && !space_->take(homeless.size(), room_, runs)) return false;
  auto next = homeless.begin();
  for (const Space::Run& run : runs) {
    for (std::uint64_t k = 0; k < run.n; ++k)
      job.entries[*next++].place = static_cast<std::uint32_t>(run.first + k + 1);
  }
  return true;
}

// Makes the pieces; what was never written is read here.
void Store::cut(Job& job) {
  const std::uint64_t block = layout_.block();
  std::uint32_t follows = 0;  // the place after the last one, if that was not zeros
  for (std::size_t i = 0; i < job.entries.size(); ++i) {
    const std::uint32_t place = job.entries[i].place;
    std::byte* data = job.transfer->data + i * block;
    if (place == 0) {
      std::memset(data, 0, block);
    } else if (place == follows) {
      job.pieces.back().n += block;
    } else {
      job.pieces.push_back({{job.transfer->kind, layout_.place(place - 1), data, block}, &job});
    }
    follows = place == 0 ? 0 : place + 1;
  }
}

void Store::start_pieces(Job& job) {
  job.left = job.pieces.size();
  if (job.left == 0) return complete_read(job);
  for (Piece& piece : job.pieces) device_->start(piece);
}

Transfer* Store::take_read(Transfer& transfer) {
  const auto job = std::ranges::find(jobs_, &transfer, &Job::transfer);
  return job != jobs_.end() && job->pieces.size() == 1 ? device_->take_read(job->pieces.front()) : nullptr;
}

Transfer* Store::finished() {
  const Transfer* piece = device_->under_way() > 0 ? device_->finished() : nullptr;
  for (; piece != nullptr; piece = ended_.empty() ? device_->finished() : nullptr)
    piece_ended(*static_cast<const Piece*>(piece));
  if (ended_.empty()) return nullptr;
  Transfer* first = ended_.front();
  ended_.pop_front();
  return first;
}

void Store::piece_ended(const Piece& piece) {
  Job& job = *piece.job;
  if (job.transfer->error == 0) job.transfer->error = piece.error;
  if (--job.left > 0) return;
  if (job.transfer->kind == Transfer::Kind::read)
    complete_read(job);
  else
    complete_write(job);
}

// Nobody has written these blocks meanwhile: the entries are still the table's.
void Store::complete_read(Job& job) {
  Transfer& transfer = *job.transfer;
  for (std::size_t i = 0; i < job.entries.size() && transfer.error == 0; ++i) {
    const std::byte* data = transfer.data + i * layout_.block();
    if (job.entries[i].place != 0 && !verify(job.first + i, data)) transfer.error = EBADMSG;
  }
  ended_.push_back(&transfer);
  jobs_.erase(job.self);
}

bool Store::verify(std::uint64_t block, const std::byte* data) {
  const std::uint32_t found = checksum_of(identity_.id, kDataLevel, block, data, layout_.block());
  const bool good = found == table_->entry(block).checksum;
  if (good) {
    damaged_.erase(block);
  } else {
    damaged_.insert(block);
  }
  return good;
}

std::string Store::damage(std::uint64_t offset, std::uint64_t n) const {
  const auto first = damaged_.lower_bound(offset / layout_.block());
  if (first == damaged_.end() || *first * layout_.block() >= offset + n) return "";
  return "the NVM object '" + identity_.name + "' in " + file_ + " is damaged at offset " +
         std::to_string(*first * layout_.block()) +
         ": a block does not match its checksum; restore the file from a copy, or see shmem_nvm check";
}

void Store::complete_write(Job& job) {
  for (std::size_t i = 0; i < job.entries.size(); ++i) {
    const std::uint64_t block = job.first + i;
    const TableEntry old = table_->entry(block), now = job.entries[i];
    const bool moved = old.place != now.place;
    if (job.transfer->error == 0) {
      if (moved && old.place != 0) space_->drop(old.place - 1);
      table_->set(block, now);
      failed_.erase(block);
      damaged_.erase(block);
    } else {
      if (moved && now.place != 0) space_->drop(now.place - 1);
      failed_.insert(block);
    }
  }
  ended_.push_back(job.transfer);
  jobs_.erase(job.self);
}

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/store_check.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace shm::nvm {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
constexpr std::size_t kPieces = 8;  // read at a time

// Reads all data of an epoch and gathers what does not match.
class DataCheck {
 public:
  DataCheck(Device& device, const FileLayout& layout, std::uint64_t id, const BlockTable& table)
      : device_(device), layout_(layout), id_(id), table_(table), memory_(kPieces * piece_bytes()) {}

  /// `before`: blocks that this table, checked already, has too are passed over.
  Defects run(const BlockTable* before) {
    if (memory_.data() == nullptr) return {"no memory to read it"};
    for (std::uint64_t block = 0; block < layout_.blocks(); ++block) {
      const TableEntry entry = table_.entry(block);
      if (entry.place != 0 && (before == nullptr || before->entry(block) != entry)) add(block, entry);
    }
    flush();
    close();
    return std::move(defects_);
  }

 private:
  struct Piece {
    std::uint64_t first, blocks;
  };
  std::uint64_t piece_bytes() const { return std::max(kPiece, layout_.block()); }

  void add(std::uint64_t block, TableEntry entry) {
    const std::uint64_t offset = layout_.place(entry.place - 1);
    if (!reads_.empty()) {
      Transfer& last = reads_.back();
      const bool follows =
          last.offset + last.n == offset && pieces_.back().first + pieces_.back().blocks == block;
      if (follows && last.n < piece_bytes()) {
        last.n += layout_.block();
        ++pieces_.back().blocks;
        return;
      }
    }
    if (reads_.size() == kPieces) flush();
    std::byte* data = memory_.data() + reads_.size() * piece_bytes();
    reads_.push_back({Transfer::Kind::read, offset, data, layout_.block()});
    pieces_.push_back({block, 1});
  }

  void flush() {
    carry_out_all(device_, reads_);
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      for (std::uint64_t k = 0; k < pieces_[i].blocks; ++k) {
        const std::uint64_t block = pieces_[i].first + k;
        const std::byte* data = reads_[i].data + k * layout_.block();
        const bool good =
            reads_[i].error == 0 &&
            table_.entry(block).checksum == checksum_of(id_, kDataLevel, block, data, layout_.block());
        if (!good) bad(block, reads_[i].error);
      }
    }
    reads_.clear();
    pieces_.clear();
  }

  // Goes on with the last range if it follows that and the reason is the same.
  void bad(std::uint64_t block, int error) {
    if (range_.blocks > 0 && range_.first + range_.blocks == block && error_ == error) {
      ++range_.blocks;
      return;
    }
    close();
    range_ = {block, 1};
    error_ = error;
  }

  void close() {
    if (range_.blocks == 0) return;
    const std::uint64_t first = range_.first * layout_.block();
    defects_.push_back("bytes " + std::to_string(first) + " to " +
                       std::to_string(first + range_.blocks * layout_.block() - 1) + " of the object " +
                       (error_ == 0 ? std::string("do not match their checksums")
                                    : std::string("cannot be read: ") + std::strerror(error_)));
    range_.blocks = 0;
  }

  Device& device_;
  const FileLayout& layout_;
  const std::uint64_t id_;
  const BlockTable& table_;
  ZeroPages memory_;
  std::vector<Transfer> reads_;
  std::vector<Piece> pieces_;
  Piece range_{0, 0};  // damaged, and why
  int error_ = 0;
  Defects defects_;
};

Defects check_slots(const Slots& slots) {
  if (const std::string why = unusable(slots); !why.empty()) return {why};
  Defects defects;
  for (int slot = 0; slot < kSlots; ++slot) {
    const bool being_made = slots.empty[slot] && slots.any().epoch == 0;
    if (!slots.whole[slot] && !being_made)
      defects.push_back("header " + std::to_string(slot) +
                        " is damaged, or its writing was interrupted; the other one will do");
  }
  return defects;
}

std::vector<std::int64_t> missing_pes(const std::vector<PartFile>& parts, int npes) {
  std::vector<std::int64_t> missing;
  for (int pe = 0; pe < npes; ++pe) {
    if (std::ranges::find(parts, pe, &PartFile::pe) == parts.end()) missing.push_back(pe);
  }
  return missing;
}

// One part in its file; `slots` as for check_device().  `patience`: with those who use it; none is left if
// they still do.
Defects check_part(const PartFile& part, Slots& slots, std::chrono::milliseconds& patience) {
  Result<Slots> found = slots_of(part.path);
  if (!found.ok()) return {found.status().text()};
  slots = found.value();
  if (const std::string why = unusable(slots); !why.empty()) return {part.path + ": " + why};
  const FileLayout layout(slots.any().bytes, slots.any().block);
  struct stat file {};
  if (stat(part.path.c_str(), &file) != 0 || static_cast<std::uint64_t>(file.st_size) < layout.file_bytes())
    return {part.path + ": it has " + std::to_string(file.st_size) + " of its " +
            std::to_string(layout.file_bytes()) + " bytes; restore it from a copy"};
  if (const Status unused = wait_until_unused(part.path, patience); !unused.ok()) {
    patience = {};
    return {unused.text()};
  }
  auto device = open_device({.path = part.path, .size = layout.file_bytes(), .keep = true, .to_read = true});
  if (!device.ok()) return {device.status().text()};
  return check_device(*device.value(), part.path, slots);
}

}  // namespace

Defects check_device(Device& device, const std::string& file, Slots& slots) {
  SlotBlock blocks[kSlots] = {};
  Transfer reads[kSlots];
  for (int slot = 0; slot < kSlots; ++slot) {
    auto* data = reinterpret_cast<std::byte*>(&blocks[slot]);
    reads[slot] = {Transfer::Kind::read, FileLayout::slot(slot), data, sizeof(SlotBlock)};
  }
  if (const int error = carry_out_all(device, reads); error != 0)
    return {file + ": its headers cannot be read: " + std::strerror(error)};
  slots = read_slots(blocks);
  Defects defects;
  const auto add = [&](const std::string& where, const Defects& found) {
    for (const std::string& defect : found) defects.push_back(file + ": " + where + defect);
  };
  add("", check_slots(slots));
  if (slots.state != Slots::State::object) return defects;
  const FileLayout layout(slots.any().bytes, slots.any().block);
  std::unique_ptr<BlockTable> before;
  for (const std::uint64_t epoch : slots.epochs()) {
    auto table = std::make_unique<BlockTable>(layout, slots.any().id);
    Space space(layout.places());
    Defects found;
    if (table->good()) {
      table->load(device, slots.header[slots.slot_of(epoch)].root, found);
      table->check_places(space, found);
      const Defects data = DataCheck(device, layout, slots.any().id, *table).run(before.get());
      found.insert(found.end(), data.begin(), data.end());
    } else {
      found = {"no memory for its table"};
    }
    add("epoch " + std::to_string(epoch) + ": ", found);
    before = std::move(table);
  }
  return defects;
}

Defects check_object(const std::vector<PartFile>& parts, bool all_here) {
  Defects defects;
  std::vector<Found> found;
  Identity first;
  const PartFile* with = nullptr;  // whose `first` is
  std::chrono::milliseconds patience = kDying;
  for (const PartFile& part : parts) {
    Slots slots;
    const Defects in_part = check_part(part, slots, patience);
    defects.insert(defects.end(), in_part.begin(), in_part.end());
    if (slots.state != Slots::State::object) continue;
    if (with == nullptr) {
      with = &part;
      first = identity_of(slots.any());
      first.name = part.name;
    }
    Identity wanted = first;
    wanted.pe = part.pe;
    if (const std::string why = mismatch(identity_of(slots.any()), wanted); !why.empty()) {
      defects.push_back(part.path + ": it does not go with " + with->path + ": " + why);
      continue;
    }
    Found here{.pe = part.pe, .id = first.id};
    for (const std::uint64_t epoch : slots.epochs()) here.epochs[here.count++] = epoch;
    found.push_back(here);
  }
  const std::vector<std::int64_t> missing = missing_pes(parts, with == nullptr ? 0 : first.npes);
  for (const std::int64_t pe : all_here ? missing : std::vector<std::int64_t>())
    defects.push_back("the part of PE " + std::to_string(pe) + " of '" + first.name + "' is missing");
  if (found.size() > 1) {
    if (const auto plan = agree(first.name, found); !plan.ok()) defects.push_back(plan.status().text());
  }
  return defects;
}

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/store_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace shm::nvm {
namespace {

constexpr std::size_t kLargestTransfer = std::size_t{4} << 20;

std::string name_of(std::size_t level, std::uint64_t index) {
  return "chunk " + std::to_string(index) + " of level " + std::to_string(level) + " of the table";
}

}  // namespace

ZeroPages::ZeroPages(std::uint64_t bytes)
    : bytes_(bytes),
      at_(static_cast<std::byte*>(
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
  if (at_ == MAP_FAILED) at_ = nullptr;
}

ZeroPages::~ZeroPages() {
  if (at_ != nullptr) munmap(at_, bytes_);
}

ZeroPages::ZeroPages(ZeroPages&& other) noexcept
    : bytes_(other.bytes_), at_(std::exchange(other.at_, nullptr)) {}

int carry_out_all(Device& device, std::span<Transfer> transfers) {
  for (Transfer& transfer : transfers) device.start(transfer);
  int error = 0;
  for (std::size_t left = transfers.size(); left > 0;) {
    if (const Transfer* ended = device.finished()) {
      if (error == 0) error = ended->error;
      --left;
    } else {
      device.submit();
      device.await();
    }
  }
  return error;
}

BlockTable::BlockTable(const FileLayout& layout, std::uint64_t id) : layout_(layout), id_(id) {
  levels_.reserve(layout.levels().size());
  for (const FileLayout::Level& level : layout.levels()) {
    // Of what was never written no epoch has anything: any home will do.
    levels_.push_back({ZeroPages(level.chunks * layout.block()), std::vector<unsigned char>(level.chunks, 1),
                       std::vector<unsigned char>(level.chunks, 0)});
  }
}

bool BlockTable::good() const {
  return std::ranges::all_of(levels_, [](const Level& level) { return level.memory.data() != nullptr; });
}

void BlockTable::set(std::uint64_t block, TableEntry entry) {
  levels_[0].entries()[block] = entry;
  levels_[0].dirty[block / layout_.fanout()] = 1;
}

std::uint32_t BlockTable::checksum(std::size_t level, std::uint64_t index) const {
  return checksum_of(id_, kDataLevel + 1 + level, index, chunk(level, index), layout_.block());
}

// Goes on with the last transfer if the chunk follows what that moves.
void BlockTable::add(std::vector<Transfer>& transfers, Transfer::Kind kind, std::size_t level,
                     std::uint64_t index, int home) const {
  const std::uint64_t offset = layout_.chunk(level, index, home);
  std::byte* data = chunk(level, index);
  if (!transfers.empty()) {
    Transfer& last = transfers.back();
    if (last.offset + last.n == offset && last.data + last.n == data && last.n < kLargestTransfer) {
      last.n += layout_.block();
      return;
    }
  }
  transfers.push_back({kind, offset, data, layout_.block()});
}

void BlockTable::load(Device& device, TableEntry root, Defects& defects) {
  for (std::size_t level = levels_.size(); level-- > 0;) {
    const TableEntry* parents = level + 1 == levels_.size() ? &root : levels_[level + 1].entries();
    std::vector<Transfer> reads = reads_of(level, parents, defects);
    if (const int error = carry_out_all(device, reads); error != 0)
      defects.push_back("level " + std::to_string(level) +
                        " of the table cannot be read: " + std::strerror(error));
    for (std::uint64_t index = 0; index < layout_.levels()[level].chunks; ++index) {
      if (whole(level, index, parents[index])) continue;
      defects.push_back(name_of(level, index) + " does not match its checksum");
      std::memset(chunk(level, index), 0, layout_.block());
    }
  }
}

std::vector<Transfer> BlockTable::reads_of(std::size_t level, const TableEntry* parents, Defects& defects) {
  std::vector<Transfer> reads;
  for (std::uint64_t index = 0; index < layout_.levels()[level].chunks; ++index) {
    const std::uint32_t place = parents[index].place;
    if (place > kHomes) defects.push_back(name_of(level, index) + " has no home " + std::to_string(place));
    if (place == 0 || place > kHomes) continue;
    levels_[level].home[index] = static_cast<unsigned char>(place - 1);
    add(reads, Transfer::Kind::read, level, index, static_cast<int>(place) - 1);
  }
  return reads;
}

bool BlockTable::whole(std::size_t level, std::uint64_t index, TableEntry parent) const {
  if (parent.place == 0) return parent.checksum == 0;
  return parent.place > kHomes || checksum(level, index) == parent.checksum;
}

void BlockTable::check_places(Space& space, Defects& defects) const {
  for (std::uint64_t block = 0; block < layout_.blocks(); ++block) {
    const TableEntry found = entry(block);
    if (found == TableEntry{}) continue;
    const bool exists = found.place != 0 && found.place <= layout_.places();
    if (!exists || !space.take_this(found.place - 1))
      defects.push_back("the table has a place for block " + std::to_string(block) + " that it cannot have");
  }
}

int BlockTable::write(Device& device, TableEntry& root) {
  std::vector<Transfer> writes;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const bool last = level + 1 == levels_.size();
    write_level(level, last ? &root : levels_[level + 1].entries(), writes);
  }
  return carry_out_all(device, writes);
}

void BlockTable::write_level(std::size_t level, TableEntry* parents, std::vector<Transfer>& writes) {
  const Level& here = levels_[level];
  for (std::uint64_t index = 0; index < here.dirty.size(); ++index) {
    if (here.dirty[index] == 0) continue;
    const int home = 1 - here.home[index];
    parents[index] = {static_cast<std::uint32_t>(home) + 1, checksum(level, index)};
    if (level + 1 < levels_.size()) levels_[level + 1].dirty[index / layout_.fanout()] = 1;
    add(writes, Transfer::Kind::write, level, index, home);
  }
}

void BlockTable::written() {
  for (Level& level : levels_) {
    for (std::size_t index = 0; index < level.dirty.size(); ++index) {
      level.home[index] ^= level.dirty[index];
      level.dirty[index] = 0;
    }
  }
}

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/store_format.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "nvm/storage/crc32c.hpp"

namespace shm::nvm {
namespace {

constexpr char kMagic[sizeof Header::magic + 1] = "ATOLLNVM";

bool all_zero(const void* at, std::size_t n) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  return std::all_of(bytes, bytes + n, [](unsigned char byte) { return byte == 0; });
}

bool has_magic(const Header& header) { return std::memcmp(header.magic, kMagic, sizeof header.magic) == 0; }

// Zeros, perhaps written in part.
bool may_become_magic(const Header& header) {
  return std::equal(header.magic, header.magic + sizeof header.magic, kMagic,
                    [](char is, char becomes) { return is == '\0' || is == becomes; });
}

std::uint32_t checksum_of_slot(const SlotBlock& block) {
  Header header = block.header;
  header.checksum = 0;
  return crc32c(crc32c(0, &header, sizeof header), block.rest, sizeof block.rest);
}

// The checksum is right; this keeps what follows from being led astray by a file that somebody made up.
bool makes_sense(const Header& header) {
  return header.name[kMaxObjectName] == '\0' && header.pe < header.npes &&
         FileLayout::problem(header.bytes, header.block).empty();
}

bool same_object(const Header& a, const Header& b) {
  return a.id == b.id && a.bytes == b.bytes && a.npes == b.npes && a.pe == b.pe && a.block == b.block &&
         a.made == b.made && std::memcmp(a.name, b.name, sizeof a.name) == 0;
}

}  // namespace

std::vector<std::uint64_t> Slots::epochs() const {
  std::vector<std::uint64_t> found;
  for (int slot = 0; slot < kSlots; ++slot) {
    if (whole[slot]) found.push_back(header[slot].epoch);
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

int Slots::slot_of(std::uint64_t epoch) const {
  for (int slot = 0; slot < kSlots; ++slot) {
    if (whole[slot] && header[slot].epoch == epoch) return slot;
  }
  return -1;
}

SlotBlock make_slot(const Header& header) {
  SlotBlock block{};
  block.header = header;
  block.header.checksum = checksum_of_slot(block);
  return block;
}

Slots read_slots(const SlotBlock (&blocks)[kSlots]) {
  Slots slots;
  for (int slot = 0; slot < kSlots; ++slot) {
    const SlotBlock& block = blocks[slot];
    slots.header[slot] = block.header;
    slots.empty[slot] = all_zero(&block, sizeof block);
    if (!has_magic(block.header) || checksum_of_slot(block) != block.header.checksum) continue;
    slots.newer |= block.header.format > kFormat;
    slots.whole[slot] = block.header.format == kFormat && makes_sense(block.header);
  }
  const bool torn_apart = slots.whole[0] && slots.whole[1] && !same_object(slots.header[0], slots.header[1]);
  if (torn_apart || slots.newer) slots.whole[0] = slots.whole[1] = false;
  // Slot 0 is written before slot 1 when the object is made, and neither is ever empty again.
  const bool begun = may_become_magic(slots.header[0]);
  if (slots.whole[0] || slots.whole[1])
    slots.state = Slots::State::object;
  else
    slots.state = begun && slots.empty[1] && !slots.newer ? Slots::State::nothing : Slots::State::other;
  return slots;
}

std::string name_problem(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto allowed = [&](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; };
  if (name.empty()) return "the name is empty; give at least one letter or digit";
  if (name.size() > kMaxObjectName)
    return "the name has " + std::to_string(name.size()) + " characters; at most " +
           std::to_string(kMaxObjectName) + " are allowed";
  if (!plain(name.front()) || !std::ranges::all_of(name, allowed))
    return "the name is '" + name +
           "'; allowed are letters, digits, '.', '_' and '-', a letter or digit first";
  return {};
}

std::string unusable(const Slots& slots) {
  if (slots.state == Slots::State::object) return {};
  if (slots.newer)
    return "it was made by a later version of Atoll (this one reads format " + std::to_string(kFormat) +
           "); use that version";
  if (slots.state == Slots::State::nothing) return "it was not made to its end; remove it (shmem_nvm remove)";
  return "it is not an NVM object, or both its headers are damaged; restore it from a copy or remove it "
         "(shmem_nvm remove)";
}

std::string mismatch(const Identity& found, const Identity& asked) {
  if (found.name != asked.name)
    return "it holds the object '" + found.name + "'; give the file its own name again";
  if (found.npes != asked.npes)
    return "it was made by a job of " + std::to_string(found.npes) + " PEs and this one has " +
           std::to_string(asked.npes) + "; start as many, or remove the object (shmem_nvm remove)";
  if (found.pe != asked.pe)
    return "it is the part of PE " + std::to_string(found.pe) + ", not of PE " + std::to_string(asked.pe) +
           "; give the file its own name again";
  if (found.bytes != asked.bytes)
    return "it has " + std::to_string(found.bytes) + " bytes on each PE and " + std::to_string(asked.bytes) +
           " are asked for; ask for as many (a table: with the options that it was made with), or remove the "
           "object (shmem_nvm remove)";
  if (asked.id != 0 && found.id != asked.id)
    return "it is a part of another object of that name; restore the files of one and the same object, or "
           "remove it (shmem_nvm remove)";
  return {};
}

Header first_header(const Identity& object) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.format = kFormat;
  header.id = object.id;
  header.bytes = object.bytes;
  header.made = header.written = object.made;
  header.npes = static_cast<std::uint32_t>(object.npes);
  header.pe = static_cast<std::uint32_t>(object.pe);
  header.block = object.block;
  object.name.copy(header.name, kMaxObjectName);
  return header;
}

Identity identity_of(const Header& header) {
  return {.name = header.name,
          .id = header.id,
          .bytes = header.bytes,
          .npes = static_cast<int>(header.npes),
          .pe = static_cast<int>(header.pe),
          .block = header.block,
          .made = header.made};
}

std::string FileLayout::problem(std::uint64_t bytes, std::uint64_t block) {
  if (!std::has_single_bit(block) || block < kBlock || block > kMaxStoreBlock)
    return "blocks of " + std::to_string(block) + " bytes; allowed are powers of two from " +
           std::to_string(kBlock) + " to " + std::to_string(kMaxStoreBlock);
  if (bytes == 0) return "0 bytes; ask for at least one";
  const std::uint64_t most = (UINT32_MAX - 1) / 3 * block;  // places are 32 bits
  if (bytes > most)
    return std::to_string(bytes) + " bytes in blocks of " + std::to_string(block) + "; at most " +
           std::to_string(most) + ", or more with larger blocks";
  return {};
}

FileLayout::FileLayout(std::uint64_t bytes, std::uint64_t block)
    : block_(block), blocks_((bytes + block - 1) / block) {
  std::uint64_t entries = blocks_;
  do {
    const std::uint64_t chunks = (entries + fanout() - 1) / fanout();
    levels_.push_back({entries, chunks, chunks_});
    chunks_ += chunks;
    entries = chunks;
  } while (entries > 1);
}

std::uint32_t checksum_of(std::uint64_t id, std::uint64_t level, std::uint64_t index, const std::byte* data,
                          std::uint64_t block) {
  const std::array<std::uint64_t, 3> what{id, level, index};
  return block_checksum(crc32c(0, what.data(), sizeof what), data, block);
}

}  // namespace shm::nvm

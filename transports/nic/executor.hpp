// SPDX-License-Identifier: BSD-3-Clause
// The receiving end: executes packets in the memory of this node.
#pragma once

#include <span>
#include <vector>

#include "nic/mshr.hpp"
#include "nic/packet.hpp"

namespace shm::nic {

/// Thread safety: set-up before the first packet; execute() from the thread that runs handlers.
class Executor {
 public:
  explicit Executor(MshrSize size) : mshrs_(size) {}

  /// This PE's memory, and later that of the PEs of its node, by their node rank: as mapped in this process.
  void add_segment(SegmentId id, void* base, std::size_t size) {
    own_[static_cast<std::size_t>(id)] = {static_cast<std::byte*>(base), size};
  }
  void add_node(std::vector<NodeMap::Segments> node) {
    node_ = std::move(node);
    touched_in_.assign(node_.size(), 0);
  }

  /// Places of node peers in whose memory the last packet has had something stored.
  const std::vector<unsigned>& touched() const { return touched_; }

  /// Executes all records and returns the reply, which stays until the next call.  Atomics pass through the
  /// MSHR file; puts and gets are carried out at once, an aligned word of up to 8 bytes in one access, so
  /// that wait_until may watch it.  All is visible on return.  Ends the job if the packet makes no sense.
  std::span<const std::byte> execute(int from_pe, const std::byte* packet, std::size_t n);

 private:
  struct Reader;
  std::byte* reach(int from_pe, const Record& record, std::uint64_t offset, std::size_t n);
  void note_store(const Record& record);
  // n bytes at `offset` of the segment that the record names.
  void store(const Reader& reader, const Record& record, std::uint64_t offset, const std::byte* bytes,
             std::size_t n);
  void put(Reader& reader, const Record& record);
  void put_word(Reader& reader, const Record& record);
  std::uint32_t put_words(Reader& reader, std::uint32_t records);
  std::byte* reach(const Reader& reader, const Record& record, const Shape& shape);
  void put_strided(Reader& reader, const Record& record);
  void get_strided(Reader& reader, const Record& record);
  void get(Reader& reader, const Record& record);
  void atomic(Reader& reader, const Record& record);
  void count_mshrs();

  NodeMap::Segments own_{};
  std::vector<NodeMap::Segments> node_;
  MshrFile mshrs_;
  MshrCounts counted_;  // of mshrs_, that the statistics have
  std::vector<std::byte> reply_;
  std::uint64_t packets_ = 0;
  std::vector<std::uint64_t> touched_in_;  // by node rank: the number of the last packet that has
  std::vector<unsigned> touched_;
};

}  // namespace shm::nic

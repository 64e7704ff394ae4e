// SPDX-License-Identifier: BSD-3-Clause
// The one file of shared memory that the PEs of a node map: its layout, and where each peer's part lies here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "heap/statics.hpp"
#include "transports/mapper.hpp"
#include "transports/net.hpp"

namespace shm {

inline constexpr std::size_t kCacheLine = 64;

/// Heaps begin at multiples of this on every PE, so that a block that PE 0 has aligned is aligned everywhere.
inline constexpr std::size_t kLargestAlignment = std::size_t{64} << 20;

/// n, rounded up to a multiple of `unit`.
constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// What every PE of the job must know of PE p.  Written by p's node leader at set-up, then constant.
struct PeRecord {
  std::int32_t leader;         ///< lowest rank on p's node: names the node
  std::uint32_t address_size;  ///< of the network; 0: the job has none
  std::byte address[kMaxAddress];
  std::uint64_t static_size;    ///< bytes of p's symmetric variables
  std::uint64_t static_layout;  ///< see StaticRange
  std::uint64_t heap_size;      ///< bytes of p's heap segment, without NodeShape::own_bytes
  std::uint64_t checked;        ///< 1: p's blocks have room behind them, which nobody may access
};

/// Whether the same address is the same variable in both PEs' executables.
inline bool same_statics(const PeRecord& a, const PeRecord& b) {
  return a.static_size == b.static_size && a.static_layout == b.static_layout;
}

/// A PE's own part of the control block, the head of the file.  The flags lie on lines of their own: each is
/// written by one PE and polled by others.
struct alignas(kCacheLine) PeControl {
  std::atomic<std::uint64_t> arrived;                     ///< barriers that this PE has entered
  alignas(kCacheLine) std::atomic<std::uint64_t> set_up;  ///< set-up steps that this PE has finished
  std::int32_t pid;
  std::uint64_t pid_space;  ///< whose numbers mean the same: the inode of /proc/self/ns/pid; 0: not known
  std::uint64_t requested_heap;  ///< what this PE's environment asks for: of the segment, and for the program
  std::uint64_t requested_user;
  std::uint64_t requested_pool;
  PeRecord record;
};

/// Head of the shared file; PeControl[node size] and PeRecord[job size] follow.
struct alignas(kCacheLine) NodeBlock {
  std::atomic<std::uint64_t> released;            ///< barriers that all have entered (large nodes)
  alignas(kCacheLine) std::uint64_t common_heap;  ///< smallest heap segment of the job
  std::uint64_t common_nvm;                       ///< the same on NVM
  std::atomic<std::uint32_t> failed;              ///< a member's set-up failed; the others give up
  std::atomic<std::uint32_t> crash_shown;         ///< a member has shown the calls that led to its crash
};

/// Sizes that determine the layout; equal on all PEs of the node.
struct NodeShape {
  int node_size;
  int job_size;
  std::size_t heap_stride;     ///< bytes of one heap segment, a multiple of kLargestAlignment
  std::size_t pool_bytes = 0;  ///< for services that share memory on the node (nvm)
  std::size_t own_bytes = 0;   ///< the last ones of each heap segment, which its PE gives out by itself
  std::size_t user_bytes = 0;  ///< SHMEM_SYMMETRIC_SIZE, from which the others may follow
  bool checked = false;        ///< PeRecord::checked, whatever this PE runs under
};

/// Made once in the life of a process, never unmapped.
/// Thread safety: set-up from one thread; afterwards all members are constant.
class NodeMemory {
 public:
  /// Collective over the node: attaches, agrees on the layout, maps all heaps and statics.
  /// The error says which step failed here, or that another PE's set-up did.
  static Result<std::unique_ptr<NodeMemory>> create(Mapper& mapper, const NodeMember& member,
                                                    const NodeShape& shape);

  NodeBlock& block() const { return *reinterpret_cast<NodeBlock*>(control_); }
  PeControl& control(int node_rank) const {
    return reinterpret_cast<PeControl*>(control_ + sizeof(NodeBlock))[node_rank];
  }
  PeRecord& record(int rank) const;
  /// All PEs of the job, from their records.  `leaders`: of the nodes, ascending.
  Placement placement(std::span<const int> leaders) const;

  std::byte* heap(int node_rank) const {
    return heaps_ + shape_.heap_stride * static_cast<std::size_t>(node_rank);
  }
  std::size_t heap_stride() const { return shape_.heap_stride; }
  std::size_t own_bytes() const { return shape_.own_bytes; }
  /// Where the statics of a peer are mapped here; own statics lie where the program has them.
  std::byte* statics(int node_rank) const {
    return statics_ + static_offsets_[static_cast<std::size_t>(node_rank)];
  }
  const StaticRange& own_statics() const { return own_statics_; }

  /// What core files of this process have of all this, if not all: what this PE's own memory holds then, or,
  /// without that, its small static variables.
  void limit_core(bool with_own) const;

  /// Collective over the node, for set-up and its end only (polls and sleeps): waits until all have come to
  /// this step.
  Status wait_for_all();

  /// Maps what the node's other PEs have touched of the bytes at `offset` of their heaps, so that first
  /// accesses from here need not fault for each page.  Returns the bytes mapped: no more than `limit`.
  std::size_t map_touched(std::size_t offset, std::size_t size, std::size_t limit) const;

  /// Zeros at first; null if the shape has none.
  std::byte* pool() const { return pool_; }
  std::size_t pool_bytes() const { return shape_.pool_bytes; }
  /// Maps the n bytes at `offset` of the pool once more, over [at, at + n) of this process.  Returns whether
  /// it could; else errno says why.
  bool map_pool_also(std::size_t offset, std::size_t n, std::byte* at, bool writable) const;

  /// What becomes of pages that are not needed any more: they read as zeros afterwards.
  enum class Pages : std::uint8_t {
    given_back,
    kept,  // these pages, not others: somebody has their physical addresses
  };
  /// Empties the pool.
  void empty_pool(Pages pages) const;
  /// Empties this PE's heap from byte `from` on.
  void empty_heap(std::size_t from, Pages pages) const;

 private:
  NodeMemory(const NodeMember& member, const NodeShape& shape) : member_(member), shape_(shape) {}
  Status map_control(Mapper& mapper);
  Status map_heaps_and_statics();
  std::size_t control_bytes() const;
  std::size_t heap_at(int node_rank) const;  // where in the file
  void empty(std::byte* mapped, std::size_t at, std::size_t size, Pages pages) const;

  NodeMember member_;
  NodeShape shape_;
  StaticRange own_statics_;
  std::vector<std::size_t> static_offsets_;  // from statics_, by node rank
  int file_ = -1;
  std::byte* control_ = nullptr;
  std::byte* heaps_ = nullptr;
  std::byte* statics_ = nullptr;
  std::byte* pool_ = nullptr;
  std::size_t pool_at_ = 0;                         // where in the file
  std::size_t statics_at_ = 0, statics_total_ = 0;  // where in the file, and how much
  std::uint64_t steps_ = 0;                         // set-up steps finished
};

}  // namespace shm

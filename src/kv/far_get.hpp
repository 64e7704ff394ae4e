// SPDX-License-Identifier: BSD-3-Clause
// A get of an element on another node by reading its PE's shard, without that PE.  README.md ("One-sided
// gets") says why what it finds is right.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kv/layout.hpp"
#include "kv/request.hpp"
#include "transports/net.hpp"

namespace shm::kv {

/// What this PE knows of how far the shards of others have grown: at least so far.
class FarShards {
 public:
  /// `layout` stays where it is.
  FarShards(const ShardLayout& layout, unsigned npes)
      : layout_(layout), segments_(new std::atomic<std::uint64_t>[npes]) {
    for (unsigned pe = 0; pe < npes; ++pe) segments_[pe].store(layout.first_segments);
  }

  const ShardLayout& layout() const { return layout_; }
  std::uint64_t segments(int pe) const { return segments_[pe].load(std::memory_order_acquire); }
  void note_segments(int pe, std::uint64_t n) {
    std::uint64_t known = segments(pe);
    while (known < n && !segments_[pe].compare_exchange_weak(known, n, std::memory_order_acq_rel)) {
    }
  }
  /// The group that is the key's home in a shard of so many segments.
  std::uint64_t home_of(const Key& key, std::uint64_t segments) const {
    return ShardLayout::segment_of(key.hash, segments) * layout_.segment_groups +
           layout_.group_in_segment(key.hash);
  }

 private:
  const ShardLayout& layout_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> segments_;
};

/// Reads bytes of the shards of other PEs.  Reads of one PE may take place in any order, and of one read the
/// words; each is complete when its Completion is done, and took place between read() and that.
class FarReads {
 public:
  virtual ~FarReads() = default;
  virtual void read(int pe, std::uint64_t at, void* to, std::size_t n, Completion* completion) = 0;
};

/// One get at a time, in steps: while reads are under way its thread may do something else.  Of one thread.
class FarGet {
 public:
  /// How it has ended: with the answer, or without, and why.
  enum class End : std::uint8_t { answer, changed, elsewhere };
  /// Looks at a group that was being changed each time, after which its PE is asked.
  static constexpr int kMostLooks = 4;

  FarGet(FarShards& shards, FarReads& reads) : shards_(shards), reads_(reads) {}

  /// `value`: of `room` bytes.  The key's bytes and these stay until it ends.
  void begin(int pe, const Key& key, void* value, std::uint64_t room);
  /// Whether step() may be called: all reads of the last one are complete.
  bool ready() const {
    for (unsigned i = 0; i < posted_; ++i)
      if (!done_[i].done()) return false;
    return true;
  }
  /// Goes on; returns whether it has ended.
  bool step();

  End end() const { return end_; }
  // With an answer:
  Code status() const { return status_; }     // OK, NOT_FOUND, TOO_LARGE
  std::uint64_t n() const { return bytes_; }  // with OK and TOO_LARGE: of the value
  /// Looks that were in vain.
  std::uint64_t looks_again() const { return looks_again_; }

 private:
  enum class Stage : std::uint8_t { version, group, block, check };
  static constexpr std::uint64_t kFirstRead = 1024;  // of a block: most have no more

  const ShardLayout& layout() const { return shards_.layout(); }
  void post(std::uint64_t at, void* to, std::size_t n);
  void look_at(std::uint64_t group);
  bool start_again(std::uint32_t version);
  bool after_version();
  bool after_group();
  bool after_block();
  bool after_check();
  void read_group();
  void read_check();
  bool find_inlined(unsigned slot);
  bool end_with(End end);
  bool answer(Code status);
  template <class T>
  T word(std::size_t member) const;

  FarShards& shards_;
  FarReads& reads_;
  Key key_{};
  int pe_ = 0;
  void* value_ = nullptr;
  std::uint64_t room_ = 0;

  Stage stage_ = Stage::version;
  End end_ = End::answer;
  Code status_ = SHMEMX_KV_OK;
  int looks_ = 0;
  std::uint64_t looks_again_ = 0;
  std::uint64_t home_ = 0, group_ = 0;  // the key's, and which of its two is looked at
  std::uint32_t home_version_ =
      0;                       // of the home when the key was not there, while the alternate is looked at
  std::uint32_t version_ = 0;  // of the group, before it was read
  bool found_ = false, is_away_ = false, is_another_ = false;
  const std::byte* found_at_ = nullptr;  // the value
  std::uint64_t bytes_ = 0;              // of it
  std::uint64_t block_ = 0;

  // What reads bring.
  unsigned posted_ = 0;
  Completion done_[3];
  struct Versions {
    std::uint32_t version, home_lock;
  };
  Versions before_{}, after_{}, home_after_{};
  std::uint64_t segments_ = 0;
  alignas(64) std::byte bytes_of_group_[2048];
  std::vector<std::byte> bytes_of_block_;
};

}  // namespace shm::kv

// SPDX-License-Identifier: BSD-3-Clause
// Which engine carries which channel, and who polls which engine.
//
// Lane 0 is the first engine: its endpoint is the one that peers know.  Everything that comes in, messages,
// and common channels go over it.  Parallel channels are spread over further lanes, which only initiate: each
// has an engine of its own, with endpoint, completion queue, lock, records, credits and connections, opened
// when the first operation of one of its channels is posted.  A lane is never closed: the next channel takes
// it over.
//
// Thread safety: any thread after connect().  Posting on different lanes takes no common lock.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "net.hpp"
#include "ofi/engine.hpp"
#include "ofi/fabric.hpp"

namespace shm::ofi {

class Lanes {
 public:
  Lanes(std::unique_ptr<Endpoint> endpoint, const FabricOptions& options);
  ~Lanes();

  Engine& first() { return first_; }
  const Engine& first() const { return first_; }

  /// As in Network.
  Status connect(int me, int npes, Network::AddressLookup lookup, MessageSink sink);
  OfiChannel* open_channel(ChannelUse use, const NetOps* table);
  void close_channel(OfiChannel* channel);
  bool poll();
  int wait_fd() const;
  bool may_block();
  long max_block_us() const;

  /// The engine of the channel's data.  The calling thread is taken to work on it from now on: see poll().
  Engine& engine_of(const OfiChannel& channel) {
    attend(channel);
    Engine* engine = lanes_[static_cast<std::size_t>(channel.lane)].engine.load(std::memory_order_acquire);
    return engine != nullptr ? *engine : open_lane(channel.lane);
  }

  /// As engine_of(), for a thread that is about to wait for the channel; opens nothing.
  void attend(const OfiChannel& channel) {
    here.lanes = this;
    here.lane = channel.lane;
  }

  /// How many engines there are now, the first included.  For tests.
  int engines() const { return open_lanes_.load(std::memory_order_acquire); }

 private:
  struct Lane {
    std::atomic<Engine*> engine{nullptr};  // null: no operation yet; the first one's, if it cannot be opened
    std::unique_ptr<Engine> own;
    int channels = 0;  // guarded by mutex_ of Lanes
    int wait_fd = -1;  // this lane's and the first one's descriptors together; before `engine`
    std::atomic<std::uint32_t> seen{0};  // its polls(), when others last looked
  };

  // What the thread posted to or flushed last; none: it only polls, as the agent does.
  struct Here {
    const Lanes* lanes;
    int lane;
    unsigned polls = 0;
  };
  static inline thread_local Here here{nullptr, 0, 0};
  static constexpr int kNone = -1;

  int current() const { return here.lanes == this ? here.lane : kNone; }
  Engine* own_engine(std::size_t lane) const;
  [[gnu::cold]] Engine& open_lane(int number);
  Status open_engine(Lane& lane) REQUIRES(mutex_);
  bool look_at_others(int mine);

  Engine first_;
  const FabricOptions options_;
  Network::AddressLookup lookup_ = nullptr;
  std::vector<Lane> lanes_;  // sized by connect(); [0] is first_
  std::atomic<int> open_lanes_{1};
  int all_fd_ = -1;                         // every lane's descriptor; -1: only lane 0 can be
  Mutex mutex_;                             // guards the number of channels, and opening
  std::atomic<std::int64_t> next_look_{0};  // ns
};

}  // namespace shm::ofi

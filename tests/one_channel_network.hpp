// SPDX-License-Identifier: BSD-3-Clause
// A process that is PE 0 of two without a job, and its network: one channel, whose operations are what a test
// makes of them.  Whatever it is asked for, nothing is held back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/progress.hpp"
#include "core/runtime.hpp"
#include "transports/net.hpp"

namespace shm {

class OneChannelNetwork : public Network {
 public:
  OneChannelNetwork() { channel.ops = &kOps, channel.network = this; }

  struct Ours : Channel {
    OneChannelNetwork* network;
  };
  Ours channel;

  std::string describe() const override { return "one channel"; }
  Status add_segment(SegmentId, void*, std::size_t) override { return {}; }
  Result<std::vector<std::byte>> address() override { return std::vector<std::byte>(); }
  Status connect(int, int, AddressLookup, MessageSink) override { return {}; }
  Channel* open_channel(ChannelUse) override { return &channel; }
  void close_channel(Channel*) override {}
  int wait_fd() const override { return -1; }
  bool may_block() override { return false; }
  std::size_t copy_limit() const override { return 0; }
  bool supports(AtomicOp, AtomicType, bool) const override { return false; }

 protected:
  virtual void put(RemoteAddress to, const void* source, std::size_t n, Completion* completion) = 0;
  virtual void get(void* dest, RemoteAddress from, std::size_t n, Completion* completion) = 0;
  virtual void send(int pe, std::uint16_t id, std::vector<std::byte> message) = 0;

 private:
  static OneChannelNetwork& of(Channel* channel) { return *static_cast<Ours*>(channel)->network; }
  static void put_of(Channel* channel, int, RemoteAddress to, const void* source, std::size_t n, bool,
                     Completion* completion) {
    of(channel).put(to, source, n, completion);
  }
  static void get_of(Channel* channel, int, void* dest, RemoteAddress from, std::size_t n,
                     Completion* completion) {
    of(channel).get(dest, from, n, completion);
  }
  static void send_of(Channel* channel, int pe, std::uint16_t id, const void* message, std::size_t n) {
    const auto* first = static_cast<const std::byte*>(message);
    of(channel).send(pe, id, {first, first + n});
  }
  static constexpr NetOps kOps = {
      .put = put_of,
      .get = get_of,
      .amo = nullptr,
      .send = send_of,
      .flush = [](Channel*) {},
      .idle = [](const Channel*) { return true; },
      .idle_to = [](const Channel*, int) { return true; },
      .fence = [](Channel*) { return true; },
  };
};

inline void be_one_of_two(OneChannelNetwork& network, Progress& progress) {
  rt.npes = 2;
  rt.me = 0;
  rt.spin_polls = 0;
  rt.network = &network;
  rt.progress = &progress;
  rt.world_context.channel = &network.channel;
}

/// Ends that.
inline void be_no_pe() {
  rt.npes = 0;
  rt.me = -1;
  rt.network = nullptr;
  rt.progress = nullptr;
  rt.world_context.channel = nullptr;
}

}  // namespace shm

// SPDX-License-Identifier: BSD-3-Clause
// The loop network, which counts the channels that are open, and notes what they are for.
#pragma once

#include <vector>

#include "../coll/around_loop.hpp"

namespace shm::test {

class CountedChannels final : public AroundLoop {
 public:
  /// `open` outlives it.
  explicit CountedChannels(int& open) : open_(open) {}

  std::vector<ChannelUse> uses;

  Channel* open_channel(ChannelUse use) override {
    uses.push_back(use);
    ++open_;
    return AroundLoop::open_channel(use);
  }
  void close_channel(Channel* channel) override {
    --open_;
    AroundLoop::close_channel(channel);
  }

 private:
  bool holds() const override { return false; }
  bool orders() const override { return true; }

  int& open_;
};

}  // namespace shm::test

// SPDX-License-Identifier: BSD-3-Clause
// A runtime of one PE whose network leads back to itself, without a job.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "../transports/loop.hpp"
#include "coll/rendezvous.hpp"
#include "core/progress.hpp"
#include "setup/internal_layout.hpp"

namespace shm::test {

class OnePe : public ::testing::Test {
 protected:
  static constexpr std::size_t kHeap = std::size_t{9} << 20;

  void SetUp() override {
    const std::size_t size = kInternalBytes + kHeap;
    memory_ = static_cast<std::byte*>(std::aligned_alloc(4096, size));
    ASSERT_NE(memory_, nullptr);
    std::memset(memory_, 0, size);
    rt.heap = SymmetricSegment(reinterpret_cast<std::uintptr_t>(memory_), size, &no_delta_, kInternalBytes);
    rt.me = 0;
    rt.spin_polls = 100;
    network_ = make_network();
    ASSERT_TRUE(network_->add_segment(SegmentId::heap, memory_, size).ok());
    address_ = network_->address().value();
    ASSERT_TRUE(network_
                    ->connect(
                        0, 1, [](int) { return std::span<const std::byte>(address_); }, Progress::deliver)
                    .ok());
    rt.network = network_.get();
    rt.world_context.channel = network_->open_channel();
    open_parcels();
    rt.progress = new Progress(*network_, rt.world_context.channel, 50);
    rt.npes = 1;
  }

  void TearDown() override {
    Channel* channel = rt.world_context.channel;
    while (!channel->ops->idle(channel)) network_->poll();
    finish_parcels({"the test"});
    rt.npes = 0;
    delete rt.progress;
    rt.progress = nullptr;
    close_parcels();
    network_->close_channel(channel);
    rt.world_context.channel = nullptr;
    rt.network = nullptr;
    rt.heap = SymmetricSegment();
    std::free(memory_);
  }

  /// The network that leads back to this PE, or one around it.
  virtual std::unique_ptr<Network> make_network() { return open_loop(make_loop_fabric()); }

  std::byte* heap() { return memory_ + kInternalBytes; }

 private:
  static inline std::vector<std::byte> address_;
  std::byte* memory_ = nullptr;
  std::ptrdiff_t no_delta_ = 0;
  std::unique_ptr<Network> network_;
};

}  // namespace shm::test

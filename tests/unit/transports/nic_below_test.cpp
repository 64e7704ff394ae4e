// SPDX-License-Identifier: BSD-3-Clause
// The software NIC and the network below it.
#include <memory>
#include <span>
#include <vector>

#include "counted_channels.hpp"
#include "fabric_job.hpp"
#include "nic/nic.hpp"
#include "nic/packet.hpp"
#include "nic_job.hpp"
#include "ofi/quirks.hpp"

namespace shm::test {
namespace {

TEST(Nic, ClosesTheChannelsBelowItsOwn) {
  int open = 0;
  {
    LoopJob job(1, 8, ignore, [&](const std::unique_ptr<Network>&, int) {
      return make_nic(std::make_unique<CountedChannels>(open), {});
    });
    EXPECT_EQ(open, 2) << "the job's, and one for packets";
    Channel* another = job.pes[0].net->open_channel();
    EXPECT_EQ(open, 3);
    job.pes[0].net->close_channel(another);
    EXPECT_EQ(open, 2);
  }
  EXPECT_EQ(open, 0);
}

/// Says what it is told to say.
class ToldNetwork final : public AroundLoop {
 public:
  bool needs = false, may = false, pins = false, alone = false;
  long limit = -1;
  int promises = 0;

  bool needs_poll() const override { return needs; }
  void will_be_polled() override { ++promises; }
  bool may_block() override { return may; }
  long max_block_us() const override { return limit; }
  bool pins_segments() const override { return pins; }
  bool reads_alone() const override { return alone; }

 private:
  bool holds() const override { return false; }
  bool orders() const override { return true; }
};

// Puts in packets are stored by whoever executes these.
TEST(Nic, MessagesFollowPutsThatAreNotPacked) {
  Job job(1, 8, ignore, [](int) { return make_nic(std::move(open_fabric(loopback()).value()), {}); });
  const LoopPe& pe = job.pes[0];
  EXPECT_EQ(pe.ops().messages_follow_puts(pe.channel), ofi::kStoresStayInOrder);
  pe.ops().hint(pe.channel, {.batch = true});
  EXPECT_FALSE(pe.ops().messages_follow_puts(pe.channel));
}

// Whether and how long to sleep is for the network below to say, too.
TEST(Nic, PassesOnWhatTheNetworkBelowSays) {
  ToldNetwork* below = nullptr;
  LoopJob job(1, 8, ignore, [&](const std::unique_ptr<Network>&, int) {
    auto made = std::make_unique<ToldNetwork>();
    below = made.get();
    return make_nic(std::move(made), {});
  });
  Network& net = *job.pes[0].net;
  for (const bool yes : {false, true}) {
    below->needs = below->may = below->pins = below->alone = yes;
    EXPECT_EQ(net.needs_poll(), yes);
    EXPECT_EQ(net.may_block(), yes);
    EXPECT_EQ(net.pins_segments(), yes);
    EXPECT_EQ(net.reads_alone(), yes);
  }
  net.will_be_polled();
  EXPECT_EQ(below->promises, 1);
  for (const long limit : {-1, 123}) {
    below->limit = limit;
    EXPECT_EQ(net.max_block_us(), limit);
  }
}

// A packet that is held is a reason to wake, and no reason to sleep longer than the network below allows.
TEST(Nic, SleepsNoLongerThanTheNetworkBelowAllowsThoughAPacketIsHeld) {
  auto made = std::make_unique<ToldNetwork>();
  made->limit = 1;
  const std::unique_ptr<Network> net = make_nic(std::move(made), {.packed = Packed::atomics});
  std::uint64_t heap[8] = {};
  ASSERT_TRUE(net->add_segment(SegmentId::heap, heap, sizeof heap).ok());
  static std::vector<std::byte> address;
  address = net->address().value();
  const auto lookup = +[](int) { return std::span<const std::byte>(address); };
  ASSERT_TRUE(net->connect(0, 2, lookup, ignore).ok());
  Channel* channel = net->open_channel();
  channel->ops->hint(channel, {true, SIZE_MAX});
  const std::uint64_t value = 7;
  channel->ops->put(channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
  EXPECT_EQ(net->max_block_us(), 1);
  net->close_channel(channel);  // with what it holds
}

// A record has a number for each PE of a node but the last; of a larger node each PE executes its own.
TEST(Nic, APeOfANodeExecutesForTheOthersWhileRecordsTellThemApart) {
  for (const unsigned size : {nic::kReceiver - 1, nic::kReceiver}) {
    alignas(64) std::byte slots[kSharedSlotsBytes] = {};
    std::uint64_t heap[8] = {};
    const std::unique_ptr<Network> net =
        make_nic(open_loop(make_loop_fabric()), {.packed = Packed::atomics, .batch = true});
    ASSERT_TRUE(net->add_segment(SegmentId::heap, heap, sizeof heap).ok());
    static std::vector<std::byte> address;
    address = net->address().value();
    const auto lookup = +[](int) { return std::span<const std::byte>(address); };
    ASSERT_TRUE(net->connect(0, static_cast<int>(size) + 1, lookup, ignore).ok());
    NodeMap map;
    map.members.resize(2);
    for (unsigned pe = 0; pe <= size; ++pe) map.add(pe == 0 ? 0 : 1);
    map.segments.push_back({NodeMap::Segment{reinterpret_cast<std::byte*>(heap), sizeof heap}, {}});
    map.shared_slots.push_back(slots);
    net->join_node(map);
    Channel* channel = net->open_channel();
    channel->ops->hint(channel, {true, SIZE_MAX});
    const std::uint64_t value = 7;
    channel->ops->put(channel, 5, LoopPe::word(0), &value, 8, true, nullptr);
    EXPECT_EQ(channel->ops->waits_for(channel, 5), size < nic::kReceiver ? 1 : 5);
    net->close_channel(channel);  // with what it holds, for which there is nobody
  }
}

}  // namespace
}  // namespace shm::test

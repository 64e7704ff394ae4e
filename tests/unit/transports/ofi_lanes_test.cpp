// SPDX-License-Identifier: BSD-3-Clause
// Parallel channels: endpoints of their own up to the limit, shared ones beyond it, and who polls them.
#include "ofi/lanes.hpp"

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <random>
#include <thread>

#include "fabric_job.hpp"
#include "ofi/network.hpp"
#include "ofi/quirks.hpp"
#include "pair.hpp"

namespace shm::test {
namespace {

constexpr std::uint64_t kOne = 1;

int engines(const Pe& pe) { return static_cast<ofi::FabricNetwork&>(*pe.net).lanes().engines(); }

int descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

void add_one(Channel* channel, int to, std::uint64_t offset) {
  channel->ops->amo(channel, to, Pe::at(offset), AtomicOp::add, AtomicType::u64, &kOne, nullptr, nullptr,
                    nullptr);
}

void quiet(const Pe& pe, Channel* channel) {
  channel->ops->flush(channel);
  pe.until([&] { return channel->ops->idle(channel); });
}

std::uint64_t word(const Pe& pe, std::size_t offset) {
  return __atomic_load_n(reinterpret_cast<std::uint64_t*>(pe.heap + offset), __ATOMIC_ACQUIRE);
}

TEST(OfiLanes, OpenWithTheFirstOperationAndUpToTheLimit) {
  run_job({.context_endpoints = 3}, [](Pe& pe) {
    std::vector<Channel*> channels;
    for (int i = 0; i < 200; ++i) channels.push_back(pe.net->open_channel(ChannelUse::parallel));
    EXPECT_EQ(engines(pe), 1);
    add_one(channels[0], 1 - pe.me, 0);
    EXPECT_EQ(engines(pe), 2);
    for (std::size_t i = 1; i < channels.size(); ++i) add_one(channels[i], 1 - pe.me, 0);
    EXPECT_EQ(engines(pe), 4);
    for (Channel* channel : channels) quiet(pe, channel);
    pe.barrier();
    EXPECT_EQ(word(pe, 0), 200U);
    for (Channel* channel : channels) pe.net->close_channel(channel);
  });
}

// What a parallel channel puts goes another way than messages.
TEST(OfiLanes, MessagesFollowThePutsOfCommonChannelsOnly) {
  run_job({.context_endpoints = 1}, [](Pe& pe) {
    Channel* parallel = pe.net->open_channel(ChannelUse::parallel);
    EXPECT_EQ(pe.ops().messages_follow_puts(pe.channel), ofi::kStoresStayInOrder);
    EXPECT_FALSE(parallel->ops->messages_follow_puts(parallel));
    pe.net->close_channel(parallel);
  });
}

TEST(OfiLanes, AMessageFindsWhatWasPutBeforeIt) {
  constexpr std::size_t kBlock = std::size_t{256} << 10, kBlocks = 4;
  constexpr std::uint64_t kRounds = 500;
  static std::byte* heap = nullptr;
  static std::uint64_t received = 0, wrong = 0;
  const auto look = [](int, std::uint16_t, const std::byte* message, std::size_t) {
    std::uint64_t round, last;
    std::memcpy(&round, message, sizeof round);
    std::memcpy(&last, heap + (round % kBlocks + 1) * kBlock - sizeof last, sizeof last);
    wrong += last < round;  // later rounds may be there already
    ++received;
  };
  run_job({.sink = look}, [](Pe& pe) {
    heap = pe.heap;
    pe.barrier();
    std::vector<std::uint64_t> source(kBlocks * kBlock / sizeof(std::uint64_t));
    for (std::uint64_t round = 1; pe.me == 0 && round <= kRounds; ++round) {
      if (round % kBlocks == 0) pe.quiet();
      std::uint64_t* block = &source[round % kBlocks * kBlock / sizeof(std::uint64_t)];
      std::fill_n(block, kBlock / sizeof(std::uint64_t), round);
      pe.ops().put(pe.channel, 1, Pe::at(round % kBlocks * kBlock), block, kBlock, false, nullptr);
      pe.ops().send(pe.channel, 1, 7, &round, sizeof round);
    }
    pe.quiet();
    if (pe.me == 1) pe.until([] { return received == kRounds; });
    EXPECT_EQ(wrong, 0U);
    pe.barrier();
  });
}

TEST(OfiLanes, ChannelsThatComeAndGoTakeOverWhatIsOpen) {
  run_job({.seconds = 120, .context_endpoints = 2}, [](Pe& pe) {
    int open = 0;
    for (int i = 0; i < 1000; ++i) {
      Channel* channel = pe.net->open_channel(ChannelUse::parallel);
      add_one(channel, 1 - pe.me, 0);
      quiet(pe, channel);
      pe.net->close_channel(channel);
      if (i == 0) open = descriptors();
    }
    EXPECT_EQ(engines(pe), 2);           // one channel at a time needs one lane
    EXPECT_LE(descriptors(), open + 1);  // the peer's lane may have connected after we counted
    pe.barrier();
    EXPECT_EQ(word(pe, 0), 1000U);
  });
}

TEST(OfiLanes, EndWithoutADescriptorLeft) {
  int open[3] = {};
  for (int& now : open) {
    {
      FabricJob job(2, 8, nullptr,
                    {.provider = "tcp;ofi_rxm", .loopback_only = true, .context_endpoints = 2});
      LoopPe& pe = job.pes[0];
      Channel* channel = pe.net->open_channel(ChannelUse::parallel);
      add_one(channel, 0, 0);
      EXPECT_EQ(static_cast<ofi::FabricNetwork&>(*pe.net).lanes().engines(), 2);
      pe.net->close_channel(channel);
    }
    now = descriptors();
  }
  EXPECT_EQ(open[2], open[1]);  // the first has loaded libfabric
}

TEST(OfiLanes, ThatCannotBeWatchedAreAnError) {
  Result<std::unique_ptr<Network>> net =
      open_fabric({.provider = "tcp;ofi_rxm", .loopback_only = true, .context_endpoints = 1});
  ASSERT_TRUE(net.ok()) << net.status().text();
  static std::vector<std::byte> address;
  address = net.value()->address().value();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int next = dup(STDERR_FILENO);
  close(next);
  const rlimit none{static_cast<rlim_t>(next), limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const auto lookup = +[](int) { return std::span<const std::byte>(address); };
  EXPECT_EQ(net.value()->connect(0, 1, lookup, nullptr).text(), "no descriptors are left: check ulimit -n");
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(OfiLanes, ShareTheFirstEndpointWhereNoOtherCanBeOpened) {
  run_job({.context_endpoints = 4}, [](Pe& pe) {
    add_one(pe.channel, 1 - pe.me, 8);  // connects
    pe.quiet();
    pe.barrier();
    Channel* channels[3];
    for (Channel*& channel : channels) channel = pe.net->open_channel(ChannelUse::parallel);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{3, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    for (Channel* channel : channels) add_one(channel, 1 - pe.me, 0);
    setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(engines(pe), 1);
    for (Channel* channel : channels) {
      std::uint64_t old = 0;
      Completion done;
      channel->ops->get(channel, 1 - pe.me, &old, Pe::at(8), sizeof old, &done);
      pe.until([&] { return done.done(); });
      EXPECT_EQ(old, 1U);
      quiet(pe, channel);
      pe.net->close_channel(channel);
    }
    pe.barrier();
    EXPECT_EQ(word(pe, 0), 3U);
  });
}

TEST(OfiLanes, FewDescriptorsMeanFewEndpoints) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit few{96, limit.rlim_max};
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);  // inherited: 24 for connections, 6 for each PE
  run_job({.npes = 4, .context_endpoints = 8}, [](Pe& pe) {
    Channel* channels[10];
    for (Channel*& channel : channels) {
      channel = pe.net->open_channel(ChannelUse::parallel);
      add_one(channel, pe.me, 0);
    }
    EXPECT_EQ(engines(pe), 1 + 6);
    for (Channel* channel : channels) pe.net->close_channel(channel);
    pe.barrier();
  });
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// Three threads a PE, each way at once, each on its own lane; a get sees what the thread's own put stored.
TEST(OfiLanes, ThreadsStreamOnTheirOwn) {
  const unsigned seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  run_job({.seconds = 120, .max_transfer = 30000, .context_endpoints = 3}, [seed](Pe& pe) {
    constexpr int kThreads = 3, kRounds = 60;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&pe, t, seed] {
        std::mt19937 random(seed + static_cast<unsigned>(10 * pe.me + t));
        const int to = 1 - pe.me;
        const auto place = static_cast<std::uint64_t>(t + 1) << 20;
        Channel* channel = pe.net->open_channel(ChannelUse::parallel);
        for (int round = 0; round < kRounds; ++round) {
          std::vector<std::byte> out(1 + random() % 100000), in(out.size());
          for (std::byte& b : out) b = static_cast<std::byte>(random());
          channel->ops->put(channel, to, Pe::at(place), out.data(), out.size(), false, nullptr);
          for (int i = 0; i < 20; ++i) add_one(channel, to, 0);
          quiet(pe, channel);
          Completion done;
          channel->ops->get(channel, to, in.data(), Pe::at(place), in.size(), &done);
          pe.until([&] { return done.done(); });
          EXPECT_TRUE(in == out) << "thread " << t << " round " << round;
        }
        quiet(pe, channel);
        pe.net->close_channel(channel);
      });
    }
    for (std::thread& thread : threads) thread.join();
    pe.barrier();
    EXPECT_EQ(engines(pe), 1 + kThreads);
    EXPECT_EQ(word(pe, 0), std::uint64_t{kThreads} * kRounds * 20);
  });
}

// A thread posts and never polls; one that has posted nothing itself sleeps, and completes it.
TEST(OfiLanes, WhatAThreadLeavesBehindIsCompletedBySleepers) {
  run_job({.context_endpoints = 1}, [](Pe& pe) {
    std::atomic<bool> stop{false};
    std::thread agent([&] {
      while (!stop) {
        if (pe.net->poll() || !pe.net->may_block()) continue;
        pollfd descriptor{pe.net->wait_fd(), POLLIN, 0};
        poll(&descriptor, 1, 200);
      }
    });
    if (pe.me == 0) {
      Channel* channel = pe.net->open_channel(ChannelUse::parallel);
      std::vector<std::byte> data(8 << 20, std::byte{7});
      for (int i = 0; i < 20; ++i) {
        channel->ops->put(channel, 1, Pe::at(64), data.data(), data.size(), false, nullptr);
        add_one(channel, 1, 0);
        const auto start = std::chrono::steady_clock::now();
        while (!channel->ops->idle(channel)) usleep(50);
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
      }
      pe.net->close_channel(channel);
      shared->words[0] = 1;
    }
    while (shared->words[0].load() == 0) usleep(1000);
    stop = true;
    agent.join();
    pe.barrier();
    EXPECT_EQ(word(pe, 0), pe.me == 1 ? 20U : 0U);
  });
}

// A thread that waits for its lane also serves the peers of this PE, asleep or not.
TEST(OfiLanes, SleepersOnALaneServePeersAndMissNothing) {
  run_job({.seconds = 120, .context_endpoints = 1}, [](Pe& pe) {
    Channel* channel = pe.net->open_channel(ChannelUse::parallel);
    int missed = 0;
    const auto sleep_until = [&](auto done) {
      while (!done()) {
        if (pe.net->poll() || !pe.net->may_block() || done()) continue;
        pollfd descriptor{pe.net->wait_fd(), POLLIN, 0};
        if (poll(&descriptor, 1, 1000) == 0) ++missed;
      }
    };
    std::vector<std::byte> data(1 << 20);
    for (std::size_t size : {std::size_t{8}, std::size_t{5000}, data.size()}) {
      for (int i = 0; i < 30; ++i) {
        Completion put, get;
        channel->ops->put(channel, 1 - pe.me, Pe::at(64), data.data(), size, false, &put);
        sleep_until([&] { return put.done(); });
        channel->ops->get(channel, 1 - pe.me, data.data(), Pe::at(64), size, &get);
        sleep_until([&] { return get.done(); });
      }
    }
    EXPECT_EQ(missed, 0);
    pe.net->close_channel(channel);
    shared->words[0].fetch_add(1);
    pe.until([&] { return shared->words[0].load() == 2; });
  });
}

std::vector<int> received;

TEST(OfiLanes, MessagesOfAParallelChannelStayInOrder) {
  const auto sink = [](int, std::uint16_t, const std::byte* message, std::size_t) {
    int number;
    std::memcpy(&number, message, sizeof number);
    received.push_back(number);
  };
  run_job({.context_endpoints = 1, .sink = sink}, [](Pe& pe) {
    constexpr int kMessages = 500;
    Channel* channel = pe.net->open_channel(ChannelUse::parallel);
    for (int i = 0; i < kMessages; ++i) {
      channel->ops->send(channel, 1 - pe.me, 0, &i, sizeof i);
      if (i % 7 == 0) add_one(channel, 1 - pe.me, 0);
      if (i % 11 == 0) add_one(channel, pe.me, 8);  // to itself: by the CPU
    }
    quiet(pe, channel);
    pe.until([&] { return received.size() == kMessages; });
    for (int i = 0; i < kMessages; ++i) EXPECT_EQ(received[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(word(pe, 8), 46U);
    pe.barrier();
    pe.net->close_channel(channel);
  });
}

}  // namespace
}  // namespace shm::test

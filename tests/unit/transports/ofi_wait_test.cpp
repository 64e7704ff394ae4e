// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on the network's descriptor: what wakes it, how soon, and what it costs to be idle.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "pair.hpp"

namespace shm::test {
namespace {

// As the agent does, without its spin: polls while there is work, else sleeps.  may_block() may itself store
// what a peer sent, so the condition is looked at between it and the sleep.  It sleeps for far longer than
// anybody needs to answer, whatever max_block_us() says: that is for what no event tells of.
struct Sleeper {
  static constexpr int kLongMs = 10000;
  Network* net;
  int wake_fd = -1;  // readable: the condition has changed
  int sleeps = 0;
  int missed = 0;  // sleeps that nothing ended, and then there was work; a peer that is slow is no miss

  template <class Done>
  void until(Done done, std::atomic<std::int64_t>* about_to_sleep = nullptr) {
    while (!done()) {
      if (net->poll() || !net->may_block() || done()) continue;
      if (about_to_sleep != nullptr) about_to_sleep->store(1);
      pollfd descriptors[] = {{net->wait_fd(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
      ++sleeps;
      if (poll(descriptors, 2, kLongMs) == 0 && (net->poll() || done())) ++missed;
    }
  }
};

// In Shared::words: PE 1 sleeps, or is about to; PE 0 is about to do what it waits for.
constexpr std::size_t kSleeps = 1, kWakes = 2;

// Waits for a peer to change the word, and expects to sleep until it does, and that no sleep misses it.
void sleep_until_set(Pe& pe, const std::uint64_t* word) {
  Sleeper sleeper{pe.net};
  int looks = 0;  // when it had slept, and nobody had done anything
  const auto done = [&] {
    if (sleeper.sleeps != 0 && shared->words[kWakes].load() == 0) ++looks;
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
  };
  sleeper.until(done, &shared->words[kSleeps]);
  EXPECT_LE(looks, 10) << sleeper.sleeps << " sleeps";
  EXPECT_EQ(sleeper.missed, 0);
}

// Adds to a word of the PE once it sleeps, or is about to.
void add_when_asleep(Pe& pe) {
  while (shared->words[kSleeps].load() == 0) usleep(1000);
  usleep(20000);  // for whoever does not sleep to look ever again
  shared->words[kWakes].store(1);
  const std::uint64_t one = 1;
  Completion done;
  const auto start = std::chrono::steady_clock::now();
  pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, &done);
  pe.until([&] { return done.done(); });
  std::printf("an atomic on a sleeping PE: %.2f ms\n",
              std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
}

TEST(OfiWait, AnIdleThreadBurnsNothingAndIsWokenByTheFirstContact) {
  for (int round = 0; round < 3; ++round) {
    run_job({}, [](Pe& pe) {
      if (pe.me == 1) sleep_until_set(pe, reinterpret_cast<std::uint64_t*>(pe.heap));
      if (pe.me == 0) add_when_asleep(pe);
      pe.barrier();
    });
  }
}

TEST(OfiWait, ConnectedAndIdleBurnsNothing) {
  run_job({}, [](Pe& pe) {
    const std::uint64_t one = 1;
    pe.ops().amo(pe.channel, 1 - pe.me, Pe::at(8), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                 nullptr);
    pe.quiet();
    pe.barrier();
    if (pe.me == 1) sleep_until_set(pe, reinterpret_cast<std::uint64_t*>(pe.heap));
    if (pe.me == 0) add_when_asleep(pe);
    pe.barrier();
  });
}

// Everything that both sides wait for, they wait for asleep: answers, and room in full sockets.
TEST(OfiWait, SleepersOnBothSidesMissNothing) {
  run_job({.seconds = 120}, [](Pe& pe) {
    Sleeper sleeper{pe.net};
    std::vector<std::byte> data(4 << 20, std::byte{5});
    const int to = 1 - pe.me;
    for (std::size_t size : {std::size_t{8}, std::size_t{3000}, std::size_t{100000}, data.size()}) {
      for (int i = 0; i < 30; ++i) {
        Completion put, get;
        std::uint64_t old = 0;
        pe.ops().put(pe.channel, to, Pe::at(64), data.data(), size, false, &put);
        sleeper.until([&] { return put.done(); });
        pe.ops().get(pe.channel, to, data.data(), Pe::at(64), size, &get);
        sleeper.until([&] { return get.done(); });
        Completion amo;
        pe.ops().amo(pe.channel, to, Pe::at(0), AtomicOp::fetch, AtomicType::u64, nullptr, nullptr, &old,
                     &amo);
        sleeper.until([&] { return amo.done(); });
      }
    }
    EXPECT_EQ(sleeper.missed, 0) << "of " << sleeper.sleeps;
    shared->words[0].fetch_add(1);
    pe.until([&] { return shared->words[0].load() == 2; });
  });
}

// The thread that posts does not poll; another one sleeps, and must see the answer.
TEST(OfiWait, AThreadIsWokenForWhatAnotherOnePosted) {
  run_job({}, [](Pe& pe) {
    std::atomic<bool> stop{false};
    Sleeper sleeper{pe.net, eventfd(0, EFD_CLOEXEC)};
    std::thread agent([&] { sleeper.until([&] { return stop.load(); }); });
    if (pe.me == 0) {
      const std::uint64_t one = 1;
      for (int i = 0; i < 200; ++i) {
        Completion done;
        pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, &done);
        while (!done.done()) usleep(20);
        if (i % 20 == 0) usleep(20000);
      }
      shared->words[0] = 1;
    }
    while (shared->words[0].load() == 0) usleep(1000);
    stop = true;
    EXPECT_EQ(eventfd_write(sleeper.wake_fd, 1), 0);
    agent.join();
    close(sleeper.wake_fd);
    EXPECT_EQ(sleeper.missed, 0) << "of " << sleeper.sleeps;
  });
}

}  // namespace
}  // namespace shm::test

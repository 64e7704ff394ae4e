// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on the network's descriptor: what wakes it, how soon, and what it costs to be idle.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <thread>

#include "pair.hpp"

namespace shm::test {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

double cpu_milliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// As the agent does, without its spin: polls while there is work, else sleeps; counts sleeps that no event
// ended. may_block() may itself store what a peer sent, so the condition is looked at between it and the
// sleep.
struct Sleeper {
  Network* net;
  int missed = 0;
  int sleeps = 0;

  template <class Done>
  void until(Done done, int limit_ms = 3000) {
    while (!done()) {
      if (net->poll() || !net->may_block() || done()) continue;
      pollfd descriptor{net->wait_fd(), POLLIN, 0};
      const long limit_us = net->max_block_us();
      const long sleep_ms = limit_us < 0 ? limit_ms : std::min<long>(limit_ms, limit_us / 1000);
      ++sleeps;
      if (poll(&descriptor, 1, static_cast<int>(sleep_ms)) == 0) ++missed;
    }
  }
};

// Waits for a peer to change the word, and expects that this costs next to no CPU and that no sleep missed
// it.
void sleep_cheaply_until_set(Pe& pe, const std::uint64_t* word) {
  Sleeper sleeper{pe.net};
  const double before = cpu_milliseconds();
  sleeper.until([&] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0; });
  EXPECT_LT(cpu_milliseconds() - before, 20) << sleeper.sleeps << " sleeps";
  EXPECT_EQ(sleeper.missed, 0);
}

TEST(OfiWait, AnIdleThreadBurnsNothingAndIsWokenByTheFirstContact) {
  for (int round = 0; round < 5; ++round) {
    run_job({}, [](Pe& pe) {
      auto* word = reinterpret_cast<std::uint64_t*>(pe.heap);
      if (pe.me == 1) {
        sleep_cheaply_until_set(pe, word);
      } else {
        usleep(400000);
        const std::uint64_t one = 1;
        Completion done;
        const auto start = Clock::now();
        pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, &done);
        pe.until([&] { return done.done(); });
        EXPECT_LT(milliseconds(Clock::now() - start), 200);  // an unnoticed request would wait for ever
        std::printf("first contact with a sleeping PE: %.2f ms\n", milliseconds(Clock::now() - start));
      }
      pe.barrier();
    });
  }
}

TEST(OfiWait, ConnectedAndIdleBurnsNothing) {
  run_job({}, [](Pe& pe) {
    auto* word = reinterpret_cast<std::uint64_t*>(pe.heap);
    const std::uint64_t one = 1;
    pe.ops().amo(pe.channel, 1 - pe.me, Pe::at(8), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                 nullptr);
    pe.quiet();
    pe.barrier();
    if (pe.me == 1) {
      sleep_cheaply_until_set(pe, word);
    } else {
      usleep(500000);
      pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, nullptr);
      pe.quiet();
    }
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
    Sleeper sleeper{pe.net};
    std::thread agent([&] { sleeper.until([&] { return stop.load(); }, 500); });
    if (pe.me == 0) {
      const std::uint64_t one = 1;
      for (int i = 0; i < 200; ++i) {
        Completion done;
        const auto start = Clock::now();
        pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, &done);
        while (!done.done()) usleep(20);
        EXPECT_LT(milliseconds(Clock::now() - start), 200);
        if (i % 20 == 0) usleep(20000);
      }
      shared->words[0] = 1;
    }
    while (shared->words[0].load() == 0) usleep(1000);
    stop = true;
    agent.join();
  });
}

}  // namespace
}  // namespace shm::test

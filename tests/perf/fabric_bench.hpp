// SPDX-License-Identifier: BSD-3-Clause
// The measurements that bare_fabric.cpp and net_ops.cpp share: two processes, of which 0 initiates and 1
// serves.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;
inline constexpr std::size_t kHeap = std::size_t{64} << 20;
inline constexpr int kRepeats = 7;
inline constexpr std::size_t kRing = 2048;  // offset of the word by which the sides answer each other

/// Between the processes, outside the network.
struct Shared {
  std::atomic<int> arrived;
  std::atomic<int> stop;
  char address[2][256];

  /// REQUIRES: called by both; does not make progress.
  void barrier() {
    static int round = 0;
    const int target = 2 * ++round;
    arrived.fetch_add(1);
    while (arrived.load() < target) usleep(100);
  }
};

inline double seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

/// Seconds that `work` takes: the median or the least of kRepeats.
template <class Work>
double measure(bool median, Work work) {
  std::vector<double> times;
  work();
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    work();
    times.push_back(seconds(start));
  }
  std::sort(times.begin(), times.end());
  return median ? times[times.size() / 2] : times.front();
}

/// The initiator.  `Side` offers put, get, add, poll_once, idle, outstanding, and word, which reads its own
/// memory.
template <class Side>
void initiate(const std::string& prefix, Side& side, bool answered) {
  const auto print = [&](const char* name, double value, const char* unit) {
    std::printf("%s%s %.3f %s\n", prefix.c_str(), name, value, unit);
    std::fflush(stdout);
  };
  const auto wait = [&] {
    while (!side.idle()) side.poll_once();
  };
  std::vector<char> buffer(std::size_t{4} << 20);
  std::uint64_t one = 1, old = 0;
  constexpr int kPings = 500;
  const auto latency = [&](const char* name, auto post) {
    const double time = measure(true, [&] {
      for (int i = 0; i < kPings; ++i) {
        post();
        wait();
      }
    });
    print(name, time / kPings * 1e6, "us");
  };
  const auto stream = [&](const char* name, int count, int window, double unit, const char* unit_name,
                          auto post) {
    const double time = measure(false, [&] {
      for (int i = 0; i < count; ++i) {
        while (side.outstanding() >= window) side.poll_once();
        post();
      }
      wait();
    });
    print(name, count / time * unit, unit_name);
  };
  latency("put_8", [&] { side.put(0, &one, 8); });
  latency("put_2048", [&] { side.put(4096, buffer.data(), 2048); });
  latency("put_4096", [&] { side.put(4096, buffer.data(), 4096); });
  latency("get_8", [&] { side.get(&old, 0, 8); });
  latency("fetch_add", [&] { side.add(0, &one, &old); });
  std::uint64_t rung = 0;
  if (answered)
    latency("round_trip", [&] {
      ++rung;
      side.put(kRing, &rung, 8);
      while (side.word(kRing) != rung) side.poll_once();
    });
  latency("get_256k_alone", [&] { side.get(buffer.data(), 4096, std::size_t{256} << 10); });
  stream("put_8_stream", 5000, 64, 1e-6, "M/s", [&] { side.put(0, &one, 8); });
  stream("get_8_stream", 5000, 64, 1e-6, "M/s", [&] { side.get(&old, 0, 8); });
  for (const std::size_t n : {256, 512, 1024, 2048, 4096, 8192}) {
    const std::string name = "put_" + std::to_string(n) + "_stream";
    stream(name.c_str(), 5000, 64, 1e-6, "M/s", [&, n] { side.put(4096, buffer.data(), n); });
  }
  stream("add_stream", 5000, 64, 1e-6, "M/s", [&] { side.add(0, &one, nullptr); });
  stream("fetch_add_stream", 5000, 64, 1e-6, "M/s", [&] { side.add(0, &one, &old); });
  stream("put_64k", 1000, 16, 65536e-9, "GB/s", [&] { side.put(4096, buffer.data(), 65536); });
  stream("get_64k", 1000, 16, 65536e-9, "GB/s", [&] { side.get(buffer.data(), 4096, 65536); });
  stream("put_1m", 100, 4, 1048576e-9, "GB/s", [&] { side.put(4096, buffer.data(), 1048576); });
  stream("get_1m", 100, 4, 1048576e-9, "GB/s", [&] { side.get(buffer.data(), 4096, 1048576); });
}

/// Pages of 256 KiB, 1 and 2 MiB, one after the other, each transfer from and to memory that was not used
/// lately; what they take whole, and in pieces of 256 KiB that are under way together.
template <class Side>
void initiate_pages(Side& side) {
  constexpr std::size_t kMiB = std::size_t{1} << 20, kPiece = kMiB / 4;
  auto* const memory = static_cast<char*>(std::aligned_alloc(2 * kMiB, kHeap));
  madvise(memory, kHeap, MADV_HUGEPAGE);
  std::fill_n(memory, kHeap, 1);
  const auto wait = [&] {
    while (!side.idle()) side.poll_once();
  };
  for (const std::size_t page : {kPiece, kMiB, 2 * kMiB}) {
    for (const bool puts : {false, true}) {
      for (const bool whole : {true, false}) {
        const std::size_t piece = whole ? page : kPiece, count = kHeap / page;
        const double time = measure(true, [&] {
          for (std::size_t at = 0; at < kHeap; at += piece) {
            puts ? side.put(at, memory + at, piece) : side.get(memory + at, at, piece);
            if ((at + piece) % page == 0) wait();
          }
        });
        std::printf("%s_%zuk_%s %.3f us\n", puts ? "put" : "get", page / 1024, whole ? "whole" : "pieces",
                    time / static_cast<double>(count) * 1e6);
      }
    }
  }
  std::free(memory);
}

/// Answers each new value of its word by the same one.
template <class Side>
void answer_rings(Shared& shared, Side& side) {
  std::uint64_t seen = 0;
  while (shared.stop == 0) {
    side.poll_once();
    const std::uint64_t word = side.word(kRing);
    if (word == seen) continue;
    seen = word;
    side.put(kRing, &seen, 8);
  }
}

/// One process of a pair.  A target whose main thread does not poll computes, and answers nothing.
template <class Side>
void play(Shared& shared, int me, const std::string& prefix, const std::string& mode, Side& side) {
  if (me == 0) {
    mode == "pages" ? initiate_pages(side) : initiate(prefix, side, mode == "poll");
    shared.stop = 1;
    return;
  }
  if (mode == "poll" || mode == "pages") return answer_rings(shared, side);
  std::thread agent;
  if (mode == "agent") agent = std::thread([&] { side.serve_until(shared.stop); });
  volatile std::uint64_t computed = 0;
  while (shared.stop == 0) {
    for (int i = 0; i < 1000; ++i) computed = computed + static_cast<std::uint64_t>(i);
  }
  if (agent.joinable()) agent.join();
}

/// Runs `pair(shared, me, mode)` in two processes for each mode asked for.
template <class Pair>
int run(int argc, char** argv, const std::vector<std::string>& modes, Pair pair) {
  std::vector<std::string> chosen(argv + 1, argv + argc);
  if (chosen.empty()) chosen = modes;
  for (const std::string& mode : chosen) {
    auto* shared = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    for (int me = 0; me < 2; ++me) {
      if (fork() != 0) continue;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      alarm(300);
      pair(*shared, me, mode);
      std::fflush(stdout);
      _exit(0);
    }
    bool failed = false;
    for (int status = 0; wait(&status) > 0;) failed |= status != 0;
    if (failed) return 1;
  }
  return 0;
}

}  // namespace bench

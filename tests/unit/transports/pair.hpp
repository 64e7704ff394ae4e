// SPDX-License-Identifier: BSD-3-Clause
// Runs a test body in several forked processes that are connected by the libfabric network over loopback.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "net.hpp"
#include "ofi/fabric.hpp"

namespace shm::test {

inline constexpr int kMaxPes = 4;
inline constexpr std::size_t kHeap = std::size_t{16} << 20;

/// What the processes share outside the network.  Zero-initialised by mmap.
struct Shared {
  std::atomic<int> arrived;
  std::atomic<int> published;
  std::atomic<std::int64_t> words[64];  // for the test
  std::byte addresses[kMaxPes][kMaxAddress];
  std::size_t lengths[kMaxPes];
};

inline Shared* shared = nullptr;

/// One PE of a test: its network, one channel, its heap (16 MiB of zeros) and static segment (the last MiB).
struct Pe {
  int me;
  int npes;
  Network* net;
  Channel* channel;
  std::byte* heap;

  const NetOps& ops() const { return *channel->ops; }
  static RemoteAddress at(std::uint64_t offset) { return {SegmentId::heap, offset}; }

  /// Polls, yielding between polls, until `done`.
  template <class Done>
  void until(Done done) const {
    for (int polls = 0; !done(); ++polls) {
      if (!net->poll() && polls > 20) sched_yield();
    }
  }
  void quiet() const {
    ops().flush(channel);
    until([&] { return ops().idle(channel); });
  }
  /// All PEs; makes progress meanwhile.
  void barrier() const {
    static int round = 0;
    const int target = ++round * npes;
    shared->arrived.fetch_add(1);
    until([&] { return shared->arrived.load() >= target; });
  }
};

using Body = std::function<void(Pe&)>;

struct JobOptions {
  int npes = 2;
  int seconds = 60;  // then the processes are killed and the test fails
  std::size_t max_transfer = 0;
  unsigned context_endpoints = 0;
  unsigned inbox_rings = 0;
  MessageSink sink = [](int, std::uint16_t, const std::byte*, std::size_t) {};
};

/// Runs the child's part and returns its exit code.
inline int run_pe(int me, const JobOptions& options, const Body& body) {
  Result<std::unique_ptr<Network>> net = open_fabric({.provider = "tcp;ofi_rxm",
                                                      .loopback_only = true,
                                                      .max_transfer = options.max_transfer,
                                                      .context_endpoints = options.context_endpoints,
                                                      .inbox_rings = options.inbox_rings});
  if (!net.ok()) {
    std::fprintf(stderr, "%s\n", net.status().text().c_str());
    return 2;
  }
  auto* heap = static_cast<std::byte*>(
      mmap(nullptr, kHeap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Network& network = *net.value();
  EXPECT_TRUE(network.add_segment(SegmentId::heap, heap, kHeap).ok());
  EXPECT_TRUE(network.add_segment(SegmentId::statics, heap + kHeap - (1 << 20), 1 << 20).ok());
  Result<std::vector<std::byte>> address = network.address();
  EXPECT_TRUE(address.ok());
  std::memcpy(shared->addresses[me], address.value().data(), address.value().size());
  shared->lengths[me] = address.value().size();
  shared->published.fetch_add(1);
  while (shared->published.load() < options.npes) usleep(100);
  auto lookup =
      +[](int pe) { return std::span<const std::byte>(shared->addresses[pe], shared->lengths[pe]); };
  EXPECT_TRUE(network.connect(me, options.npes, lookup, options.sink).ok());
  Pe pe{me, options.npes, &network, network.open_channel(), heap};
  body(pe);
  pe.quiet();
  pe.barrier();
  network.close_channel(pe.channel);
  return ::testing::Test::HasFailure() ? 1 : 0;
}

/// Runs `body` in options.npes processes; returns their wait statuses.  All are gone on return.
inline std::vector<int> run_processes(const JobOptions& options, const Body& body) {
  // The parent loads the library, so that the children need not.
  static const bool loaded = open_fabric({.loopback_only = true}).ok();
  EXPECT_TRUE(loaded);
  shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (int pe = 0; pe < options.npes; ++pe) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(static_cast<unsigned>(options.seconds));
      const int code = run_pe(pe, options, body);
      std::fflush(nullptr);
      _exit(code);
    }
    children.push_back(child);
  }
  std::vector<int> statuses;
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    statuses.push_back(status);
  }
  munmap(shared, sizeof(Shared));
  return statuses;
}

/// As above, and expects all to succeed.
inline void run_job(const JobOptions& options, const Body& body) {
  const std::vector<int> statuses = run_processes(options, body);
  for (std::size_t pe = 0; pe < statuses.size(); ++pe) {
    EXPECT_EQ(statuses[pe], 0) << "PE " << pe
                               << (WIFSIGNALED(statuses[pe]) ? " was killed (timeout?)" : " failed");
  }
}

}  // namespace shm::test

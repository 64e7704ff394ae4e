// SPDX-License-Identifier: BSD-3-Clause
// Several PEs in one process, connected by libfabric: a test decides who polls, and when.
#pragma once

#include <atomic>
#include <thread>

#include "loop_job.hpp"
#include "ofi/network.hpp"

namespace shm::test {

inline FabricOptions loopback() { return {.provider = "tcp;ofi_rxm", .loopback_only = true}; }

class FabricJob : public Job {
 public:
  FabricJob(int npes, std::size_t words, const MessageSink& sink, const FabricOptions& options = loopback())
      : Job(npes, words, sink, [&options](int) { return std::move(open_fabric(options).value()); }) {}

  const ofi::Engine& engine(std::size_t pe) const {
    return static_cast<const ofi::FabricNetwork&>(*pes[pe].net).lanes().first();
  }

  /// From PE 0 to PE 1, as no engine would.
  void send_raw(const void* message, std::size_t n) {
    const ofi::Engine& from = engine(0);
    while (fi_inject(from.endpoint().ep(), message, n, from.peer(1).address) == -FI_EAGAIN) poll_all();
  }

  /// Connects each PE to each other.  Until then posting waits for the other PE to poll; from here on one
  /// thread will do for all.
  void meet() {
    std::atomic<bool> met{false};
    std::thread agents([&] {
      while (!met.load()) {
        poll_all();
        std::this_thread::yield();
      }
    });
    const std::uint64_t nothing = 0;
    for (LoopPe& pe : pes) {
      for (std::size_t to = 0; to < pes.size(); ++to) {
        if (&pe != &pes[to])
          pe.ops().put(pe.channel, static_cast<int>(to), LoopPe::word(0), &nothing, 8, true, nullptr);
      }
    }
    for (LoopPe& pe : pes) quiet(pe);
    met.store(true);
    agents.join();
  }
};

}  // namespace shm::test

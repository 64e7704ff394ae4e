// SPDX-License-Identifier: BSD-3-Clause
// Several PEs in one process, connected by the loop network, by one wrapped around it, or by libfabric.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "loop.hpp"
#include "net.hpp"
#include "seed.hpp"

namespace shm::test {

inline std::vector<std::vector<std::byte>> job_addresses;

/// One PE: its network, a channel, its heap.
struct LoopPe {
  std::vector<std::uint64_t> heap;  // which the network may write to as long as it lives
  std::unique_ptr<Network> net;
  Channel* channel = nullptr;

  const NetOps& ops() const { return *channel->ops; }
  static RemoteAddress word(std::size_t index) { return {SegmentId::heap, index * 8}; }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(heap.data()); }
};

/// PE numbers are those of the networks.  One job at a time.
class Job {
 public:
  using Open = std::function<std::unique_ptr<Network>(int pe)>;

  Job(int npes, std::size_t words, const MessageSink& sink, const Open& open) : pes(npes) {
    job_addresses.clear();
    for (int pe = 0; pe < npes; ++pe) {
      LoopPe& self = pes[static_cast<std::size_t>(pe)];
      self.net = open(pe);
      self.heap.resize(words);
      EXPECT_TRUE(self.net->add_segment(SegmentId::heap, self.heap.data(), words * 8).ok());
      job_addresses.push_back(std::move(self.net->address().value()));
    }
    for (int pe = 0; pe < npes; ++pe) {
      LoopPe& self = pes[static_cast<std::size_t>(pe)];
      const auto lookup =
          +[](int of) { return std::span<const std::byte>(job_addresses[static_cast<std::size_t>(of)]); };
      EXPECT_TRUE(self.net->connect(pe, npes, lookup, sink).ok());
      self.channel = self.net->open_channel();
    }
  }
  ~Job() {
    for (LoopPe& pe : pes) {
      quiet(pe);
      pe.net->close_channel(pe.channel);
    }
  }

  void poll_all() {
    for (LoopPe& pe : pes) pe.net->poll();
  }
  void quiet(LoopPe& pe) {
    pe.ops().flush(pe.channel);
    while (!pe.ops().idle(pe.channel)) poll_all();
  }

  std::vector<LoopPe> pes;
};

/// Over the loop network; `wrap` makes of each the one to use.
class LoopJob : public Job {
 public:
  using Wrap = std::function<std::unique_ptr<Network>(std::unique_ptr<Network>, int pe)>;

  LoopJob(int npes, std::size_t words, const MessageSink& sink, const Wrap& wrap = nullptr)
      : Job(npes, words, sink, [fabric = make_loop_fabric(), &wrap](int pe) {
          std::unique_ptr<Network> net = open_loop(fabric);
          return wrap ? wrap(std::move(net), pe) : std::move(net);
        }) {}
};

}  // namespace shm::test

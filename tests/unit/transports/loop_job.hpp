// SPDX-License-Identifier: BSD-3-Clause
// Several PEs in one process, connected by the loop network, or by one wrapped around it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "loop/loop.hpp"
#include "net.hpp"

namespace shm::test {

inline std::vector<std::vector<std::byte>> loop_addresses;

/// One PE: its network, a channel, its heap.
struct LoopPe {
  std::unique_ptr<Network> net;
  Channel* channel = nullptr;
  std::vector<std::uint64_t> heap;

  const NetOps& ops() const { return *channel->ops; }
  static RemoteAddress word(std::size_t index) { return {SegmentId::heap, index * 8}; }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(heap.data()); }
};

/// `wrap` makes of each loop network the one to use.  One job at a time.
class LoopJob {
 public:
  using Wrap = std::function<std::unique_ptr<Network>(std::unique_ptr<Network>, int pe)>;

  LoopJob(int npes, std::size_t words, MessageSink sink, const Wrap& wrap = nullptr) : pes(npes) {
    const auto fabric = make_loop_fabric();
    loop_addresses.clear();
    for (int pe = 0; pe < npes; ++pe) {
      LoopPe& self = pes[static_cast<std::size_t>(pe)];
      self.net = open_loop(fabric);
      if (wrap) self.net = wrap(std::move(self.net), pe);
      self.heap.resize(words);
      EXPECT_TRUE(self.net->add_segment(SegmentId::heap, self.heap.data(), words * 8).ok());
      loop_addresses.push_back(std::move(self.net->address().value()));
    }
    for (int pe = 0; pe < npes; ++pe) {
      LoopPe& self = pes[static_cast<std::size_t>(pe)];
      const auto lookup =
          +[](int of) { return std::span<const std::byte>(loop_addresses[static_cast<std::size_t>(of)]); };
      EXPECT_TRUE(self.net->connect(pe, npes, lookup, sink).ok());
      self.channel = self.net->open_channel();
    }
  }
  ~LoopJob() {
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

}  // namespace shm::test

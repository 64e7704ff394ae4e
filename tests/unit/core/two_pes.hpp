// SPDX-License-Identifier: BSD-3-Clause
// The runtime of PE 0 of two, which the loop network connects.
#pragma once

#include "core/progress.hpp"
#include "core/runtime.hpp"
#include "transports/nic_job.hpp"

namespace shm::test {

class TwoPes : public ::testing::Test {
 protected:
  explicit TwoPes(const LoopJob::Wrap& wrap = nullptr)
      : job(2, 256, ignore, wrap), progress(*job.pes[0].net, job.pes[0].channel, 0) {
    rt.npes = 2;
    rt.me = 0;
    rt.network = job.pes[0].net.get();
    rt.progress = &progress;
  }
  ~TwoPes() override {
    stop_.store(true);
    if (agent_.joinable()) agent_.join();
    rt.progress = nullptr;
    rt.network = nullptr;
    rt.npes = 0;
    rt.me = -1;
  }

  // Lets PE 1 answer.
  void start_agent() {
    agent_ = std::thread([this] {
      while (!stop_.load()) {
        if (!job.pes[1].net->poll()) std::this_thread::yield();
      }
    });
  }

  // A word of PE 1, and a put to it that the network has yet to make.
  std::uint64_t& word(std::size_t index) { return job.pes[1].heap[index]; }
  static void put(Channel* channel, std::size_t index, const std::uint64_t& value) {
    channel->ops->put(channel, 1, LoopPe::word(index), &value, 8, true, nullptr);
  }

  LoopJob job;
  Progress progress;

 private:
  std::atomic<bool> stop_{false};
  std::thread agent_;
};

}  // namespace shm::test

// SPDX-License-Identifier: BSD-3-Clause
// A network that takes everything and says that it is done.  What is sent, and what a poll does, a target may
// look at, or do.
#pragma once

#include <cstring>
#include <functional>

#include "fuzz.hpp"
#include "tests/one_channel_network.hpp"

namespace shm::fuzz {

class SinkNetwork final : public OneChannelNetwork {
 public:
  std::function<void(int pe, std::uint16_t id, const Bytes& message)> on_send;
  std::function<bool()> on_poll;
  bool poll() override { return on_poll && on_poll(); }

 private:
  void put(RemoteAddress, const void*, std::size_t, Completion* completion) override {
    if (completion != nullptr) completion->set_done();
  }
  void get(void* dest, RemoteAddress, std::size_t n, Completion* completion) override {
    std::memset(dest, 0, n);
    if (completion != nullptr) completion->set_done();
  }
  void send(int pe, std::uint16_t id, Bytes message) override {
    if (on_send) on_send(pe, id, message);
  }
};

}  // namespace shm::fuzz

// SPDX-License-Identifier: BSD-3-Clause
// Carries out what other nodes ask of tables on NVM: in a thread of its own, as a message handler must not
// wait for the pages that this needs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace shm::kv {

/// Thread safety: all of it.
class Executor {
 public:
  using CarryOut = std::function<void(int from, const std::byte* packet, std::size_t n)>;

  /// Throws std::system_error if there are no threads left.
  explicit Executor(CarryOut carry_out);
  /// REQUIRES: rest() would not wait.
  ~Executor();

  /// Has the packet carried out, after those before it.  Neither waits nor polls.
  void add(int from, const std::byte* packet, std::size_t n);
  /// Waits until all that has been added is done.
  void rest();

 private:
  struct Packet {
    int from;
    std::vector<std::byte> bytes;
  };
  void run();

  const CarryOut carry_out_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Packet> packets_ GUARDED_BY(mutex_);  // the first is being carried out
  bool ends_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace shm::kv

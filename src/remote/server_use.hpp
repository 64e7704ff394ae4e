// SPDX-License-Identifier: BSD-3-Clause
// What PEs have had of one memory server, counted by them: it does not take part in reads and writes.
#pragma once

#include <atomic>
#include <cstdint>

namespace shm::remote {

struct ServerUse {
  std::uint64_t lent = 0;  // bytes, the most at a time
  std::uint64_t reads = 0, read_bytes = 0;
  std::uint64_t writes = 0, write_bytes = 0;
  bool operator==(const ServerUse&) const = default;
};

/// Thread safety: any thread, also in a signal handler.
class ServerUseCounter {
 public:
  void lease(std::uint64_t bytes) {
    const std::uint64_t now = lent_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    for (std::uint64_t most = most_.load(std::memory_order_relaxed);
         most < now && !most_.compare_exchange_weak(most, now, std::memory_order_relaxed);) {
    }
  }
  void give_back(std::uint64_t bytes) { lent_.fetch_sub(bytes, std::memory_order_relaxed); }
  void read(std::uint64_t bytes) { count(reads_, read_bytes_, bytes); }
  void write(std::uint64_t bytes) { count(writes_, write_bytes_, bytes); }

  ServerUse use() const {
    return {value(most_), value(reads_), value(read_bytes_), value(writes_), value(write_bytes_)};
  }
  /// From now on: what is lent now is the most.
  void begin_anew() {
    for (Count* each : {&reads_, &read_bytes_, &writes_, &write_bytes_})
      each->store(0, std::memory_order_relaxed);
    most_.store(value(lent_), std::memory_order_relaxed);
  }

 private:
  using Count = std::atomic<std::uint64_t>;
  static std::uint64_t value(const Count& from) { return from.load(std::memory_order_relaxed); }
  static void count(Count& times, Count& all, std::uint64_t bytes) {
    times.fetch_add(1, std::memory_order_relaxed);
    all.fetch_add(bytes, std::memory_order_relaxed);
  }
  Count lent_{0}, most_{0}, reads_{0}, read_bytes_{0}, writes_{0}, write_bytes_{0};
};

}  // namespace shm::remote

// SPDX-License-Identifier: BSD-3-Clause
// Which keys of a table are used most, in bounded memory: of a sample of the calls the counts of the most
// frequent keys, by Space-Saving (Metwally et al.): a key that finds no place takes that of the least counted
// one, and its count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "kv/request.hpp"

namespace shm::kv {

/// Thread safety: all of it.  Who holds locks, or handles a message, may call see(): it waits for nobody.
class HotKeys {
 public:
  static constexpr std::size_t kKept = 64;

  struct Counted {
    std::uint64_t hash;
    std::uint64_t count;  // of calls, about; at most so many
    std::vector<std::byte> key;
  };

  /// Begins anew, with one of `one_of` calls.
  void begin(std::uint32_t one_of);
  /// A call, which is counted if it is in the sample; that is lost where somebody is at work here.
  void see(KvOp op, const Key& key) {
    if (!is_of_a_key(op)) return;
    // The fractions of multiples of an irrational number are spread evenly, whatever step one takes.
    const std::uint64_t at = step_.fetch_add(kStep, std::memory_order_relaxed);
    if (at <= limit_.load(std::memory_order_relaxed)) add(key);
  }
  /// The most frequent first.
  std::vector<Counted> most(std::size_t n);

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

  void add(const Key& key);

  std::atomic<std::uint64_t> step_{0}, limit_{~std::uint64_t{0}};
  Mutex mutex_;
  std::vector<Counted> kept_ GUARDED_BY(mutex_);
  std::uint64_t weight_ GUARDED_BY(mutex_) = 1;
};

}  // namespace shm::kv

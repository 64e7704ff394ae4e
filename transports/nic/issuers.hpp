// SPDX-License-Identifier: BSD-3-Clause
// Names for who a reply is for: what travels is a number, and a number that names nobody is found out.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "base/spin.hpp"

namespace shm::nic {

/// Who the reply to a packet is for.
class Issuer {
 public:
  /// PE `pe` has applied the oldest packet to its node that was not acknowledged; `results` of n bytes.
  /// Handler: does not wait.  The issuer may be gone as soon as this has lowered its counters.
  virtual void acknowledge(int pe, const std::byte* results, std::size_t n) = 0;

 protected:
  ~Issuer() = default;
};

/// All issuers of a network.  A name is an index, and how often others have had that index before: a reply
/// that comes after its issuer has gone finds nobody.  Thread safety: any thread.
class Issuers {
 public:
  std::uint64_t add(Issuer& issuer) {
    const LockGuard guard(lock_);
    std::size_t index = 0;
    while (index < entries_.size() && entries_[index].issuer != nullptr) ++index;
    if (index == entries_.size()) entries_.emplace_back();
    entries_[index].issuer = &issuer;
    return std::uint64_t{entries_[index].generation} << 32 | index;
  }

  void remove(std::uint64_t name) {
    const LockGuard guard(lock_);
    Entry& entry = entries_[static_cast<std::uint32_t>(name)];
    entry.issuer = nullptr;
    ++entry.generation;
  }

  /// Null: there is none of that name.  Who has packets under way stays.
  Issuer* find(std::uint64_t name) const {
    const LockGuard guard(lock_);
    const auto index = static_cast<std::uint32_t>(name);
    if (index >= entries_.size() || entries_[index].generation != name >> 32) return nullptr;
    return entries_[index].issuer;
  }

 private:
  struct Entry {
    Issuer* issuer = nullptr;
    std::uint32_t generation = 0;
  };
  mutable SpinLock lock_;
  std::vector<Entry> entries_ GUARDED_BY(lock_);
};

}  // namespace shm::nic

// SPDX-License-Identifier: BSD-3-Clause
// Which allocations are remote, and when Atoll is started for them.
//
//   off        no limit is set, or another process of the program has the memory, or has had it
//   possible   --large static variables, the first large allocation, or the program's own shmem_init-->
//              starting --> here
//   here       --exit, or in a forked child--> over
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remote_malloc {

inline constinit std::atomic<std::size_t> limit{SIZE_MAX};

/// Whether an allocation of `bytes`, at least the limit, is to be remote; the first one starts Atoll.
bool is_for_remote(std::size_t bytes);

/// The question of every allocation.
inline bool wants_remote(std::size_t bytes) {
  return bytes >= limit.load(std::memory_order_relaxed) && is_for_remote(bytes);
}

/// Starts Atoll for static variables, unless it has started or the program does so itself.  Returns whether
/// it has started.
bool start_for_statics();

/// Whether this process has remote memory.
bool here();

/// The memory stays while one of these lives that says that it is here.
class Use {
 public:
  Use();
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  bool here() const { return here_; }

 private:
  bool here_;
};

/// At exit: there is none any more, once nobody uses it.  Returns whether there was.
bool leave();

/// Allocations from `bytes` on are remote.  `waits`: not before the program's own shmem_init.
void enable(std::size_t bytes, bool waits);

}  // namespace remote_malloc

// SPDX-License-Identifier: BSD-3-Clause
#include "kv/memory.hpp"

#include <sched.h>

#include "base/copy_bytes.hpp"
#include "base/spin.hpp"

namespace shm::kv {

// Who changes it waits for nothing, but may have lost its core.
void Mapped::look_again(unsigned looks) const {
  constexpr unsigned kLooksBeforeYield = 64;
  if (looks % kLooksBeforeYield == 0) {
    sched_yield();
  } else {
    cpu_pause();
  }
}

#if !defined(__SANITIZE_THREAD__)

// The fences keep the copy between the looks at the version.
void Mapped::read_bulk(std::uint64_t at, void* to, std::size_t n) const {
  copy_bytes(to, shard_ + at, n);
  std::atomic_thread_fence(std::memory_order_acquire);
}

void Mapped::write_bulk(std::uint64_t at, const void* from, std::size_t n) const {
  std::atomic_thread_fence(std::memory_order_release);
  copy_bytes(shard_ + at, from, n);
}

#else

void Mapped::read_bulk(std::uint64_t, void*, std::size_t) const {}
void Mapped::write_bulk(std::uint64_t, const void*, std::size_t) const {}

#endif

}  // namespace shm::kv

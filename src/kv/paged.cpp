// SPDX-License-Identifier: BSD-3-Clause
#include "kv/paged.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

#include "core/progress.hpp"

namespace shm::kv {

void Paged::look_again(unsigned looks) const {
  constexpr unsigned kLooksBeforeSleep = 256;
  constexpr auto kNap = std::chrono::microseconds(50);  // a page takes about as long to come
  if (rt.progress != nullptr) rt.progress->poll();
  if (looks > kLooksBeforeSleep) {
    std::this_thread::sleep_for(kNap);
  } else {
    sched_yield();
  }
}

}  // namespace shm::kv

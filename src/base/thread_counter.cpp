// SPDX-License-Identifier: BSD-3-Clause
#include "base/thread_counter.hpp"

namespace shm::detail {

__thread long thread_line = -1;

long place_thread() {
  static std::atomic<unsigned> threads{0};
  const long number = threads.fetch_add(1, std::memory_order_relaxed) % ThreadCounter::kThreads;
  return thread_line = number * ThreadCounter::kLine;
}

}  // namespace shm::detail

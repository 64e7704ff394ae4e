// SPDX-License-Identifier: BSD-3-Clause
#include "pages/thread_read_ahead.hpp"

namespace shm::pages {
namespace {

constinit std::atomic<std::size_t> threads{0};

// Initial-exec: in a signal handler no memory can be allocated for it.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::size_t number = 0;  // from 1

}  // namespace

ThreadReadAhead::Use ThreadReadAhead::use(PageNumber page) {
  if (number == 0) number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  Place& place = places_[number % kPlaces];
  // Another thread that has the same place: what it does there is not waited for.
  if (place.taken.exchange(true, std::memory_order_acquire)) return {};
  const Use use{place.read_ahead.use(page), place.read_ahead.awaited()};
  place.taken.store(false, std::memory_order_release);
  return use;
}

}  // namespace shm::pages

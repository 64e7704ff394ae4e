// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_sweeper.hpp"

#include "base/service_thread.hpp"
#include "pages/futex.hpp"

namespace shm::pages {

void LocalSweeper::start() {
  if (runs_.exchange(true)) return;
  thread_ = start_needed_thread("atoll.sweeper", [this] { run(); });
}

void LocalSweeper::stop() {
  if (!runs_.exchange(false)) return;
  bell_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(bell_);
  thread_.join();
}

void LocalSweeper::ring() {
  bell_.fetch_add(1, std::memory_order_seq_cst);  // before the look: pairs with run()
  if (asleep_.load(std::memory_order_seq_cst) != 0) futex_wake(bell_);
}

void LocalSweeper::run() {
  while (runs_.load(std::memory_order_seq_cst)) {
    const std::uint32_t mark = bell_.load(std::memory_order_seq_cst);
    answer_all();
    work_.sweep();
    asleep_.store(1, std::memory_order_seq_cst);
    if (runs_.load(std::memory_order_seq_cst)) futex_wait(bell_, mark);
    asleep_.store(0, std::memory_order_relaxed);
  }
  answer_all();  // nobody waits for ever
}

bool LocalSweeper::ask(PageNumber page, Access access) {
  for (Request& request : requests_) {
    std::uint32_t free = Request::kFree;
    if (!request.state.compare_exchange_strong(free, Request::kTaken, std::memory_order_acquire)) continue;
    request.page = page;
    request.access = access;
    request.state.store(Request::kAsked, std::memory_order_seq_cst);
    if (!runs_.load(std::memory_order_seq_cst)) {
      // Unless it has been answered at the last moment.
      std::uint32_t asked = Request::kAsked;
      if (request.state.compare_exchange_strong(asked, Request::kFree)) return false;
    }
    ring();
    for (std::uint32_t state; (state = request.state.load(std::memory_order_acquire)) != Request::kDone;)
      futex_wait(request.state, state);
    request.state.store(Request::kFree, std::memory_order_release);
    return true;
  }
  return false;
}

void LocalSweeper::answer_all() {
  for (Request& request : requests_) {
    std::uint32_t asked = Request::kAsked;
    if (!request.state.compare_exchange_strong(asked, Request::kServed, std::memory_order_seq_cst)) continue;
    work_.bring_mapped(request.page, request.access);
    request.state.store(Request::kDone, std::memory_order_release);
    futex_wake(request.state);
  }
}

}  // namespace shm::pages

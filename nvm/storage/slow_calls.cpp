// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/slow_calls.hpp"

#include <algorithm>
#include <system_error>

#include "base/service_thread.hpp"

namespace shm::nvm {

SlowCalls::~SlowCalls() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  work_.release();
  thread_.join();
}

void SlowCalls::begin(Call call) {
  try {
    if (!thread_.joinable()) thread_ = start_service_thread("atoll-pager-sys", [this] { run(); });
  } catch (const std::system_error&) {  // there are no threads left: other pages have to wait
    Status status = call.make();
    const LockGuard guard(mutex_);
    ended_.push_back({call.caller, std::move(status)});
    return;
  }
  {
    const LockGuard guard(mutex_);
    begun_.push_back(std::move(call));
  }
  work_.release();
}

std::optional<Status> SlowCalls::result(const void* caller) {
  const LockGuard guard(mutex_);
  const auto found = std::ranges::find(ended_, caller, &Ended::caller);
  if (found == ended_.end()) return std::nullopt;
  Status status = std::move(found->status);
  ended_.erase(found);
  return status;
}

bool SlowCalls::any_result() {
  const LockGuard guard(mutex_);
  return !ended_.empty();
}

void SlowCalls::run() {
  for (;;) {
    work_.acquire();
    if (stop_.load(std::memory_order_acquire)) return;
    Call call;
    {
      const LockGuard guard(mutex_);
      call = std::move(begun_.front());
      begun_.pop_front();
    }
    Status status = call.make();
    {
      const LockGuard guard(mutex_);
      ended_.push_back({call.caller, std::move(status)});
    }
    if (call.rings) ring_();
  }
}

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
#include "kv/executor.hpp"

#include <utility>

#include "base/service_thread.hpp"

namespace shm::kv {

Executor::Executor(CarryOut carry_out)
    : carry_out_(std::move(carry_out)), thread_(start_service_thread("atoll-kv", [this] { run(); })) {}

Executor::~Executor() {
  {
    const LockGuard guard(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Executor::add(int from, const std::byte* packet, std::size_t n) {
  {
    const LockGuard guard(mutex_);
    packets_.push_back({from, {packet, packet + n}});
  }
  changed_.notify_all();
}

void Executor::rest() {
  const LockGuard guard(mutex_);
  while (!packets_.empty()) changed_.wait(mutex_);
}

void Executor::run() {
  for (;;) {
    const Packet* packet;
    {
      const LockGuard guard(mutex_);
      while (packets_.empty() && !ends_) changed_.wait(mutex_);
      if (packets_.empty()) return;
      packet = &packets_.front();  // stays where it is while others are added
    }
    carry_out_(packet->from, packet->bytes.data(), packet->bytes.size());
    Packet done;  // freed without the lock, which a handler may want
    {
      const LockGuard guard(mutex_);
      done = std::move(packets_.front());
      packets_.pop_front();
      if (packets_.empty()) changed_.notify_all();
    }
  }
}

}  // namespace shm::kv

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
  mutex_.lock();
  for (;;) {
    while (packets_.empty() && !ends_) changed_.wait(mutex_);
    if (packets_.empty()) break;
    const Packet& packet = packets_.front();  // stays where it is while others are added
    mutex_.unlock();
    carry_out_(packet.from, packet.bytes.data(), packet.bytes.size());
    mutex_.lock();
    packets_.pop_front();
    if (packets_.empty()) changed_.notify_all();
  }
  mutex_.unlock();
}

}  // namespace shm::kv

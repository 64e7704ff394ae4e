// SPDX-License-Identifier: BSD-3-Clause
#include "test_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"
#include "nvm/storage/file_device.hpp"

namespace shm::nvm {

TestDevice::TestDevice(const TestDeviceOptions& options)
    : options_(options), random_(options.seed), hold_(options.hold) {}

void TestDevice::await_call() {
  ++calls_waiting_;
  hold_calls_.wait(true);
  const auto end = std::chrono::steady_clock::now() + slow_calls_.load();
  while (std::chrono::steady_clock::now() < end) {
  }
  --calls_waiting_;
}

Status TestDevice::reserve(std::uint64_t offset, std::uint64_t n) {
  await_call();
  LockGuard guard(mutex_);
  if (!lies_within(options_.size, offset, n)) return Status::error("no such range of the test device");
  check_idle("reserve()", offset, n, false);
  if (occupy(offset, n)) return {};
  return Status::error("cannot make room for " + std::to_string(n) + " bytes at offset " +
                       std::to_string(offset) + " of the test device: " + std::strerror(ENOSPC) +
                       "; ask for less");
}

Status TestDevice::release(std::uint64_t offset, std::uint64_t n) {
  await_call();
  LockGuard guard(mutex_);
  if (!lies_within(options_.size, offset, n)) return Status::error("no such range of the test device");
  check_idle("release()", offset, n, false);
  blocks_.erase(blocks_.lower_bound(offset), blocks_.lower_bound(offset + n));
  return {};
}

// As a file system does it: what there is room for is occupied even if that is not all.
bool TestDevice::occupy(std::uint64_t offset, std::uint64_t n) {
  for (std::uint64_t at = offset; at < offset + n; at += kBlock) {
    if (blocks_.contains(at)) continue;
    if ((blocks_.size() + 1) * kBlock > room_) return false;
    blocks_[at].fill(std::byte{0});
  }
  return true;
}

// Ends the program if the range overlaps what is under way and not both read.
void TestDevice::check_idle(const char* who, std::uint64_t offset, std::uint64_t n, bool reads) const {
  const auto check = [&](const Transfer& other) {
    if (other.offset >= offset + n || offset >= other.offset + other.n) return;
    if (reads && other.kind == Transfer::Kind::read) return;
    fatal("test device: %s of %llu bytes at %llu, where a transfer of %zu bytes at %llu is under way", who,
          static_cast<unsigned long long>(n), static_cast<unsigned long long>(offset), other.n,
          static_cast<unsigned long long>(other.offset));
  };
  for (const Started& started : started_) check(*started.transfer);
  for (const Started& started : taken_) check(*started.transfer);
  for (const Transfer* transfer : ended_) check(*transfer);
}

void TestDevice::start(Transfer& transfer) {
  LockGuard guard(mutex_);
  if (!begin(transfer, options_.size)) {
    records_.push_back({transfer.kind, transfer.offset, transfer.n, transfer.error});
    ended_.push_back(&transfer);
    return;
  }
  const auto kind = static_cast<std::size_t>(transfer.kind);
  const bool reads = transfer.kind == Transfer::Kind::read;
  check_idle(reads ? "a read" : "a write", transfer.offset, transfer.n, reads);
  Started started{&transfer, {}};
  const auto fault = faults_.at(kind).find(++counts_.at(kind));
  if (fault != faults_.at(kind).end()) {
    started.fault = fault->second;
    faults_.at(kind).erase(fault);
  }
  started_.push_back(started);
  if (!options_.never_blocks) submitted_ = started_.size();
}

void TestDevice::submit() {
  LockGuard guard(mutex_);
  if (listener_ != std::thread::id() && listener_ != std::this_thread::get_id())
    fatal("test device: submit() by a thread other than the one that listens");
  submitted_ = started_.size();
}

bool TestDevice::to_be_submitted() const {
  LockGuard guard(mutex_);
  return submitted_ != started_.size();
}

bool TestDevice::listen(int /*eventfd*/) {
  LockGuard guard(mutex_);
  listener_ = std::this_thread::get_id();
  return started_.empty() && ended_.empty();
}

Transfer* TestDevice::take_read(Transfer& transfer) {
  LockGuard guard(mutex_);
  if (!options_.lets_take || transfer.kind != Transfer::Kind::read) return nullptr;
  const auto first = started_.begin() + static_cast<std::ptrdiff_t>(submitted_);
  const auto found = std::find_if(first, started_.end(),
                                  [&](const Started& started) { return started.transfer == &transfer; });
  if (found == started_.end()) return nullptr;
  taken_.push_back(*found);
  started_.erase(found);
  return &transfer;
}

void TestDevice::carry_out(Transfer& taken) {
  const auto held = [this] {
    LockGuard guard(mutex_);
    return hold_;
  };
  while (held()) std::this_thread::yield();
  LockGuard guard(mutex_);
  const auto found = std::ranges::find(taken_, &taken, &Started::transfer);
  if (found == taken_.end()) fatal("test device: carry_out() of what was not taken");
  const Started started = *found;
  taken_.erase(found);
  end(started, true);
}

std::size_t TestDevice::taken() const {
  LockGuard guard(mutex_);
  return taken_.size();
}

// Also in no order among those that have ended: finished() need not return them as they did.
Transfer* TestDevice::finished() {
  LockGuard guard(mutex_);
  if (options_.lazy_percent > 0 && pick(100) < static_cast<std::size_t>(options_.lazy_percent))
    return nullptr;
  if (!hold_ && submitted_ != 0) end_one();
  if (ended_.empty()) return nullptr;
  std::swap(ended_[pick(ended_.size())], ended_.back());
  Transfer* transfer = ended_.back();
  ended_.pop_back();
  return transfer;
}

// One, whichever the seed says.  REQUIRES: there is one.
void TestDevice::end_one() {
  const std::size_t which = pick(submitted_--);
  const Started started = started_[which];
  started_[which] = started_[submitted_];
  started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(submitted_));
  end(started, false);
}

void TestDevice::end(const Started& started, bool taken) {
  Transfer& transfer = *started.transfer;
  const bool fails = started.fault.error != 0;
  move(transfer, fails ? std::min(started.fault.moved, transfer.n) : transfer.n);
  if (fails) transfer.error = started.fault.error;
  records_.push_back({transfer.kind, transfer.offset, transfer.n, transfer.error, taken});
  ended_.push_back(&transfer);
}

void TestDevice::move(Transfer& transfer, std::size_t n) {
  while (transfer.done < n) {
    const std::uint64_t at = transfer.offset + transfer.done;
    const std::size_t now = std::min(kBlock, n - transfer.done);
    std::byte* data = transfer.data + transfer.done;
    if (transfer.kind == Transfer::Kind::write) {
      if (!occupy(at, kBlock)) {
        transfer.error = ENOSPC;
        return;
      }
      std::memcpy(blocks_[at].data(), data, now);
    } else if (const auto block = blocks_.find(at); block != blocks_.end()) {
      std::memcpy(data, block->second.data(), now);
    } else {
      std::memset(data, 0, now);
    }
    transfer.done += now;
  }
}

std::size_t TestDevice::under_way() const {
  LockGuard guard(mutex_);
  return started_.size() + taken_.size() + ended_.size();
}

Status TestDevice::persist() {
  await_call();
  LockGuard guard(mutex_);
  if (persist_fails_)
    return Status::error("cannot make the writes to the test device durable: as the test wanted");
  ++persists_;
  return {};
}

void TestDevice::fail(Transfer::Kind kind, std::uint64_t k, int error, std::size_t moved) {
  LockGuard guard(mutex_);
  const auto which = static_cast<std::size_t>(kind);
  faults_.at(which)[counts_.at(which) + k] = {error, moved};
}

void TestDevice::limit_room(std::uint64_t bytes) {
  LockGuard guard(mutex_);
  room_ = bytes;
}

void TestDevice::fail_persist() {
  LockGuard guard(mutex_);
  persist_fails_ = true;
}

void TestDevice::hold(bool held) {
  LockGuard guard(mutex_);
  hold_ = held;
}

void TestDevice::hold_calls(bool held) {
  hold_calls_ = held;
  hold_calls_.notify_all();
}

std::size_t TestDevice::end(std::size_t n) {
  LockGuard guard(mutex_);
  n = std::min(n, submitted_);
  for (std::size_t i = 0; i < n; ++i) end_one();
  return n;
}

std::vector<TestDevice::Record> TestDevice::records() const {
  LockGuard guard(mutex_);
  return records_;
}

void TestDevice::clear_records() {
  LockGuard guard(mutex_);
  records_.clear();
}

std::uint64_t TestDevice::bytes_occupied() const {
  LockGuard guard(mutex_);
  return blocks_.size() * kBlock;
}

std::uint64_t TestDevice::persists() const {
  LockGuard guard(mutex_);
  return persists_;
}

}  // namespace shm::nvm

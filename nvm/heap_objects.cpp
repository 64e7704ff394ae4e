// SPDX-License-Identifier: BSD-3-Clause
// What programs do to blocks of the heap as a whole: named objects and their epochs, pinned pages.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "core/wait.hpp"
#include "nvm/heap.hpp"

namespace shm::nvm {

// Named objects.

const char* Heap::keeps_size(std::uintptr_t address) const {
  return open_objects_.contains(address)
             ? "is a named object, which keeps its size; open one of another name, and copy"
             : nullptr;
}

bool Heap::has_open(const std::string& name) const {
  return std::ranges::any_of(open_objects_, [&](const auto& one) { return one.second.name == name; });
}

void Heap::attach(std::uintptr_t address, std::size_t n, std::unique_ptr<Store> object, std::uint64_t epoch) {
  open_objects_[address] = {object->identity().name, epoch, n};
  command(RangeCommand::attach, pages_of(address, n), object.release());
}

std::optional<std::uint64_t> Heap::epoch_of(std::uintptr_t address) const {
  const auto found = open_objects_.find(address);
  return found == open_objects_.end() ? std::nullopt : std::optional(found->second.epoch);
}

void Heap::prepare_epoch(std::uintptr_t address) {
  OpenObject& object = open_objects_.at(address);
  if (is_pinned(address, object.n, true)) {
    fatal("shmemx_nvm_persist: pages of object %p are pinned to be written; unpin them first",
          reinterpret_cast<void*>(address));
  }
  command(RangeCommand::persist, pages_of(address, object.n), nullptr, ++object.epoch);
}

void Heap::settle_epoch(std::uintptr_t address) {
  const OpenObject& object = open_objects_.at(address);
  command(RangeCommand::settle, pages_of(address, object.n), nullptr, object.epoch);
}

// Advice.

void Heap::advise(std::uintptr_t address, std::size_t n, Advice advice) {
  if (advice == Advice::overwrite) {
    command(RangeCommand::overwrite, whole_pages_of(address, n));
    return;
  }
  if (advice == Advice::sequential) {
    send_hint({pages_of(address, n).first, RequestQueue::What::begin});
    return;
  }
  const bool soon = advice == Advice::soon;
  const auto [first, last] = soon ? pages_of(address, n) : whole_pages_of(address, n);
  for (PageNumber page = first; page < last; ++page) {
    const bool here = pool_.word(page).state() != PageState::invalid;
    if (here != soon) send_hint({page, soon ? RequestQueue::What::bring : RequestQueue::What::evict});
  }
}

// Pinned pages.

bool Heap::pin(std::uintptr_t address, std::size_t n, Access access) {
  const auto [first, last] = pages_of(address, n);
  const auto pages = static_cast<std::uint32_t>(last - first);
  std::atomic<std::uint32_t>& pinned = pool_.head().pinned;
  std::uint32_t before = pinned.load(std::memory_order_relaxed);
  do {
    if (last - first > pool_.shape().frames || before + pages > pool_.shape().frames / 4) return false;
  } while (!pinned.compare_exchange_weak(before, before + pages, std::memory_order_relaxed));
  for (PageNumber page = first; page < last; ++page) ask_for_page(PageRequest::Kind::pin, page, access);
  // Who executes an operation of another node (execute_at_once) has latched the page before, and is waited
  // for, or sees that it is pinned.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (PageNumber page = first; page < last; ++page) {
    wait_for([&] { return !pool_.word(page).latched(); },
             [](WaitRecord& record) {
               describe_wait(record, "shmemx_nvm_pin", WaitRecord::kNobody,
                             "for operations on the pages to end");
             });
  }
  const LockGuard guard(mutex_);
  pins_.insert({{address, n}, access});
  return true;
}

bool Heap::unpin(std::uintptr_t address, std::size_t n) {
  Access access;
  {
    const LockGuard guard(mutex_);
    const auto found = pins_.find({address, n});
    if (found == pins_.end()) return false;
    access = found->second;
    pins_.erase(found);
  }
  const auto [first, last] = pages_of(address, n);
  for (PageNumber page = first; page < last; ++page)
    pool_.frame(pool_.word(page).frame()).pins(access).fetch_sub(1, std::memory_order_release);
  pool_.head().pinned.fetch_sub(static_cast<std::uint32_t>(last - first), std::memory_order_relaxed);
  pool_.requests_of(rt.node_rank).queue.ring();
  return true;
}

// Whether any of it is, or, with `to_write`, is so to be written.
bool Heap::is_pinned(std::uintptr_t address, std::size_t n, bool to_write) {
  const LockGuard guard(mutex_);
  return std::ranges::any_of(pins_, [&](const auto& one) {
    const auto& [range, access] = one;
    const bool overlap = range.first < address + n && address < range.first + range.second;
    return overlap && (!to_write || access == Access::write);
  });
}

}  // namespace shm::nvm

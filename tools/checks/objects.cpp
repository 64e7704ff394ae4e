// SPDX-License-Identifier: BSD-3-Clause
#include "objects.hpp"

#include <algorithm>
#include <mutex>

namespace checks {
namespace {

bool holds(const shm::CheckedRange& range, std::uintptr_t address) {
  return address - range.base < range.size;
}

// The object that this thread has found last: most calls use the one that the call before has used.
struct LastFound {
  const void* among;
  std::uint64_t changes;
  std::uintptr_t base;
  std::size_t size;
};
thread_local LastFound last_found{};

}  // namespace

void Objects::begin(const shm::CheckedJob& job, std::vector<Variable> variables) {
  const std::unique_lock lock(mutex_);
  heaps_[0] = job.memory.range;
  heaps_[1] = job.paged.range;
  variables_range_ = job.variables;
  variables_ = std::move(variables);
  blocks_.clear();
  freed_.clear();
  changes_.fetch_add(1);
}

// Of blocks that overlap what is new there are none but freed ones.
void Objects::forget_freed(std::uintptr_t base, std::size_t size) {
  auto at = blocks_.upper_bound(base);
  if (at != blocks_.begin() && std::prev(at)->second.end() > base) --at;
  while (at != blocks_.end() && at->first < base + size) {
    at = at->first == base || at->second.freed.call != nullptr ? blocks_.erase(at) : std::next(at);
  }
}

void Objects::add(std::uintptr_t base, std::size_t size, Deed made) {
  const std::unique_lock lock(mutex_);
  forget_freed(base, size);
  blocks_[base] = {base, size, nullptr, made, {}};
  changes_.fetch_add(1);
}

void Objects::remove(std::uintptr_t base, Deed freed) {
  const std::unique_lock lock(mutex_);
  const auto found = blocks_.find(base);
  if (found == blocks_.end()) return;
  found->second.freed = freed;
  freed_.push_back(base);
  if (freed_.size() > kMostFreed) {
    const auto oldest = blocks_.find(freed_.front());
    if (oldest != blocks_.end() && oldest->second.freed.call != nullptr) blocks_.erase(oldest);
    freed_.pop_front();
  }
  changes_.fetch_add(1);
}

Finding Objects::look_for_variable(std::uintptr_t address, std::size_t n) const {
  const auto next = std::ranges::upper_bound(variables_, address, {}, &Variable::base);
  const auto object_of = [](const Variable& found) {
    return Object{found.base, found.size, found.name.c_str(), {}, {}};
  };
  if (next != variables_.begin() && address < std::prev(next)->end()) {
    const Object object = object_of(*std::prev(next));
    return {n <= object.end() - address ? Finding::fine : Finding::past_end, object, variables_range_};
  }
  // Padding, or variables of a library whose local symbols are gone.
  const bool last = next == variables_.end();
  const std::uintptr_t end = last ? variables_range_.base + variables_range_.size : next->base;
  if (n <= end - address) return {Finding::fine, {}, variables_range_};
  return {last ? Finding::elsewhere : Finding::into, last ? Object{} : object_of(*next), variables_range_};
}

Finding Objects::look_for(std::uintptr_t address, std::size_t n) const {
  if (holds(variables_range_, address)) return look_for_variable(address, n);
  const auto* heap = std::ranges::find_if(heaps_, [&](const auto& range) { return holds(range, address); });
  if (heap == std::end(heaps_)) return {Finding::elsewhere, {}, {}};
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return {Finding::between, {}, *heap};
  const Object& object = std::prev(next)->second;
  if (!holds(*heap, object.base)) return {Finding::between, {}, *heap};
  if (address >= object.end()) return {Finding::between, object, *heap};
  if (object.freed.call != nullptr) return {Finding::freed, object, *heap};
  return {n <= object.end() - address ? Finding::fine : Finding::past_end, object, *heap};
}

Finding Objects::look(std::uintptr_t address, std::size_t n) const {
  const std::uint64_t changes = changes_.load();
  const LastFound& last = last_found;
  if (last.among == this && last.changes == changes && address - last.base < last.size &&
      n <= last.size - (address - last.base))
    return {};
  const std::shared_lock lock(mutex_);
  Finding finding = look_for(address, n);
  if (finding.what == Finding::fine && finding.object.size > 0)
    last_found = {this, changes, finding.object.base, finding.object.size};
  return finding;
}

bool Objects::is_block(std::uintptr_t address) const {
  const std::shared_lock lock(mutex_);
  const auto found = blocks_.find(address);
  return found != blocks_.end() && found->second.freed.call == nullptr;
}

std::size_t Objects::used(const shm::CheckedRange& range) const {
  const std::shared_lock lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [base, object] : blocks_)
    if (object.freed.call == nullptr && holds(range, base)) bytes += object.size;
  return bytes;
}

}  // namespace checks

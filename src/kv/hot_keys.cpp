// SPDX-License-Identifier: BSD-3-Clause
#include "kv/hot_keys.hpp"

#include <algorithm>
#include <cstring>

namespace shm::kv {

void HotKeys::begin(std::uint32_t one_of) {
  const LockGuard guard(mutex_);
  kept_.clear();
  kept_.reserve(kKept);
  weight_ = one_of;
  limit_.store(~std::uint64_t{0} / one_of, std::memory_order_relaxed);
}

void HotKeys::add(const Key& key) {
  if (!mutex_.try_lock()) return;
  const LockGuard guard(mutex_, std::adopt_lock);
  const auto is_key = [&](const Counted& each) {
    return each.hash == key.hash && each.key.size() == key.n &&
           std::memcmp(each.key.data(), key.bytes, key.n) == 0;
  };
  if (const auto found = std::ranges::find_if(kept_, is_key); found != kept_.end()) {
    found->count += weight_;
    return;
  }
  const auto* bytes = static_cast<const std::byte*>(key.bytes);
  if (kept_.size() < kKept) {
    kept_.push_back({key.hash, weight_, {bytes, bytes + key.n}});
    return;
  }
  Counted& least = *std::ranges::min_element(kept_, {}, &Counted::count);
  least.hash = key.hash;
  least.count += weight_;
  least.key.assign(bytes, bytes + key.n);
}

std::vector<HotKeys::Counted> HotKeys::most(std::size_t n) {
  std::vector<Counted> all;
  {
    const LockGuard guard(mutex_);
    all = kept_;
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Counted::count);
  if (all.size() > n) all.resize(n);
  return all;
}

}  // namespace shm::kv

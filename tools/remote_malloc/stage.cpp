// SPDX-License-Identifier: BSD-3-Clause
#include "stage.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace remote_malloc {
namespace {

std::byte* map_pages(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

// Of threads that are in calls at the same time; more threads get memory of their own for each call.
constexpr int kKept = 16;
struct Kept {
  std::atomic<bool> taken{false};
  std::byte* at = nullptr;  // by who has taken it
};
constinit std::array<Kept, kKept> kept{};

int take_kept() {
  for (int n = 0; n < kKept; ++n) {
    Kept& one = kept[static_cast<std::size_t>(n)];
    if (one.taken.load(std::memory_order_relaxed) || one.taken.exchange(true, std::memory_order_acquire))
      continue;
    if (one.at == nullptr) one.at = map_pages(Stage::kKeptBytes);
    if (one.at != nullptr) return n;
    one.taken.store(false, std::memory_order_release);
  }
  return -1;
}

}  // namespace

Stage::Stage(std::size_t bytes) : bytes_(bytes) {
  if (bytes <= kKeptBytes) kept_ = take_kept();
  at_ = kept_ >= 0 ? kept[static_cast<std::size_t>(kept_)].at : map_pages(bytes);
}

Stage::~Stage() {
  if (kept_ >= 0)
    kept[static_cast<std::size_t>(kept_)].taken.store(false, std::memory_order_release);
  else if (at_ != nullptr)
    munmap(at_, bytes_);
}

}  // namespace remote_malloc

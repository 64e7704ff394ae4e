// SPDX-License-Identifier: BSD-3-Clause
#include "heap/heap.hpp"

#define JEMALLOC_NO_DEMANGLE
#include <jemalloc/jemalloc.h>

#include <algorithm>
#include <string>
#include <unordered_map>

// The archive's symbols carry our prefix, those of the shared library none (cmake/jemalloc.cmake).
#if ATOLL_SHARED_JEMALLOC
#define JEMALLOC_SYMBOL(name) asm(name)
#else
#define JEMALLOC_SYMBOL(name) asm("atoll_" name)
#endif
extern "C" {
// Argument of experimental.arenas_create_ext; jemalloc 5.3 does not declare it in its public header.
struct arena_config_t {
  extent_hooks_t* extent_hooks;
  bool metadata_use_hooks;
};
int atoll_mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value,
                  std::size_t new_size) JEMALLOC_SYMBOL("mallctl");
void* atoll_mallocx(std::size_t size, int flags) JEMALLOC_SYMBOL("mallocx");
std::size_t atoll_xallocx(void* at, std::size_t size, std::size_t extra, int flags)
    JEMALLOC_SYMBOL("xallocx");
void atoll_dallocx(void* at, int flags) JEMALLOC_SYMBOL("dallocx");
}

namespace shm {
namespace {

constexpr std::size_t kPage = 4096;

// The extent hooks carve one range from bottom to top and never take anything back: jemalloc keeps what it
// does not need and reuses it.  jemalloc passes the hooks' own address to each hook, so the range starts with
// them.
struct Range {
  extent_hooks_t hooks{};
  std::byte* next = nullptr;
  std::byte* end = nullptr;
};

void* carve(extent_hooks_t* hooks, void* wanted, std::size_t size, std::size_t alignment, bool* zero,
            bool* commit, unsigned) {
  auto& range = *reinterpret_cast<Range*>(hooks);
  const auto at = reinterpret_cast<std::uintptr_t>(range.next);
  std::byte* start = range.next + ((alignment - at % alignment) % alignment);
  if (wanted != nullptr && wanted != start) return nullptr;
  if (start > range.end || static_cast<std::size_t>(range.end - start) < size) return nullptr;
  range.next = start + size;
  *zero = true;  // fresh pages of the shared file
  *commit = true;
  return start;
}

bool keep(extent_hooks_t*, void*, std::size_t, bool, unsigned) { return true; }
bool splittable(extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) {
  return false;
}
bool mergeable(extent_hooks_t*, void*, std::size_t, void*, std::size_t, bool, unsigned) { return false; }

template <class T>
bool set_option(const std::string& name, T value) {
  return atoll_mallctl(name.c_str(), nullptr, nullptr, &value, sizeof value) == 0;
}

class ArenaAllocator final : public HeapAllocator {
 public:
  ArenaAllocator(std::byte* base, std::size_t range, std::size_t limit) : base_(base), limit_(limit) {
    range_.hooks.alloc = carve;
    range_.hooks.dalloc = keep;
    range_.hooks.split = splittable;
    range_.hooks.merge = mergeable;
    range_.next = base;
    range_.end = base + range;
  }

  ~ArenaAllocator() override {
    if (arena_ != kNoArena)
      atoll_mallctl(("arena." + std::to_string(arena_) + ".destroy").c_str(), nullptr, nullptr, nullptr, 0);
  }

  Status open() {
    // metadata_use_hooks = false: nothing but user data in the heap's pages.
    extent_hooks_t* hooks = &range_.hooks;
    arena_config_t config{hooks, false};
    std::size_t size = sizeof arena_;
    if (atoll_mallctl("experimental.arenas_create_ext", &arena_, &size, &config, sizeof config) != 0) {
      arena_ = kNoArena;
      return Status::error("the heap's allocator could not be created");
    }
    const std::string arena = "arena." + std::to_string(arena_);
    const bool set = set_option<ssize_t>(arena + ".dirty_decay_ms", -1) &&
                     set_option<ssize_t>(arena + ".muzzy_decay_ms", -1);
    if (!set) return Status::error("the heap's allocator could not be configured");
    take_range_at_once();
    return {};
  }

  std::optional<std::size_t> allocate(std::size_t size, std::size_t alignment) override {
    if (size > limit_ - in_use_) return std::nullopt;
    // Above 14 KiB jemalloc starts a block at a random cache line of its first page, unless a page is asked
    // for.
    if (size >= 2 * kPage) alignment = std::max(alignment, kPage);
    void* at = atoll_mallocx(size, flags() | MALLOCX_ALIGN(alignment));
    if (at == nullptr) {
      merge_free_space();
      at = atoll_mallocx(size, flags() | MALLOCX_ALIGN(alignment));
    }
    if (at == nullptr) return std::nullopt;
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(at) - base_);
    sizes_[offset] = size;
    in_use_ += size;
    return offset;
  }

  bool resize(std::size_t offset, std::size_t size) override {
    std::size_t& old = sizes_.at(offset);
    if (size > old && size - old > limit_ - in_use_) return false;
    if (atoll_xallocx(base_ + offset, size, 0, flags()) < size) return false;
    in_use_ = in_use_ - old + size;
    old = size;
    return true;
  }

  std::optional<std::size_t> size_at(std::size_t offset) const override {
    const auto found = sizes_.find(offset);
    return found == sizes_.end() ? std::nullopt : std::optional(found->second);
  }

  void release(std::size_t offset) override {
    const auto found = sizes_.find(offset);
    in_use_ -= found->second;
    sizes_.erase(found);
    atoll_dallocx(base_ + offset, flags());
  }

  std::size_t bytes_in_use() const override { return in_use_; }

 private:
  static constexpr unsigned kNoArena = ~0U;
  int flags() const { return MALLOCX_ARENA(arena_) | MALLOCX_TCACHE_NONE; }

  // jemalloc never merges free space across what it got from the hooks in two pieces, and it would ask for
  // the range piece by piece: small blocks, once freed, could not become a large one.  So it gets all of it
  // in one piece.
  void take_range_at_once() {
    for (std::size_t size = static_cast<std::size_t>(range_.end - range_.next); size > limit_;
         size -= size / 64) {
      void* all = atoll_mallocx(size, flags() | MALLOCX_ALIGN(kPage));
      if (all == nullptr) continue;
      atoll_dallocx(all, flags());
      return merge_free_space();
    }
  }

  // Free space is merged within three classes; this puts all of it into the last one.
  void merge_free_space() {
    atoll_mallctl(("arena." + std::to_string(arena_) + ".purge").c_str(), nullptr, nullptr, nullptr, 0);
  }

  Range range_;
  std::byte* base_;
  std::size_t limit_;
  std::size_t in_use_ = 0;
  unsigned arena_ = kNoArena;
  std::unordered_map<std::size_t, std::size_t> sizes_;  // offset -> size as requested
};

}  // namespace

Result<std::unique_ptr<HeapAllocator>> HeapAllocator::create(std::byte* base, std::size_t range,
                                                             std::size_t limit) {
  auto allocator = std::make_unique<ArenaAllocator>(base, range, limit);
  if (Status status = allocator->open(); !status.ok()) return status;
  return std::unique_ptr<HeapAllocator>(std::move(allocator));
}

}  // namespace shm

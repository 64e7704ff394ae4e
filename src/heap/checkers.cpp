// SPDX-License-Identifier: BSD-3-Clause
#include "heap/checkers.hpp"

#include <algorithm>
#include <utility>

#if __has_include(<valgrind/memcheck.h>) && !defined(ATOLL_NO_VALGRIND)
#include <valgrind/memcheck.h>
#else  // built where valgrind is not installed: it sees one large mapping
namespace {
template <class... Any>
int nobody_hears(const Any&...) {
  return 0;
}
}  // namespace
#define VALGRIND_GET_VBITS(...) nobody_hears(__VA_ARGS__)
#define VALGRIND_MAKE_MEM_NOACCESS(...) nobody_hears(__VA_ARGS__)
#define VALGRIND_MAKE_MEM_DEFINED(...) nobody_hears(__VA_ARGS__)
#define VALGRIND_CREATE_MEMPOOL(...) nobody_hears(__VA_ARGS__)
#define VALGRIND_DESTROY_MEMPOOL(...) nobody_hears(__VA_ARGS__)
#define VALGRIND_MEMPOOL_ALLOC(...) nobody_hears(__VA_ARGS__)
#define VALGRIND_MEMPOOL_CHANGE(...) nobody_hears(__VA_ARGS__)
#define VALGRIND_MEMPOOL_FREE(...) nobody_hears(__VA_ARGS__)
#endif

// Of AddressSanitizer's library, if the program has it.
extern "C" {
[[gnu::weak, gnu::visibility("default")]] void __asan_poison_memory_region(const volatile void* at,
                                                                           std::size_t n);
[[gnu::weak, gnu::visibility("default")]] void __asan_unpoison_memory_region(const volatile void* at,
                                                                             std::size_t n);
}

namespace shm {
namespace {

// Not each tool of valgrind's looks at addresses.
bool under_memcheck() {
  static const bool yes = [] {
    char byte = 0;
    unsigned char bits = 0;
    return VALGRIND_GET_VBITS(&byte, &bits, 1) == 1;
  }();
  return yes;
}

bool under_asan() {
  return __asan_poison_memory_region != nullptr && __asan_unpoison_memory_region != nullptr;
}

void forbid(std::byte* at, std::size_t n) {
  if (under_asan()) __asan_poison_memory_region(at, n);
  if (under_memcheck()) VALGRIND_MAKE_MEM_NOACCESS(at, n);
}

void permit(std::byte* at, std::size_t n) {
  if (under_asan()) __asan_unpoison_memory_region(at, n);
  // What is in it has come from other processes, too, of which valgrind knows nothing.
  if (under_memcheck()) VALGRIND_MAKE_MEM_DEFINED(at, n);
}

}  // namespace

bool runs_under_checker() { return under_memcheck() || under_asan(); }

void permit_beside_blocks(std::byte* at, std::size_t n) {
  if (under_memcheck()) VALGRIND_MAKE_MEM_DEFINED(at, n);
}

void Checkers::begin(std::vector<std::byte*> heaps, std::size_t size) {
  if (!runs_under_checker()) return;
  heaps_ = std::move(heaps);
  used_ = 0;
  // AddressSanitizer keeps a byte for eight of all that is forbidden: it hears of blocks alone.
  if (!under_memcheck()) return;
  for (std::byte* heap : heaps_) VALGRIND_MAKE_MEM_NOACCESS(heap, size);
  VALGRIND_CREATE_MEMPOOL(heaps_.front(), 0, 1);
}

void Checkers::add(std::size_t offset, std::size_t size, std::size_t red_zone) {
  if (heaps_.empty()) return;
  std::byte* block = heaps_.front() + offset;
  const auto found = std::ranges::find(blocks_, offset, &CheckedBlock::offset);
  const bool resized = found != blocks_.end();
  if (resized) {
    for (std::byte* heap : heaps_) forbid(heap + offset, found->size);
    found->size = size;
    if (under_memcheck()) VALGRIND_MEMPOOL_CHANGE(heaps_.front(), block, block, size);
  } else {
    blocks_.push_back({offset, size});
    if (under_memcheck()) VALGRIND_MEMPOOL_ALLOC(heaps_.front(), block, size);
  }
  used_ = std::max(used_, offset + size + red_zone);
  for (std::byte* heap : heaps_) {
    permit(heap + offset, size);
    forbid(heap + offset + size, red_zone);
  }
}

void Checkers::remove(std::size_t offset) {
  const auto found = std::ranges::find(blocks_, offset, &CheckedBlock::offset);
  if (found == blocks_.end()) return;
  if (under_memcheck()) VALGRIND_MEMPOOL_FREE(heaps_.front(), heaps_.front() + offset);
  for (std::byte* heap : heaps_) forbid(heap + offset, found->size);
  *found = blocks_.back();
  blocks_.pop_back();
}

void Checkers::end() {
  if (heaps_.empty()) return;
  if (under_memcheck()) VALGRIND_DESTROY_MEMPOOL(heaps_.front());
  for (std::byte* heap : heaps_) {
    if (under_asan()) __asan_unpoison_memory_region(heap, used_);
    if (under_memcheck()) VALGRIND_MAKE_MEM_NOACCESS(heap, used_);
  }
  heaps_.clear();
  blocks_.clear();
}

}  // namespace shm

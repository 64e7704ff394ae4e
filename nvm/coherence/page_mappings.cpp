// SPDX-License-Identifier: BSD-3-Clause
// The part of the page cache that maps pages into the address space of their home PE.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "nvm/coherence/page_cache.hpp"

namespace shm::nvm {

void PageCache::map(PageNumber number, CachedPage& page, Access access) {
  const bool writable = access == Access::write;
  page.mapped_at = host_.now();
  if (page.mapped == MapState::to_write || (!writable && page.mapped == MapState::to_read)) return;
  if (writable) {  // from now on the page counts as modified
    pool_.word(number).latch(Access::write);
    pool_.word(number).unlatch();
  }
  set_mapping(number, page, writable ? MapState::to_write : MapState::to_read);
}

// Where the system has no room for more mappings, other pages lose theirs.
void PageCache::set_mapping(PageNumber number, CachedPage& page, MapState wanted) {
  while (!try_mapping(number, page, wanted)) {
    const int why = errno;
    if (unmap_others(number) || host_.give_up_spares()) continue;
    fatal(
        "a page of the NVM heap cannot be %smapped: %s; if there are too many mappings, raise SHMEM_NVM_PAGE "
        "or lower SHMEM_NVM_CACHE",
        wanted == MapState::no ? "un" : "", std::strerror(why));
  }
  page.mapped = wanted;
}

bool PageCache::try_mapping(PageNumber number, const CachedPage& page, MapState wanted) {
  const std::size_t n = pool_.shape().page_bytes;
  if (wanted == MapState::no) return host_.unmap(address(number), n);
  const bool writable = wanted == MapState::to_write;
  if (page.mapped != MapState::no) return host_.protect(address(number), n, writable);
  return host_.map(address(number), pool_.offset(page.frame), n, writable);
}

// Those that have been mapped for longest, but for some that an instruction may be about to use; they stay in
// their frames.  Returns whether there was one.
bool PageCache::unmap_others(PageNumber number) {
  constexpr int kAtOnce = 16;
  constexpr std::size_t kOfAnInstruction = 4;  // pages
  std::vector<std::pair<PageNumber, CachedPage*>> mapped;
  for (const auto& [other, page] : pages_) {
    if (other == number || page->mapped == MapState::no) continue;
    Frame& frame = pool_.frame(page->frame);
    if (frame.pins(Access::read) == 0 && frame.pins(Access::write) == 0)
      mapped.emplace_back(other, page.get());
  }
  std::ranges::sort(mapped, {}, [](const auto& each) { return each.second->mapped_at; });
  mapped.resize(mapped.size() - std::min(mapped.size(), kOfAnInstruction));
  int unmapped = 0;
  for (const auto& [other, page] : mapped) {
    if (!try_mapping(other, *page, MapState::no)) continue;  // part of a mapping that would have to be cut
    page->mapped = MapState::no;
    if (++unmapped == kAtOnce) break;
  }
  return unmapped != 0;
}

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
// The part of the page cache that maps pages into the address space of their home PE, and takes them out
// again.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "nvm/coherence/page_cache.hpp"

namespace shm::nvm {
namespace {

// A thread that has faulted gets so long to try its access again: else two that want a page could take it
// from each other and never use it.
constexpr auto kShortestStay = std::chrono::microseconds(50);

}  // namespace

bool PageCache::is_mapped_beyond(const CachedPage& page, MapState most) const {
  return mappings_.state(page.frame) > most;
}

bool PageCache::is_mapped_lately(const CachedPage& page) const {
  return host_.now() - mappings_.since(page.frame) < kShortestStay;
}

void PageCache::map(PageNumber number, const CachedPage& page, Access access) {
  const bool writable = access == Access::write;
  if (writable) {  // from now on the page counts as modified
    pool_.word(number).latch(Access::write);
    pool_.word(number).unlatch();
  }
  change_mapping(number, "", [&] {
    return mappings_.raise(number, page.frame, writable ? MapState::to_write : MapState::to_read);
  });
  host_.make_spares();  // where they had to be given up
}

void PageCache::unmap(PageNumber number, const CachedPage& page, MapState most) {
  change_mapping(number, most == MapState::no ? "un" : "",
                 [&] { return mappings_.lower(number, page.frame, most); });
}

// Where the system has no room for more mappings, other pages lose theirs.
template <class Change>
void PageCache::change_mapping(PageNumber number, const char* how, Change change) {
  while (!change()) {
    const int why = errno;
    if (unmap_others(number) || host_.give_up_spares()) continue;
    fatal(
        "a page of the NVM heap cannot be %smapped: %s; if there are too many mappings, raise SHMEM_NVM_PAGE "
        "or lower SHMEM_NVM_CACHE",
        how, std::strerror(why));
  }
}

// Those that have been mapped for longest, but for some that an instruction may be about to use; they stay in
// their frames.  Returns whether there was one.
bool PageCache::unmap_others(PageNumber number) {
  constexpr int kAtOnce = 16;
  constexpr std::size_t kOfAnInstruction = 4;  // pages
  struct Mapped {
    Clock::time_point since;  // threads may change it meanwhile
    PageNumber page;
    FrameNumber frame;
  };
  std::vector<Mapped> mapped;
  for (const auto& [other, page] : pages_) {
    if (other == number || page->frame == kNoFrame || !is_mapped_beyond(*page, MapState::no)) continue;
    Frame& frame = pool_.frame(page->frame);
    if (frame.pins(Access::read) == 0 && frame.pins(Access::write) == 0)
      mapped.push_back({mappings_.since(page->frame), other, page->frame});
  }
  std::ranges::sort(mapped, {}, &Mapped::since);
  mapped.resize(mapped.size() - std::min(mapped.size(), kOfAnInstruction));
  int unmapped = 0;
  for (const Mapped& each : mapped) {
    // Not if it is a part of a mapping that would have to be cut.
    if (mappings_.lower(each.page, each.frame, MapState::no) && ++unmapped == kAtOnce) break;
  }
  return unmapped != 0;
}

// Whether a program has pinned the page to what is to be stopped: it stays, and is open to threads meanwhile.
bool PageCache::is_pinned(const CachedPage& page, Actions stops) const {
  const Frame& frame = pool_.frame(page.frame);
  if (frame.pinned_to_write.load(std::memory_order_acquire) != 0) return true;
  return (stops & action::stop_access) && frame.pinned_to_read.load(std::memory_order_acquire) != 0;
}

// From here on nobody writes to the page, or reaches it.  Returns false if it is too early.
bool PageCache::stop(PageNumber number, CachedPage& page, Actions actions) {
  const bool all = actions & action::stop_access;
  if (is_pinned(page, actions)) return false;
  const MapState most = all ? MapState::no : MapState::to_read;
  if (is_mapped_beyond(page, most) && is_mapped_lately(page)) return false;
  page.stopping = true;
  if (!pool_.word(number).close()) return false;
  // From here on no thread maps it; the last that had it latched may have done so just now.
  if (!is_mapped_beyond(page, most)) return true;
  if (is_mapped_lately(page)) return false;
  unmap(number, page, most);
  return true;
}

// The same, but not later: if it is too early all is as before.
bool PageCache::stop_at_once(PageNumber number, CachedPage& page) {
  if (stop(number, page, action::stop_access)) return true;
  if (page.stopping) pool_.word(number).reopen();
  page.stopping = false;
  return false;
}

}  // namespace shm::nvm

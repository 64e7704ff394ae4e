// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_space.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/huge_pages.hpp"
#include "base/limits.hpp"
#include "base/mutex.hpp"
#include "pages/addresses.hpp"

namespace shm::pages {

Result<std::unique_ptr<LocalSpace>> LocalSpace::create(const PoolShape& shape) {
  std::unique_ptr<LocalSpace> space(new LocalSpace(shape));
  if (Status status = space->open(); !status.ok()) return status;
  return space;
}

Status LocalSpace::open() {
  const auto failed = [](const char* what, std::size_t n) {
    const int why = errno;
    return Status::error("cannot " + std::string(what) + " " + std::to_string(n) +
                         " bytes: " + std::strerror(why) + limit_behind(why));
  };
  const std::size_t bytes = shape_.bytes(), alignment = std::max(shape_.page_bytes, kHugePage);
  file_ = memfd_create("atoll.frames", MFD_CLOEXEC);
  if (file_ < 0 || set_file_size(file_, bytes) != 0)
    return failed("make a file in memory for frames, of", bytes);
  pool_ = reserve_aligned(bytes, alignment);
  if (pool_ == nullptr || map_raw(pool_, bytes, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file_, 0) == nullptr)
    return failed("map frames of", bytes);
  madvise(pool_, bytes, MADV_DONTFORK);
  area_ = reserve_aligned(size(), alignment);
  if (area_ == nullptr) return failed("reserve addresses for pages of", size());
  madvise(area_, size(), MADV_DONTFORK);
  pool().prepare();
  return {};
}

void LocalSpace::lay_out() const {
  for (std::uint32_t group = 0; group < pool().groups(); ++group) pool().lay_out(group);
}

LocalSpace::~LocalSpace() {
  for (std::size_t n = 0; n < windows_.count(); ++n) reserve_addresses(windows_[n].at, windows_[n].bytes);
  if (area_ != nullptr) munmap(area_, size());
  if (pool_ != nullptr) munmap(pool_, shape_.bytes());
  if (file_ >= 0) close(file_);
}

bool LocalSpace::add_window(std::size_t offset, std::size_t n, std::byte* at) {
  windows_.add({offset, n, at});
  if (reserve_addresses(at, n) == nullptr) {
    windows_.remove_last();
    return false;
  }
  madvise(at, n, MADV_DONTFORK);
  return true;
}

std::size_t LocalSpace::offset_of(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  if (in_area(at)) return static_cast<std::size_t>(at - area_);
  const Windows::Window* window = windows_.with_address(address);
  return window->offset + static_cast<std::size_t>(at - window->at);
}

std::byte* LocalSpace::place(std::byte* at) const {
  const auto offset = static_cast<std::size_t>(at - area_);
  const Windows::Window* window = windows_.with_offset(offset);
  return window == nullptr ? at : window->at + (offset - window->offset);
}

// What is stored to at once is there at once: without huge pages, each 4 KiB of it would be a fault of the
// system's own.  A load may be of a word only.
bool LocalSpace::map(std::byte* at, std::size_t offset, std::size_t n, bool writable) {
  calls_.map.fetch_add(1, std::memory_order_relaxed);
  at = place(at);
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  const int populate = writable && n < kHugePage ? MAP_POPULATE : 0;
  if (map_raw(at, n, protection, MAP_SHARED | MAP_FIXED | populate, file_, offset) == nullptr) return false;
  madvise(at, n, MADV_DONTFORK);
  make_spares();
  return true;
}

bool LocalSpace::protect(std::byte* at, std::size_t n, bool writable) {
  calls_.protect.fetch_add(1, std::memory_order_relaxed);
  return mprotect(place(at), n, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

// Neighbours in the area may be far from each other.
bool LocalSpace::unmap(std::byte* at, std::size_t n) {
  while (n != 0) {
    const std::size_t row = windows_.in_a_row(static_cast<std::size_t>(at - area_), n);
    if (!unmap_row(place(at), row)) return false;
    at += row;
    n -= row;
  }
  return true;
}

bool LocalSpace::unmap_row(std::byte* at, std::size_t n) {
  calls_.unmap.fetch_add(1, std::memory_order_relaxed);
  bool unmapped;
  do {
    unmapped = reserve_addresses(at, n) != nullptr;
  } while (!unmapped && give_up_spares());
  if (unmapped) madvise(at, n, MADV_DONTFORK);
  // The next map() takes away what is still there.
  return unmapped || mprotect(at, n, PROT_NONE) == 0;
}

bool LocalSpace::give_up_spares() {
  const LockGuard guard(spares_lock_);
  return spares_.give_up();
}

// Behind a page that has been mapped, so that they do not take its place.
void LocalSpace::make_spares() {
  const LockGuard guard(spares_lock_);
  spares_.make();
}

}  // namespace shm::pages

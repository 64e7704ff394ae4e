// SPDX-License-Identifier: BSD-3-Clause
#include "remote/area.hpp"

#include <iterator>
#include <string>

#include "base/huge_pages.hpp"
#include "base/human.hpp"
#include "base/ranges_meet.hpp"
#include "remote/zero_memory.hpp"

namespace shm::remote {
namespace {

constexpr int kSelf = 0;  // who has all addresses that are taken

std::size_t whole_pages(std::size_t bytes, std::size_t page) { return (bytes + page - 1) / page * page; }

// Twice what can be lent, so that there are addresses for a block wherever others lie.
std::size_t area_bytes(const Area::Settings& settings, int servers) {
  return whole_pages(2 * settings.server_bytes * static_cast<std::size_t>(servers), settings.page_bytes);
}

// Whether [offset, offset + n) lies in one of these, of which the map has sizes by offset.
bool lies_in(const std::map<std::size_t, std::size_t>& ranges, std::size_t offset, std::size_t n) {
  const auto behind = ranges.upper_bound(offset);
  if (behind == ranges.begin()) return false;
  const auto [first, bytes] = *std::prev(behind);
  const std::size_t within = offset - first;
  return within <= bytes && n <= bytes - within;
}

}  // namespace

Result<std::unique_ptr<Area>> Area::open(Servers& servers, const Settings& settings) {
  const Placement::Shape shape =
      LentRange::shape_for(area_bytes(settings, servers.count()), settings.page_bytes, settings.server_bytes);
  std::unique_ptr<Area> area(new Area(servers, settings, shape));
  Result<std::unique_ptr<SwapEngine>> pages =
      SwapEngine::open(area->range_, {settings.swap, settings.local_bytes / settings.page_bytes,
                                      settings.ahead, settings.mechanisms, settings.reads});
  if (!pages.ok()) return pages.status();
  area->pages_ = std::move(pages.value());
  return area;
}

Area::Area(Servers& servers, const Settings& settings, const Placement::Shape& shape)
    : settings_(settings), range_(servers, shape), room_(shape.bytes) {}

// Addresses, and room on the servers.
Result<std::uint64_t> Area::make_room(std::size_t bytes) {
  const std::size_t page = settings_.page_bytes;
  if (bytes > room_.bytes()) return Status::error("the memory servers lend less in all");
  const std::optional<std::uint64_t> offset = room_.lend(kSelf, bytes);
  if (!offset) return Status::error("no addresses are left in one piece");
  if (Status status = range_.reserve(*offset / page, (*offset + bytes) / page); !status.ok()) {
    room_.take_back(kSelf, {*offset, bytes});
    return status;
  }
  if (!laid_out_) pages_->lay_out();  // who uses no such memory pays for none
  laid_out_ = true;
  return *offset;
}

void Area::give_room_back(std::uint64_t offset, std::size_t bytes) {
  const std::size_t page = settings_.page_bytes;
  pages_->forget(offset, bytes);
  range_.release(offset / page, (offset + bytes) / page);
  room_.take_back(kSelf, {offset, bytes});
}

Result<void*> Area::allocate(std::size_t bytes) {
  const LockGuard guard(mutex_);
  const std::size_t most = room_.bytes();
  Result<std::uint64_t> offset = make_room(bytes > most ? bytes : whole_pages(bytes, settings_.page_bytes));
  if (!offset.ok()) return Status::error(human_bytes(bytes) + " of remote memory: " + offset.status().text());
  blocks_.emplace(offset.value(), bytes);
  return static_cast<void*>(pages_->base() + offset.value());
}

Result<std::span<std::byte>> Area::take_over(void* at, std::size_t bytes) {
  const std::size_t page = settings_.page_bytes;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::size_t before = (0 - begin) % page;
  const std::size_t n = bytes > before ? (bytes - before) / page * page : 0;
  auto* const first = static_cast<std::byte*>(at) + before;
  if (n == 0) return Status::error("no whole page of " + human_bytes(page) + " lies in it");
  const LockGuard guard(mutex_);
  if (touches(first, n)) return Status::error("some of it is remote memory");
  Result<std::uint64_t> offset = make_room(n);
  if (!offset.ok()) return offset.status();
  const ZeroMemory zeros;
  for (std::size_t done = 0; done < n; done += page) {
    if (!zeros.holds(first + done, page)) pages_->write(offset.value() + done, first + done, page);
  }
  if (Status status = pages_->add_window(offset.value(), n, first); !status.ok()) {
    give_room_back(offset.value(), n);
    return status;
  }
  taken_over_.emplace(offset.value(), n);
  return std::span(first, n);
}

Area::Freed Area::free(void* block) {
  const LockGuard guard(mutex_);
  if (!pages_->contains(block)) return Freed::no_block;
  const auto found = blocks_.find(offset_of(block));
  if (found == blocks_.end()) return Freed::no_block;
  const std::size_t taken = whole_pages(found->second, settings_.page_bytes);
  if (pages_->any_pinned(found->first, taken)) return Freed::pinned;
  give_room_back(found->first, taken);
  blocks_.erase(found);
  return Freed::yes;
}

std::optional<std::size_t> Area::size_of(const void* block) const {
  const LockGuard guard(mutex_);
  if (!pages_->contains(block)) return std::nullopt;
  const auto found = blocks_.find(offset_of(block));
  return found == blocks_.end() ? std::nullopt : std::optional(found->second);
}

bool Area::holds(const void* at, std::size_t n) const {
  const LockGuard guard(mutex_);
  if (!pages_->contains(at)) return false;
  return lies_in(blocks_, offset_of(at), n) || lies_in(taken_over_, offset_of(at), n);
}

bool Area::touches(const void* at, std::size_t n) const {
  return ranges_meet(reinterpret_cast<std::uintptr_t>(at), n, base(), size()) ||
         pages_->windows().meet(at, n);
}

}  // namespace shm::remote

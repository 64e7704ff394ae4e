// SPDX-License-Identifier: BSD-3-Clause
#include "remote/area.hpp"

#include <iterator>
#include <string>

#include "base/huge_pages.hpp"
#include "base/human.hpp"

namespace shm::remote {
namespace {

constexpr int kSelf = 0;  // who has all addresses that are taken

std::size_t whole_pages(std::size_t bytes, std::size_t page) { return (bytes + page - 1) / page * page; }

// Twice what can be lent, so that there are addresses for a block wherever others lie.
std::size_t area_bytes(const Area::Settings& settings, int servers) {
  return whole_pages(2 * settings.server_bytes * static_cast<std::size_t>(servers), settings.page_bytes);
}

}  // namespace

Result<std::unique_ptr<Area>> Area::open(Servers& servers, const Settings& settings) {
  const Placement::Shape shape =
      LentRange::shape_for(area_bytes(settings, servers.count()), settings.page_bytes, settings.server_bytes);
  std::unique_ptr<Area> area(new Area(servers, settings, shape));
  Result<std::unique_ptr<SwapEngine>> pages = SwapEngine::open(
      area->range_,
      {settings.swap, settings.local_bytes / settings.page_bytes, settings.ahead, settings.mechanisms});
  if (!pages.ok()) return pages.status();
  area->pages_ = std::move(pages.value());
  return area;
}

Area::Area(Servers& servers, const Settings& settings, const Placement::Shape& shape)
    : settings_(settings), range_(servers, shape), room_(shape.bytes) {}

Result<void*> Area::allocate(std::size_t bytes) {
  const LockGuard guard(mutex_);
  const std::size_t page = settings_.page_bytes;
  const auto refuse = [&](const std::string& why) {
    return Status::error(human_bytes(static_cast<double>(bytes)) + " of remote memory: " + why);
  };
  if (bytes > room_.bytes()) return refuse("the memory servers lend less in all");
  const std::size_t taken = whole_pages(bytes, page);
  const std::optional<std::uint64_t> offset = room_.lend(kSelf, taken);
  if (!offset) return refuse("no addresses are left in one piece");
  if (Status status = range_.reserve(*offset / page, (*offset + taken) / page); !status.ok()) {
    room_.take_back(kSelf, {*offset, taken});
    return refuse(status.text());
  }
  if (!laid_out_) pages_->lay_out();  // who uses no such memory pays for none
  laid_out_ = true;
  blocks_.emplace(*offset, bytes);
  return static_cast<void*>(pages_->base() + *offset);
}

Area::Freed Area::free(void* block) {
  const LockGuard guard(mutex_);
  if (!pages_->contains(block)) return Freed::no_block;
  const auto found = blocks_.find(offset_of(block));
  if (found == blocks_.end()) return Freed::no_block;
  const std::size_t page = settings_.page_bytes, offset = found->first;
  const std::size_t taken = whole_pages(found->second, page);
  if (pages_->any_pinned(offset, taken)) return Freed::pinned;
  pages_->forget(offset, taken);
  range_.release(offset / page, (offset + taken) / page);
  room_.take_back(kSelf, {offset, taken});
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
  const auto behind = blocks_.upper_bound(offset_of(at));
  if (behind == blocks_.begin()) return false;
  const auto [offset, bytes] = *std::prev(behind);
  const std::size_t within = offset_of(at) - offset;
  return within <= bytes && n <= bytes - within;
}

bool Area::touches(const void* at, std::size_t n) const {
  const auto first = reinterpret_cast<std::uintptr_t>(at),
             base = reinterpret_cast<std::uintptr_t>(pages_->base());
  return n != 0 && (first >= base ? first - base < pages_->size() : base - first < n);
}

}  // namespace shm::remote

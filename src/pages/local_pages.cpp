// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_pages.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/service_thread.hpp"

namespace shm::pages {
namespace {

constexpr std::size_t kSmallestPage = 4096;

// Mappings that the process needs otherwise.
constexpr std::size_t kOtherMappings = 8192;

// How many frames there may be: each page in a frame is a mapping of the system's, and so is the gap behind
// it.
std::size_t most_frames() {
  std::size_t mappings = 65530;
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
    if (std::fscanf(file, "%zu", &mappings) != 1) mappings = 65530;
    std::fclose(file);
  }
  return (mappings - std::min(mappings, kOtherMappings)) / 2;
}

Status check(const LocalPages::Settings& settings) {
  if (settings.page_bytes < kSmallestPage || !std::has_single_bit(settings.page_bytes))
    return Status::error("pages of " + std::to_string(settings.page_bytes) +
                         " bytes: allowed are powers of two from 4096");
  if (settings.bytes == 0 || settings.bytes % settings.page_bytes != 0)
    return Status::error("an area of " + std::to_string(settings.bytes) +
                         " bytes: allowed are multiples of the page, " + std::to_string(settings.page_bytes) +
                         " bytes");
  if (settings.frames < LocalPages::kFewestFrames || settings.frames > most_frames())
    return Status::error(
        std::to_string(settings.frames) + " pages in memory: allowed are " +
        std::to_string(LocalPages::kFewestFrames) + " to " + std::to_string(most_frames()) +
        ", as each takes two mappings (vm.max_map_count); use larger pages, or less local memory");
  if (settings.read_slots == 0 || settings.writes == 0)
    return Status::error("no reads or no writes at a time");
  return {};
}

// Where frames are few, pages that are being written would be too many of them.
LocalTransfers::Limits limits_of(const LocalPages::Settings& settings) {
  const auto part = static_cast<unsigned>(std::min<std::size_t>(settings.frames / 8, 1024));
  return {settings.read_slots, 0, std::clamp(part, 1U, settings.writes)};
}

}  // namespace

Result<std::unique_ptr<LocalPages>> LocalPages::create(Backing& backing, const Settings& settings) {
  if (Status status = check(settings); !status.ok()) return status;
  Result<std::unique_ptr<LocalSpace>> space =
      LocalSpace::create({settings.page_bytes, settings.frames, settings.bytes / settings.page_bytes, 1, 0});
  if (!space.ok()) return space.status();
  std::unique_ptr<LocalPages> pages(new LocalPages(backing, settings, std::move(space.value())));
  if (!watch_faults(pages->base(), pages->size(), *pages))
    return Status::error("more than " + std::to_string(kMostAreas) + " areas of pages in one process");
  return pages;
}

LocalPages::LocalPages(Backing& backing, const Settings& settings, std::unique_ptr<LocalSpace> space)
    : settings_(settings),
      space_(std::move(space)),
      pool_(space_->pool()),
      mappings_(*space_, pool_, space_->base()),
      slots_(settings.read_slots),
      frames_(pool_, mappings_, backing, limits_of(settings), statistics_) {}

LocalPages::~LocalPages() { end_watch(base()); }

void LocalPages::quiesce() {
  const SignalsBlocked blocked(kOwnFaults);
  frames_.clean_all();
}

// ---- faults

void LocalPages::resolve(std::size_t offset, Access access) {
  const SignalsBlocked blocked(kOwnFaults);
  const PageNumber page = pool_.number(0, offset);
  PageWord& word = pool_.word(page);
  LocalStatistics::count(statistics_.faults);
  for (;;) {
    const Mappings::Outcome outcome = mappings_.resolve(page, access);
    if (outcome != Mappings::Outcome::refused) {
      LocalStatistics::count(statistics_.hits);
      if (outcome == Mappings::Outcome::mapped) frames_.recall(page);
      return;
    }
    if (word.claim()) return bring(page, access);
    if (word.closed()) {
      frames_.await(page);
    } else if (word.state() != PageState::invalid) {
      frames_.unmap_one();
    }
  }
}

// REQUIRES: claimed.
void LocalPages::bring(PageNumber page, Access access) {
  FrameNumber frame = kNoFrame;
  const bool stored = pool_.word(page).stored();
  fill(page, frame);
  map(page, frame, access);
  frames_.publish(page, frame, access, stored);
}

// A slot first: the frames of those who wait for one stay other pages' until then.
void LocalPages::fill(PageNumber page, FrameNumber& frame) {
  const std::size_t n = settings_.page_bytes;
  if (!pool_.word(page).stored()) {
    frame = frames_.take();
    std::memset(pool_.bytes(frame), 0, n);
    return LocalStatistics::count(statistics_.zeroed);
  }
  if (slots_.acquire()) LocalStatistics::count(statistics_.slot_waits);
  LocalTransfers::Transit& transit = *frames_.transfers().take(LocalTransfers::Kind::call);
  frame = frames_.take();
  transit.page = page;
  transit.frame = frame;
  LocalStatistics::count(statistics_.reads);
  LocalStatistics::count(statistics_.bytes_in, n);
  frames_.transfers().read(transit, 0, pool_.bytes(frame), n);
  frames_.transfers().wait(transit);
  frames_.transfers().give(transit);
  slots_.release();
}

void LocalPages::map(PageNumber page, FrameNumber frame, Access access) {
  const MapState least = access == Access::write ? MapState::to_write : MapState::to_read;
  while (!mappings_.raise(page, frame, least)) frames_.unmap_one();
}

}  // namespace shm::pages

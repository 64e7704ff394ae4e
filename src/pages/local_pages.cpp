// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_pages.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/fatal.hpp"
#include "base/service_thread.hpp"
#include "pages/addresses.hpp"
#include "pages/local_moving.hpp"

namespace shm::pages {
namespace {

constexpr std::size_t kSmallestPage = 4096;

// Mappings that the process needs otherwise.
constexpr std::size_t kOtherMappings = 8192;

// How many frames there may be: each page in a frame is a mapping of the system's, and so is the gap behind
// it.
std::size_t most_frames() {
  constexpr std::size_t kUsual = 65530;  // of Linux
  const std::size_t limit = mapping_limit(), mappings = limit != 0 ? limit : kUsual;
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

// Where frames are few, pages that are on their way would be too many of them.
LocalFrames::Settings frames_of(const LocalPages::Settings& settings) {
  const auto part = static_cast<unsigned>(std::min<std::size_t>(settings.frames / 8, 1024));
  const unsigned ahead = std::min(part, settings.ahead), cleanings = std::clamp(part, 1U, settings.writes);
  const std::size_t at_hand = std::min<std::size_t>(settings.read_slots + ahead, settings.frames / 4);
  return {{settings.read_slots, ahead, cleanings}, at_hand};
}

// It is put in place by who has received it.
void note_received(SwapTimes& times) {
  times.note(SwapPoint::received);
  times.note(SwapPoint::applied, times.at(SwapPoint::received));
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
      read_ahead_(frames_of(settings).limits.ahead),
      slots_(settings.read_slots),
      sweeper_(static_cast<LocalSweeper::Work&>(*this)),
      frames_(pool_, mappings_, backing, sweeper_, frames_of(settings), statistics_) {}

Status LocalPages::add_window(std::size_t offset, std::size_t n, std::byte* at) {
  const LockGuard guard(doors_mutex_);
  if (doors_.size() == Windows::kMost)
    return Status::error("more than " + std::to_string(Windows::kMost) + " ranges of memory");
  Door& door = doors_.emplace_back(*this, offset);
  const bool watched = watch_faults(at, n, door);  // first: the next access there is a fault
  if (watched && space_->add_window(offset, n, at)) return {};
  const int error = errno;
  if (watched) end_watch(at);
  doors_.pop_back();
  if (!watched)
    return Status::error("more than " + std::to_string(kMostAreas) + " areas of pages in one process");
  return Status::error(std::string("cannot reserve its addresses: ") + std::strerror(error));
}

LocalPages::~LocalPages() {
  sweeper_.stop();
  end_watch(base());
  for (std::size_t n = 0; n < space_->windows().count(); ++n) end_watch(space_->windows()[n].at);
  const SignalsBlocked blocked(kOwnFaults);
  frames_.await_transfers();
}

void LocalPages::quiesce() {
  const SignalsBlocked blocked(kOwnFaults);
  frames_.clean_all();
}

// ---- faults

// Who has such an address has it from nowhere: pages there are in a window.
void LocalPages::resolve(std::size_t offset, Access access) {
  if (space_->windows().with_offset(offset) != nullptr)
    fatal("an access at %p, where no remote memory is", static_cast<void*>(base() + offset));
  resolve_page(offset, access);
}

void LocalPages::resolve_page(std::size_t offset, Access access) {
  const SignalsBlocked blocked(kOwnFaults);
  const PageNumber page = pool_.number(0, offset);
  LocalStatistics::count(statistics_.faults);
  if (settings_.is_inside != nullptr && settings_.is_inside() && sweeper_.ask(page, access)) return;
  bring_mapped(page, access);
}

void LocalPages::bring_mapped(PageNumber page, Access access) {
  PageWord& word = pool_.word(page);
  SwapTimes times;
  times.note(SwapPoint::fault);
  for (;;) {
    const Mappings::Outcome outcome = mappings_.resolve(page, access);
    if (outcome != Mappings::Outcome::refused) {
      LocalStatistics::count(statistics_.hits);
      if (outcome == Mappings::Outcome::upgraded) return;
      frames_.recall(page);
      return use(page);
    }
    if (word.claim()) {
      const bool stored = word.stored();
      const FrameNumber frame = fill(page, times);
      map(page, frame, access);
      times.note(SwapPoint::resumed);
      frames_.publish(page, frame, access, stored);
      times.note(SwapPoint::complete);
      return stages_.add(times);
    }
    if (word.closed()) {
      frames_.await(page);
    } else if (word.state() != PageState::invalid) {
      frames_.unmap_one();
    }
  }
}

// The caller's page is in the frame that is returned, which nobody else knows of yet.
FrameNumber LocalPages::fill(PageNumber page, SwapTimes& times) {
  const std::size_t n = settings_.page_bytes;
  if (pool_.word(page).stored()) {
    // A slot first: the frames of those who wait for one stay other pages' until then.
    LocalMoving moving(slots_, frames_.transfers(), statistics_);
    const FrameNumber frame = frames_.take_first();
    times.note(SwapPoint::taken);
    moving.read(page, 0, pool_.bytes(frame), n);
    frames_.make_room();
    use(page);
    moving.wait();
    note_received(times);
    return frame;
  }
  const FrameNumber frame = frames_.take();
  times.note(SwapPoint::taken);
  std::memset(pool_.bytes(frame), 0, n);
  note_received(times);
  LocalStatistics::count(statistics_.zeroed);
  return frame;
}

void LocalPages::map(PageNumber page, FrameNumber frame, Access access) {
  const MapState least = access == Access::write ? MapState::to_write : MapState::to_read;
  while (!mappings_.raise(page, frame, least)) frames_.unmap_one();
}

// ---- read-ahead

// Begins to read what the thread will use next.
void LocalPages::use(PageNumber page) {
  if (settings_.ahead == 0) return;
  const PageRange range = read_ahead_.use(page).bring;
  PageNumber each = range.first;
  for (std::uint64_t i = 0; i < range.count && each < pool_.shape().segment_pages; ++i) {
    if (!in_one_place(page, each) || !read_ahead(each)) return;
    each += static_cast<PageNumber>(range.step);
  }
}

// What lies behind the end of a window is something else.
bool LocalPages::in_one_place(PageNumber page, PageNumber other) const {
  const Windows& windows = space_->windows();
  return windows.count() == 0 ||
         windows.with_offset(pool_.offset_of(page)) == windows.with_offset(pool_.offset_of(other));
}

// Returns false if no more can be read ahead now.
bool LocalPages::read_ahead(PageNumber page) {
  PageWord& word = pool_.word(page);
  if (word.state() != PageState::invalid || !word.stored()) return true;
  LocalTransfers::Transit* transit = frames_.transfers().take(LocalTransfers::Kind::ahead);
  if (transit == nullptr) return false;
  if (!word.claim()) {
    frames_.transfers().give(*transit);
    return true;
  }
  // It may have been forgotten meanwhile.
  const FrameNumber frame = word.stored() ? frames_.take_now() : kNoFrame;
  if (frame == kNoFrame) {
    frames_.vacate(page, word.stored());
    frames_.transfers().give(*transit);
    return false;
  }
  transit->page = page;
  transit->frame = frame;
  LocalStatistics::count(statistics_.reads);
  LocalStatistics::count(statistics_.ahead);
  LocalStatistics::count(statistics_.bytes_in, settings_.page_bytes);
  frames_.transfers().read(*transit, 0, pool_.bytes(frame), settings_.page_bytes);
  return true;
}

}  // namespace shm::pages

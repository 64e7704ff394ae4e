// SPDX-License-Identifier: BSD-3-Clause
#include "remote/paper_pages.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "base/fatal.hpp"
#include "base/service_thread.hpp"
#include "pages/copy.hpp"
#include "pages/page_span.hpp"
#include "remote/paper_suspension.hpp"

namespace shm::remote {
namespace {

using pages::FrameNumber;
using pages::LocalStatistics;
using pages::PageNumber;
using pages::PageSpan;
using pages::touched_pages;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBuffersOfR58 = 4;

std::size_t buffers_of(SwapProtocol protocol) {
  return protocol == SwapProtocol::r3 ? 1 : protocol == SwapProtocol::r58 ? kBuffersOfR58 : 0;
}

}  // namespace

Result<std::unique_ptr<PaperPages>> PaperPages::create(const LentRange& range, const Settings& settings) {
  const std::size_t page_bytes = range.shape().page_bytes;
  if (settings.frames < kFewestFrames)
    return Status::error(std::to_string(settings.frames) + " pages in memory: allowed are " +
                         std::to_string(kFewestFrames) + " or more");
  Result<std::unique_ptr<pages::LocalSpace>> space = pages::LocalSpace::create(
      {page_bytes, settings.frames + buffers_of(settings.protocol), range.shape().bytes / page_bytes, 1, 0});
  if (!space.ok()) return space.status();
  std::unique_ptr<PaperPages> pages(new PaperPages(range, settings, std::move(space.value())));
  if (!pages::watch_faults(pages->base(), pages->size(), *pages))
    return Status::error("more than " + std::to_string(pages::kMostAreas) + " areas of pages in one process");
  return pages;
}

PaperPages::PaperPages(const LentRange& range, const Settings& settings,
                       std::unique_ptr<pages::LocalSpace> space)
    : range_(range),
      lent_(range),
      settings_(settings),
      space_(std::move(space)),
      table_(*space_, settings.frames) {
  range_.servers().tell_ready(this);
}

PaperPages::~PaperPages() {
  stop();
  pages::end_watch(base());
  range_.servers().tell_ready(nullptr);
}

void PaperPages::start() {
  stopping_.store(false);
  com_thread_ = start_needed_thread("atoll-com", [this] { communicate(); });
  if (settings_.protocol != SwapProtocol::r3)
    recv_thread_ = start_needed_thread("atoll-recv", [this] { receive_pages(); });
}

void PaperPages::stop() {
  stopping_.store(true);
  com_bell_.ring();
  recv_bell_.ring();
  if (com_thread_.joinable()) com_thread_.join();
  if (recv_thread_.joinable()) recv_thread_.join();
}

std::byte* PaperPages::buffer(std::size_t number) const {
  return space_->pool().bytes(static_cast<FrameNumber>(settings_.frames + number));
}

// ---- threads of the program

void PaperPages::resolve(std::size_t offset, pages::Access) {
  const SignalsBlocked blocked(kOwnFaults);
  const WaitsForPage waits;
  SwapRequest request(offset / page_bytes());
  LocalStatistics::count(statistics_.faults);
  if (!table_.claim(request.page)) {
    LocalStatistics::count(statistics_.hits);
    return table_.await(request.page);
  }
  internal_.push(request);
  com_bell_.ring();
  request.wait();
  request.note(SwapPoint::complete);
  stages_.add(request.times);
}

// ---- com-thread

// Serves both queues in turn, or the one that is not empty.
void PaperPages::communicate() {
  is_no_user_thread();
  for (bool turn = false;; turn = !turn) {
    const std::uint32_t heard = com_bell_.rings();
    if (stopping_.load()) return;  // looked at behind what was heard, as stop() rings once
    if (turn ? serve_external() || serve_internal() : serve_internal() || serve_external()) continue;
    com_bell_.wait(heard);
  }
}

bool PaperPages::serve_internal() {
  SwapRequest* request = internal_.pop();
  if (request == nullptr) return false;
  request->note(SwapPoint::taken);
  ask(*request);
  if (settings_.protocol == SwapProtocol::r3) swap_r3();
  return true;
}

bool PaperPages::serve_external() {
  SwapRequest* request = external_.pop();
  if (request != nullptr) apply_r58(*request);
  return request != nullptr;
}

// What has been forgotten need not be asked for.
void PaperPages::ask(SwapRequest& request) {
  const PageNumber page = request.page;
  if (table_.is_blank(page)) {
    ready_.push(request);
  } else {
    asked_.push(request);  // the answer may come before the call returns
    range_.servers().request_page(place(page), page_bytes(), page);
  }
  recv_bell_.ring();
}

// On whoever polls.
bool PaperPages::page_is_ready(int server, std::uint64_t number) {
  SwapRequest* request = asked_.take(number);
  if (request == nullptr || place(request->page).server != server) return false;
  ready_.push(*request);
  recv_bell_.ring();
  return true;
}

// ---- the protocols

void PaperPages::swap_r3() {
  SwapRequest* request = nullptr;
  WaitWatch watch;
  for (Backoff backoff; request == nullptr;) request = poll_for_ready(backoff, watch);
  watch.end();
  receive(request->page, buffer(0));
  request->note(SwapPoint::received);
  request->note(SwapPoint::applied);
  send_victims(2);
  const FrameNumber frame = table_.take_frame();
  {
    const UserThreadsSuspended suspended;
    std::memcpy(space_->pool().bytes(frame), buffer(0), page_bytes());
    put_in_place(request->page, frame);
  }
  finish(*request, frame);
}

// The recv-thread of R58 and R77.
void PaperPages::receive_pages() {
  is_no_user_thread();
  WaitWatch watch;
  for (Backoff backoff;;) {
    const std::uint32_t heard = recv_bell_.rings();
    if (stopping_.load()) return;  // as in communicate()
    const bool can_receive =
        settings_.protocol == SwapProtocol::r77 || buffers_in_use_.load() != (1U << kBuffersOfR58) - 1;
    SwapRequest* request = can_receive ? poll_for_ready(backoff, watch) : nullptr;
    if (request != nullptr) {
      backoff.restart();
      watch.end();
      settings_.protocol == SwapProtocol::r58 ? receive_r58(*request) : swap_r77(*request);
    } else if (!can_receive || asked_.first() == nullptr) {
      recv_bell_.wait(heard);
    }
  }
}

void PaperPages::receive_r58(SwapRequest& request) {
  request.buffer = static_cast<std::size_t>(std::countr_one(buffers_in_use_.load()));
  buffers_in_use_.fetch_or(1U << request.buffer);
  receive(request.page, buffer(request.buffer));
  request.note(SwapPoint::received);
  external_.push(request);
  com_bell_.ring();
}

void PaperPages::apply_r58(SwapRequest& request) {
  request.note(SwapPoint::applied);
  const FrameNumber frame = table_.take_frame();
  {
    const UserThreadsSuspended suspended;
    std::memcpy(space_->pool().bytes(frame), buffer(request.buffer), page_bytes());
    put_in_place(request.page, frame);
    send_victims(1);
  }
  buffers_in_use_.fetch_and(~(1U << request.buffer));
  recv_bell_.ring();
  finish(request, frame);
}

void PaperPages::swap_r77(SwapRequest& request) {
  request.note(SwapPoint::received);
  request.note(SwapPoint::applied);
  const FrameNumber frame = table_.take_frame();
  {
    const UserThreadsSuspended suspended;
    receive(request.page, space_->pool().bytes(frame));
    put_in_place(request.page, frame);
    send_victims(1);
  }
  finish(request, frame);
}

// ---- what they have in common

// The next page that its server has ready, or null, after a poll.
SwapRequest* PaperPages::poll_for_ready(Backoff& backoff, WaitWatch& watch) {
  if (SwapRequest* request = ready_.pop()) return request;
  const SwapRequest* oldest = asked_.first();  // stays, as only this thread finishes it
  if (oldest == nullptr) return nullptr;
  if (range_.servers().poll()) {
    backoff.restart();
  } else {
    backoff.pause();
    range_.servers().look_for_answer(place(oldest->page).server, oldest->times.at(SwapPoint::taken), watch);
  }
  return nullptr;
}

void PaperPages::receive(PageNumber page, std::byte* into) {
  if (table_.is_blank(page)) {
    std::memset(into, 0, page_bytes());
    return LocalStatistics::count(statistics_.zeroed);
  }
  Completion moved;
  lent_.read(page, 0, into, page_bytes(), moved);
  range_.servers().drive_until([&moved] { return moved.done(); });
  LocalStatistics::count(statistics_.reads);
  LocalStatistics::count(statistics_.bytes_in, page_bytes());
}

void PaperPages::put_in_place(PageNumber page, FrameNumber frame) {
  while (!table_.map(page, frame)) {
    if (!send_victim()) fatal("cannot map a page of remote memory: %s", std::strerror(errno));
  }
}

// Until so many frames are free.
void PaperPages::send_victims(std::size_t free_frames) {
  for (Backoff backoff; table_.free_frames() < free_frames;) {
    if (!send_victim()) backoff.pause();
  }
}

// Returns false if no page may leave now.
bool PaperPages::send_victim() {
  const std::optional<PaperTable::Victim> victim = table_.choose_victim();
  if (!victim) return false;
  Completion moved;
  lent_.write(victim->page, 0, space_->pool().bytes(victim->frame), page_bytes(), moved);
  range_.servers().drive_until([&moved] { return moved.done(); });
  LocalStatistics::count(statistics_.writes);
  LocalStatistics::count(statistics_.bytes_out, page_bytes());
  table_.left(*victim);
  return true;
}

void PaperPages::finish(SwapRequest& request, FrameNumber frame) {
  request.note(SwapPoint::resumed);
  table_.arrive(request.page, frame);
  request.finish();
}

// ---- calls of the library

void PaperPages::forget(std::size_t offset, std::size_t n) {
  const SignalsBlocked blocked(kOwnFaults);
  const WaitsForPage waits;
  const PageSpan pages = pages::whole_pages(offset, n, page_bytes());
  for (PageNumber page = pages.first; page < pages.last; ++page) table_.forget(page);
}

void PaperPages::read(std::size_t offset, void* into, std::size_t n) const {
  pages::copy_out(into, base() + offset, n);
}

void PaperPages::write(std::size_t offset, const void* from, std::size_t n) const {
  pages::copy_in(base() + offset, from, n);
}

bool PaperPages::pin(std::size_t offset, std::size_t n, pages::Access) {
  const PageSpan touched = touched_pages(offset, n, page_bytes());
  {
    const LockGuard guard(pins_mutex_);
    if (pinned_ + touched.count() > settings_.frames / 4) return false;
    pinned_ += touched.count();
    pins_.emplace(offset, n);
  }
  for (PageNumber page = touched.first; page < touched.last; ++page) {
    {
      const SignalsBlocked blocked(kOwnFaults);
      table_.pin(page);
    }
    // Brings it, if it is not here.
    static_cast<void>(*static_cast<const volatile std::byte*>(base() + page * page_bytes()));
  }
  return true;
}

bool PaperPages::unpin(std::size_t offset, std::size_t n) {
  const SignalsBlocked blocked(kOwnFaults);
  const LockGuard guard(pins_mutex_);
  auto [found, end] = pins_.equal_range(offset);
  while (found != end && found->second != n) ++found;
  if (found == end) return false;
  pins_.erase(found);
  const PageSpan touched = touched_pages(offset, n, page_bytes());
  for (PageNumber page = touched.first; page < touched.last; ++page) table_.unpin(page);
  pinned_ -= touched.count();
  return true;
}

bool PaperPages::any_pinned(std::size_t offset, std::size_t n) {
  const PageSpan asked = touched_pages(offset, n, page_bytes());
  const LockGuard guard(pins_mutex_);
  return std::ranges::any_of(pins_, [&](const auto& pin) {
    return touched_pages(pin.first, pin.second, page_bytes()).meets(asked);
  });
}

}  // namespace shm::remote

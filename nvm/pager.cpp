// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/pager.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "base/service_thread.hpp"
#include "base/stats.hpp"
#include "nvm/copy.hpp"

namespace shm::nvm {
namespace {

constexpr long kShortNap = 50;  // microseconds, while the device works or a frame is awaited
constexpr int kBusyRounds = 20;
constexpr auto kAskAgain = std::chrono::milliseconds(1);

}  // namespace

Pager::Pager(Host& host, const Pool& pool, std::unique_ptr<Device> device, int me, int place,
             std::byte* segment)
    : host_(host),
      pool_(pool),
      policy_(pool),
      device_(std::move(device)),
      me_(me),
      place_(place),
      segment_(segment),
      inbox_(pool.part(place).inbox) {}

void Pager::start() {
  thread_ = start_service_thread("atoll-pager", [this] { run(); });
}

void Pager::stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  inbox_.ring();
  thread_.join();
  // A thread that still waits here gets on, and finds no heap any more.
  const auto end = [](Request& request) {
    request.frame = kNoFrame;
    complete(request);
  };
  for (Request* request : taken_requests()) end(*request);
  for (const auto& [number, page] : pages_) {
    for (const Wish& wish : page->wishes) {
      if (wish.request != nullptr) end(*wish.request);
    }
  }
}

void Pager::hand(int pe, const std::byte* message, std::size_t n) {
  auto foreign = std::make_unique<Foreign>(Foreign{pe, {message, message + n}});
  {
    const std::scoped_lock guard(mutex_);
    arrived_.push_back(std::move(foreign));
  }
  inbox_.ring();
}

void Pager::run() {
  int rounds = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    if (work()) {
      rounds = 0;
    } else if (++rounds < kBusyRounds) {
      sched_yield();
    } else {
      idle();
    }
  }
}

bool Pager::work() {
  bool worked = take_notes();
  worked |= take_foreign();
  worked |= finish_transfers();
  worked |= work_on_ranges();
  feed_starving();
  return worked;
}

void Pager::idle() {
  const std::uint32_t mark = inbox_.listen();
  const bool soon = device_->under_way() != 0 || !starving_.empty() || !ranges_.empty();
  bool nothing = inbox_.empty() && !stop_.load(std::memory_order_acquire);
  {
    const std::scoped_lock guard(mutex_);
    nothing &= arrived_.empty();
  }
  if (nothing) inbox_.sleep(mark, soon ? kShortNap : -1);
  inbox_.hear();
}

bool Pager::take_notes() {
  bool any = false;
  for (PageNumber page; inbox_.take_eviction(page); any = true) evict(page);
  for (Request* request : taken_requests()) {
    receive(*request);
    any = true;
  }
  return any;
}

// In the order of coming.
std::vector<Request*> Pager::taken_requests() {
  std::vector<Request*> requests;
  for (RequestId id = inbox_.take_requests(); id != 0;) {
    Request& request = pool_.part(place_of(id)).slots[slot_of(id)];
    id = request.next;
    requests.push_back(&request);
  }
  std::ranges::reverse(requests);
  return requests;
}

void Pager::receive(Request& request) {
  if (request.kind == Request::Kind::room || request.kind == Request::Kind::drop) {
    ranges_.push_back(&request);
  } else {
    want(request.page, {&request, nullptr});
  }
}

bool Pager::take_foreign() {
  std::deque<std::unique_ptr<Foreign>> arrived;
  {
    const std::scoped_lock guard(mutex_);
    arrived.swap(arrived_);
  }
  for (auto& foreign : arrived) {
    const PageNumber number = foreign->head().page;
    want(number, {nullptr, std::move(foreign)});
  }
  return !arrived.empty();
}

Access Pager::Wish::access() const {
  if (request != nullptr) return request->access;
  return access_of(foreign->head());
}

void Pager::want(PageNumber number, Wish wish) {
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  page->wishes.push_back(std::move(wish));
  if (page->step == Step::settled) serve(number, *page);
}

// Grants what waits, if the page is here; else sends for it.
void Pager::serve(PageNumber number, Page& page) {
  if (page.wishes.empty()) return;
  if (page.frame == kNoFrame) return load(number, page);
  while (!page.wishes.empty()) {
    grant(number, page, page.wishes.front());
    page.wishes.pop_front();
  }
}

// The word is open, and only this thread closes it: pins are to be had.
void Pager::grant(PageNumber number, Page& page, Wish& wish) {
  pool_.frame(page.frame).touched.store(1, std::memory_order_relaxed);
  if (wish.foreign != nullptr) return apply(number, *wish.foreign);
  Request& request = *wish.request;
  if (request.kind == Request::Kind::pin) {
    request.frame = pool_.word(number).pin(request.access);
  } else {
    count(Stat::page_faults);
    map(number, page, request.access);
  }
  complete(request);
}

void Pager::map(PageNumber number, Page& page, Access access) {
  const bool writable = access == Access::write;
  if (page.mapped == Mapped::to_write || (!writable && page.mapped == Mapped::to_read)) return;
  if (writable) {  // from now on the page counts as modified
    pool_.word(number).pin(Access::write);
    pool_.word(number).unpin();
  }
  host_.map(address(number), pool_.offset(page.frame), pool_.shape().page_bytes, writable);
  page.mapped = writable ? Mapped::to_write : Mapped::to_read;
}

void Pager::apply(PageNumber number, Foreign& foreign) {
  count(Stat::page_operations);
  Operation& head = foreign.head();
  std::byte message[sizeof(Answer) + kLargestPiece];
  Answer answer{head.token, head.dest, 0, 0};
  const FrameNumber frame = pool_.word(number).pin(access_of(head));
  std::byte* at = pool_.bytes(frame) + head.offset;
  if (head.kind == Operation::Kind::put) {
    copy_in(at, foreign.message.data() + sizeof head, head.n);
  } else if (head.kind == Operation::Kind::get) {
    answer.n = head.n;
    copy_out(message + sizeof answer, at, head.n);
  } else {
    atomic_apply(head.op, head.type, at, &head.value, &head.compare, &answer.old);
  }
  pool_.word(number).unpin();
  std::memcpy(message, &answer, sizeof answer);
  host_.answer(foreign.pe, message, sizeof answer + answer.n);
}

void Pager::load(PageNumber number, Page& page) {
  // Behind those that came before, here and in other pagers.
  if (pool_.head().starving.load(std::memory_order_relaxed) == 0) page.frame = policy_.take_free();
  if (page.frame == kNoFrame) {
    page.step = Step::wants_frame;
    starving_.push_back({number, {}});
    pool_.head().starving.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  page.step = Step::loading;
  transfer(page, number, Transfer::Kind::read);
}

void Pager::transfer(Page& page, PageNumber number, Transfer::Kind kind) {
  count(kind == Transfer::Kind::read ? Stat::page_loads : Stat::page_writes);
  page.transfer = {kind, pool_.offset_of(number), pool_.bytes(page.frame), pool_.shape().page_bytes, 0};
  moving_[&page.transfer] = number;
  device_->start(page.transfer);
}

bool Pager::finish_transfers() {
  bool any = false;
  while (Transfer* done = device_->finished()) {
    const PageNumber number = moving_.at(done);
    moving_.erase(done);
    Page& page = *pages_.at(number);
    if (done->error != 0) {
      fatal("the NVM heap cannot %s %zu bytes at offset %llu of PE %d's file: %s",
            page.step == Step::loading ? "read" : "write", done->n,
            static_cast<unsigned long long>(done->offset), me_, std::strerror(done->error));
    }
    if (page.step == Step::loading) {
      page.step = Step::settled;
      policy_.enter(page.frame, number);
      pool_.word(number).open(PageState::exclusive, page.frame);
      serve(number, page);
    } else {
      forget(number, page);
    }
    any = true;
  }
  return any;
}

// Pages that want a frame, in the order of coming.  For each that goes without, one page is asked to leave,
// and another one if that has not brought a frame for a while.
void Pager::feed_starving() {
  while (!starving_.empty()) {
    const Starving first = starving_.front();
    Page& page = *pages_.at(first.page);
    page.frame = policy_.take_free();
    if (page.frame == kNoFrame) break;
    starving_.pop_front();
    pool_.head().starving.fetch_sub(1, std::memory_order_relaxed);
    page.step = Step::loading;
    transfer(page, first.page, Transfer::Kind::read);
  }
  const Clock::time_point now = starving_.empty() ? Clock::time_point() : Clock::now();
  // By index: a page that leaves at once may itself be wanted again, and starve.
  for (std::size_t i = 0; i < starving_.size(); ++i) {
    if (now >= starving_[i].ask_again && ask_for_room()) starving_[i].ask_again = now + kAskAgain;
  }
}

// Returns whether a page has been asked to leave.
bool Pager::ask_for_room() {
  const FrameNumber victim = policy_.victim();
  if (victim == kNoFrame) return false;
  const std::uint64_t page = pool_.frame(victim).page.load(std::memory_order_relaxed);
  if (page == 0) return false;  // just gone
  const int pe = pool_.pe_of(page - 1);
  if (pe == me_) return evict(page - 1);
  if (pool_.part(host_.place_of(pe)).inbox.post_eviction(page - 1)) return true;
  policy_.spare(victim);
  return false;
}

// Returns whether the page leaves.
bool Pager::evict(PageNumber number) {
  const auto found = pages_.find(number);
  if (found == pages_.end()) return false;  // asked for too late
  Page& page = *found->second;
  if (page.step != Step::settled || page.frame == kNoFrame) return false;
  if (!shut(number, page)) {
    policy_.spare(page.frame);
    return false;
  }
  count(Stat::page_evictions);
  if (pool_.word(number).state() == PageState::modified) {
    page.step = Step::writing;
    transfer(page, number, Transfer::Kind::write);
  } else {
    forget(number, page);
  }
  return true;
}

// From here on nobody can reach the page.  Returns false if somebody is copying.
bool Pager::shut(PageNumber number, Page& page) {
  PageWord& word = pool_.word(number);
  if (!word.close()) {
    word.reopen();
    return false;
  }
  if (page.mapped != Mapped::no) host_.unmap(address(number), pool_.shape().page_bytes);
  page.mapped = Mapped::no;
  return true;
}

// The page has left; its frame is free.
void Pager::forget(PageNumber number, Page& page) {
  pool_.word(number).clear();
  policy_.leave(page.frame);
  policy_.give_free(page.frame);
  page.frame = kNoFrame;
  page.step = Step::settled;
  if (pool_.head().starving.load(std::memory_order_relaxed) != 0) {
    for (int place = 0; place < pool_.shape().node_size; ++place) {
      if (place != place_) pool_.part(place).inbox.ring();
    }
  }
  if (page.wishes.empty()) {
    pages_.erase(number);
  } else {
    serve(number, page);
  }
}

// Ranges of pages are worked on when none of the pages is on its way.
bool Pager::work_on_ranges() {
  return std::erase_if(ranges_, [this](Request* request) {
           const bool is_room = request->kind == Request::Kind::room;
           if (!(is_room ? make_room(*request) : drop(*request))) return false;
           complete(*request);
           return true;
         }) != 0;
}

// The first and the last page may be in use already, by other blocks.  Returns false if one of them is on its
// way.
bool Pager::make_room(Request& request) {
  for (const PageNumber number : {request.page, request.last - 1}) {
    const auto found = pages_.find(number);
    if (found != pages_.end() && found->second->step != Step::settled) return false;
  }
  const Status status = device_->reserve(pool_.offset_of(request.page), bytes_of(request));
  if (!status.ok()) warn("%s", status.text().c_str());
  request.failed = !status.ok();
  return true;
}

// Forgets the pages without writing them.  Returns false, to be asked again, if one is on its way or somebody
// copies.
bool Pager::drop(const Request& request) {
  for (PageNumber number = request.page; number < request.last; ++number) {
    const auto found = pages_.find(number);
    if (found == pages_.end()) continue;
    Page& page = *found->second;
    if (page.step != Step::settled || !shut(number, page)) return false;
    forget(number, page);
  }
  if (Status status = device_->release(pool_.offset_of(request.page), bytes_of(request)); !status.ok())
    warn("%s", status.text().c_str());
  return true;
}

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/page_cache.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "nvm/coherence/message_check.hpp"
#include "nvm/coherence/operations.hpp"
#include "pages/copy.hpp"

namespace shm::nvm {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(1);

bool is_asking(State state) { return state >= State::asking; }

// What threads may do with a page in this state without asking.
PageState open_as(State state) {
  switch (state) {
    case State::shared:
    case State::asking_clean: return PageState::shared;
    case State::owned:
    case State::asking_dirty: return PageState::owned;
    case State::exclusive: return PageState::exclusive;
    case State::modified: return PageState::modified;
    default: return PageState::invalid;
  }
}

Event event_for(Access access) { return access == Access::read ? Event::local_read : Event::local_write; }

bool is_grant(Event kind) { return kind >= Event::grant_shared && kind <= Event::grant_modified; }

}  // namespace

PageCache::CachedPage& PageCache::page_of(PageNumber number) {
  std::unique_ptr<CachedPage>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<CachedPage>();
  return *page;
}

void PageCache::request_page(PageRequest& request) {
  const PageNumber number = request.page;
  const PageRequest::Kind kind = request.kind;
  const PageRange ahead = request.ahead;
  add_pending(request);                         // it may be gone now
  if (kind == PageRequest::Kind::fill) return;  // who writes whole pages wants none read
  if (kind != PageRequest::Kind::map) return look_ahead(number);
  if (!resting_) bring(number, ahead);  // a thread that has faulted looks ahead itself
}

void PageCache::add_pending(PageRequest& request) {
  CachedPage& page = page_of(request.page);
  page.pending.push_back(&request);
  advance(request.page, page);
}

void PageCache::on_hint(const RequestQueue::Hint& hint) {
  if (hint.what == RequestQueue::What::filled) return on_filled(hint.page);
  if (resting_) return;
  if (hint.what == RequestQueue::What::evict) evict(hint.page);
  if (hint.what == RequestQueue::What::used) look_ahead(hint.page);
  if (hint.what == RequestQueue::What::bring) bring(hint.page, {hint.page, hint.step, hint.count});
  if (hint.what == RequestQueue::What::begin) bring(hint.page, read_ahead_.begin(hint.page));
}

void PageCache::take(Delivery delivery) {
  const PageNumber number = delivery.page;
  if (delivery.message.kind == Event::last_copy) return on_last_copy(number);
  if (delivery.message.kind == Event::fetched) {
    const FrameNumber frame = pool_.frame_at(delivery.message.tag);
    if (!channel_.fetched(number, frame))
      refuse_message(pool_.pe_of(number), kPagerMessage, "about a frame that it was not to fetch");
    return free(frame);
  }
  CachedPage& page = page_of(number);
  page.messages.push_back(std::move(delivery));
  advance(number, page);
  const auto found = pages_.find(number);
  if (found == pages_.end() || found->second->messages.empty()) return;
  // What keeps it may last: a program that has pinned it, say.
  if (found->second->frame != kNoFrame) count_leaving(found->second->frame, false);
  stopped_.push_back(number);
}

// Whether who needs a frame may wait for this one.
void PageCache::count_leaving(FrameNumber frame, bool leaving) {
  if (pool_.frame(frame).leaving == leaving) return;
  pool_.frame(frame).leaving = leaving;
  pool_.head().leaving.fetch_add(leaving ? 1U : ~0U, std::memory_order_relaxed);
}

// The page may have gone meanwhile.
void PageCache::on_last_copy(PageNumber number) {
  const auto found = pages_.find(number);
  if (found != pages_.end() && has_copy(found->second->known.state))
    replacement_.mark_last_copy(found->second->frame);
}

bool PageCache::keep_for_use(PageNumber number) {
  const auto found = pages_.find(number);
  if (found == pages_.end() || !has_copy(found->second->known.state)) return true;
  const FrameNumber frame = found->second->frame;
  if (pool_.frame(frame).leaving) return false;
  replacement_.refresh(frame, number);
  return true;
}

bool PageCache::work() {
  bool worked = false;
  for (std::size_t i = 0; i < stopped_.size();) {
    const PageNumber number = stopped_[i];
    const auto found = pages_.find(number);
    if (found != pages_.end()) advance(number, *found->second);
    const auto after = pages_.find(number);
    if (after != pages_.end() && !after->second->messages.empty()) {
      ++i;
      continue;
    }
    worked = true;
    stopped_[i] = stopped_.back();
    stopped_.pop_back();
  }
  worked |= serve_frame_waiters();
  keep_spare_frames();
  return worked | std::exchange(dropped_, false);
}

// All that can happen to the page now.
void PageCache::advance(PageNumber number, CachedPage& page) {
  while (!page.messages.empty() && handle(number, page, page.messages.front())) page.messages.pop_front();
  serve_pending(number, page);
  give_back(page);
  forget_if_unused(number);
}

// What has been reserved for requests that were served otherwise.
void PageCache::give_back(CachedPage& page) {
  if (!page.pending.empty() || page.awaits_frame || is_asking(page.known.state)) return;
  expect(page, false);
  if (page.known.state != State::invalid || page.frame == kNoFrame || page.loading || page.load) return;
  free(page.frame);
  page.frame = kNoFrame;
}

void PageCache::forget_if_unused(PageNumber number) {
  const auto found = pages_.find(number);
  const CachedPage& page = *found->second;
  if (page.known.state == State::invalid && page.messages.empty() && page.pending.empty() && !page.load &&
      !page.awaits_frame && page.frame == kNoFrame)
    pages_.erase(found);
}

// Accesses.

void PageCache::serve_pending(PageNumber number, CachedPage& page) {
  if (page.stopping || page.filling) return;
  std::erase_if(page.pending, [&](PageRequest* request) { return serve_access(number, page, *request); });
}

// Returns whether the request is answered; else it has been asked for, or something it needs.
bool PageCache::serve_access(PageNumber number, CachedPage& page, PageRequest& request) {
  const Event event = event_for(request.access);
  learn(number, page);
  const Actions actions = step(page.known.state, event).actions;
  if (actions & action::proceed) {
    grant(number, page, request);
    return true;
  }
  if (actions & action::defer || page.awaits_frame || !reserve(number, page)) return false;
  ask(number, page, event, request.kind == PageRequest::Kind::fill ? Need::whole : Need::now);
  return false;
}

void PageCache::ask(PageNumber number, CachedPage& page, Event event, Need need) {
  const Outcome outcome = on_local(page.known, event, nodes_.here, home_of(number), pool_.offset(page.frame),
                                   need == Need::ahead, need == Need::whole);
  ++asking_;
  channel_.send({.page = number, .message = outcome.messages[0]});
}

// The word is open, and only this thread closes it: it can be latched.
void PageCache::grant(PageNumber number, CachedPage& page, PageRequest& request) {
  pool_.frame(page.frame).touched.store(kTouched, std::memory_order_relaxed);
  const PageRequest::Kind kind = request.kind;
  if (kind == PageRequest::Kind::map) count(Stat::page_faults);
  if (kind == PageRequest::Kind::map || kind == PageRequest::Kind::pin) map(number, page, request.access);
  request.unfilled = false;
  if (kind == PageRequest::Kind::latch || kind == PageRequest::Kind::fill)
    request.frame = pool_.word(number).latch(request.access);
  if (kind == PageRequest::Kind::pin) {
    request.frame = page.frame;
    pool_.frame(page.frame).pins(request.access).fetch_add(1, std::memory_order_relaxed);
  }
  complete(request);
}

// The page has been granted without data to a thread that will write all of it, and is not published before
// it has: so nobody sees what was in the frame.
void PageCache::have_filled(PageNumber number, CachedPage& page) {
  const auto found = std::ranges::find(page.pending, PageRequest::Kind::fill, &PageRequest::kind);
  if (found == page.pending.end())
    fatal("internal error: nobody wants to fill page %llu", static_cast<unsigned long long>(number));
  PageRequest& request = **found;
  page.pending.erase(found);
  page.filling = true;
  pool_.frame(page.frame).touched.store(kTouched, std::memory_order_relaxed);
  request.frame = page.frame;
  request.unfilled = true;
  complete(request);
}

void PageCache::on_filled(PageNumber number) {
  CachedPage& page = *pages_.at(number);
  page.filling = false;
  publish(number, page);
  advance(number, page);
}

// Messages.

// Returns false if it has to wait: for threads that copy, or have just got the page by a fault, or for a
// program that has pinned it.
bool PageCache::handle(PageNumber number, CachedPage& page, Delivery& delivery) {
  const Message& message = delivery.message;
  if (page.filling || is_pinned_against(page, delivery)) return false;
  if (const Actions stops = stops_of(page, delivery); stops != 0 && !stop(number, page, stops)) return false;
  learn(number, page);
  if (message.kind == Event::forward_read && has_copy(page.known.state)) replacement_.share(page.frame);
  const State before = page.known.state;
  const Outcome outcome = on_message(page.known, message, home_of(number));
  if (outcome.actions == 0) {
    fatal("internal error: page %llu, which is %s here, cannot take %s from PE %d",
          static_cast<unsigned long long>(number), name(before), name(message.kind),
          nodes_.caching_pe(pool_.pe_of(number), message.from));
  }
  const bool granted = is_grant(message.kind);
  if (is_asking(before) && !is_asking(page.known.state)) --asking_;
  if (outcome.actions & action::take_data) {
    replacement_.enter(page.frame, number);
    pool_.frame(page.frame).operated_by.store(kNobody, std::memory_order_relaxed);
  }
  if (granted || message.kind >= Event::refuse) page.loading = false;  // what the load was for
  if (outcome.actions & action::execute) {
    static_cast<void>(pool_.word(number).state());  // acquire: what threads have copied in is seen
    apply(page, *delivery.operation);
  }
  if (message.kind == Event::invalidate && has_copy(before)) count(Stat::page_invalidations);
  if (granted && message.data && message.from != home_of(number)) count(Stat::page_fetches);
  if (granted) expect(page, false);
  if (granted && message.whole && before == State::asking) {
    have_filled(number, page);
  } else {
    publish(number, page);
  }
  if (granted && !page.filling) {
    if (page.pending.empty()) pool_.frame(page.frame).touched.store(kAhead, std::memory_order_relaxed);
    serve_pending(number, page);  // before `done` is sent
  }
  const bool lost = has_copy(before) && page.known.state == State::asking;
  send_all(number, page, outcome, std::move(delivery.operation), lost && !page.expected);
  if (lost && page.frame != kNoFrame) replacement_.leave(page.frame);
  return true;
}

bool PageCache::is_pinned_against(const CachedPage& page, const Delivery& delivery) const {
  const Event kind = delivery.message.kind;
  return (kind == Event::get || kind == Event::put) && has_copy(page.known.state) &&
         nvm::is_pinned_against(pool_.frame(page.frame), delivery.operation->head(), nodes_);
}

// What the threads of this node must be kept from before it is handled.
Actions PageCache::stops_of(const CachedPage& page, const Delivery& delivery) {
  return step(page.known.state, delivery.message.kind).actions & (action::stop_access | action::stop_writes);
}

// Of the page's first message: nothing but a pin keeps it, and who ends that rings.
bool PageCache::waits_for_unpin(PageNumber number) const {
  const auto found = pages_.find(number);
  if (found == pages_.end() || found->second->messages.empty()) return false;
  const CachedPage& page = *found->second;
  if (page.filling || page.frame == kNoFrame) return false;
  const Delivery& first = page.messages.front();
  if (is_pinned_against(page, first)) return true;
  const Actions stops = stops_of(page, first);
  return stops != 0 && is_pinned(page, stops);
}

long PageCache::longest_sleep() const {
  if (!std::ranges::all_of(stopped_, [this](PageNumber number) { return waits_for_unpin(number); }))
    return kNap;
  if (frame_waiters_.empty()) return LONG_MAX;
  return enough_leave() ? std::chrono::microseconds(kAskAgain).count() : kNap;
}

// What follows from a message; then the frame is free, if the page has gone, or `is_asked_to_leave` and has
// lost its copy: its home may say `leave` much later, when a load that is before that has found a frame.
// `operation`: what the message asked for.
void PageCache::send_all(PageNumber number, CachedPage& page, const Outcome& outcome,
                         std::unique_ptr<Foreign> operation, bool is_asked_to_leave) {
  const bool leaves = is_asked_to_leave || (outcome.actions & action::give_up) != 0;
  bool sent = false;  // from the frame, which is freed when that has ended
  for (std::size_t i = 0; i < outcome.count; ++i) {
    const Message& out = outcome.messages[i];
    if (out.kind == Event::result) continue;  // apply() has answered
    if (out.kind == Event::absent) {
      channel_.send({.page = number, .message = out, .operation = std::move(operation)});
      continue;
    }
    const bool from_frame = leaves && out.data;
    page.fetched = out.kind == Event::done && out.data;
    send(number, page, out, from_frame);
    sent |= from_frame;
  }
  if (leaves && page.frame != kNoFrame) leave_frame(page, sent);
}

// The page has gone from its frame, which is free, unless it is still sent from there.
void PageCache::leave_frame(CachedPage& page, bool sent) {
  replacement_.leave(page.frame);
  if (!sent) free(page.frame);
  expect(page, false);
  page.frame = kNoFrame;
}

void PageCache::send(PageNumber number, CachedPage& page, const Message& message, bool leaves) {
  Delivery out{.page = number, .message = message};
  if (message.data) {
    out.frame = page.frame;
    out.frees = leaves;
    if (message.kind != Event::done) count(Stat::page_forwards);
  }
  channel_.send(std::move(out));
}

// Lets threads see what the page is now.
void PageCache::publish(PageNumber number, CachedPage& page) const {
  PageWord& word = pool_.word(number);
  const PageState state = open_as(page.known.state);
  if (state == PageState::invalid) {
    if (page.stopping || word.state() != PageState::invalid) word.clear();  // else it remembers when it left
  } else if (page.stopping || word.state() == PageState::invalid) {
    word.open(state, page.frame);
  } else {
    word.become(state);
  }
  page.stopping = false;
}

// Threads make an exclusive page modified without telling.
void PageCache::learn(PageNumber number, CachedPage& page) const {
  if (page.known.state == State::exclusive && pool_.word(number).state() == PageState::modified)
    page.known.state = State::modified;
}

// Of the node's frames that programs have not pinned about half are reserved for pages to come at most: so
// who executes an operation on a page that nobody has, while others wait for that page, finds one that can
// leave.
void PageCache::expect(CachedPage& page, bool expected) {
  if (page.expected == expected) return;
  page.expected = expected;
  pool_.head().expected.fetch_add(expected ? 1U : ~0U, std::memory_order_relaxed);
  if (!expected) ring_frame_waiters();
}

void PageCache::apply(const CachedPage& page, Foreign& operation) {
  std::byte message[sizeof(Answer) + kLargestOperation];
  const std::size_t n = execute(operation.head(), operation.data(), pool_, page.frame, nodes_, message);
  channel_.answer(operation.head().pe, message, n);
}

// Frames.

// What the page needs to be asked for, or to be loaded: behind those that came before, here and in other
// pagers.
bool PageCache::reserve(PageNumber number, CachedPage& page) {
  if (page.frame != kNoFrame && (page.load || page.expected)) return true;
  if (pool_.head().frame_waiters.load(std::memory_order_relaxed) == 0 && take_frame(page)) return true;
  page.awaits_frame = true;
  frame_waiters_.push_back({number, {}});
  pool_.head().frame_waiters.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool PageCache::take_frame(CachedPage& page) {
  if (!page.load && too_many_expected()) return false;  // it would wait for others, not for a frame
  if (page.frame == kNoFrame) page.frame = replacement_.take_free();
  if (page.frame == kNoFrame) return false;
  if (!page.load) expect(page, true);
  taken_ = true;
  last_taken_ = page.frame;
  return true;
}

std::optional<std::uint32_t> PageCache::claim_group() {
  if (last_taken_ == kNoFrame) return std::nullopt;
  return pool_.claim_group(std::exchange(last_taken_, kNoFrame));
}

bool PageCache::too_many_expected() const {
  const PoolHead& head = pool_.head();
  const std::size_t pinned = head.pinned.load(std::memory_order_relaxed);
  return head.expected.load(std::memory_order_relaxed) >= (pool_.shape().frames - pinned) / 2;
}

void PageCache::give_frame(Delivery load) {
  const PageNumber number = load.page;
  CachedPage& page = page_of(number);
  page.load = std::move(load);
  if (page.awaits_frame || !reserve(number, page)) return;
  page.load->frame = page.frame;
  page.loading = true;
  channel_.deliver_here(std::move(*page.load));
  page.load.reset();
}

// Pages that want a frame, in the order of coming.  For each that goes without, one page is asked to leave.
bool PageCache::serve_frame_waiters() {
  bool any = false;
  for (std::size_t i = 0; i < frame_waiters_.size();) {
    const PageNumber number = frame_waiters_[i].page;
    CachedPage& page = *pages_.at(number);
    if (needs_frame(page) && !take_frame(page)) {
      ++i;
      continue;
    }
    frame_waiters_.erase(frame_waiters_.begin() + static_cast<std::ptrdiff_t>(i));
    page.awaits_frame = false;
    pool_.head().frame_waiters.fetch_sub(1, std::memory_order_relaxed);
    if (page.load) give_frame(std::move(*page.load));
    advance(number, page);
    any = true;
  }
  if (!frame_waiters_.empty()) ask_for_room();
  return any;
}

// Not if the page has come meanwhile, for an operation of another node.
bool PageCache::needs_frame(const CachedPage& page) {
  return page.load || std::ranges::any_of(page.pending, [&](const PageRequest* request) {
           return (step(page.known.state, event_for(request->access)).actions & action::ask) != 0;
         });
}

bool PageCache::enough_leave() const {
  const PoolHead& head = pool_.head();
  return replacement_.free_frames() + head.leaving.load(std::memory_order_relaxed) >=
         head.frame_waiters.load(std::memory_order_relaxed);
}

// Another one is asked if fewer leave than are needed: the first may have been kept, or have gone to another
// pager, or that one has not heard of it for a while.  A device that is slow is no reason.
void PageCache::ask_for_room() {
  const Clock::time_point now = host_.now();
  // By index: a page that leaves at once may itself be asked for again, and lack a frame.
  for (std::size_t i = 0; i < frame_waiters_.size(); ++i) {
    const bool lacks_frame = pages_.at(frame_waiters_[i].page)->load || !too_many_expected();
    if (lacks_frame && now >= frame_waiters_[i].ask_again && !enough_leave() && ask_to_leave())
      frame_waiters_[i].ask_again = now + kAskAgain;
  }
}

// Write-behind: where frames have been taken and few are free, a page leaves, one in each round.
void PageCache::keep_spare_frames() {
  if (!taken_ || resting_) return;
  const std::size_t leaving = pool_.head().leaving.load(std::memory_order_relaxed);
  taken_ = replacement_.free_frames() + leaving < spare_frames_ && ask_to_leave();
}

// A page is used: what follows it may be brought.
void PageCache::look_ahead(PageNumber page) {
  if (!resting_) bring(page, read_ahead_.use(page));
}

// Pages of the sequence of `page`, as far as its segment goes and there are frames.
void PageCache::bring(PageNumber page, ReadAhead::Range range) {
  const std::uint64_t pages = pool_.shape().segment_pages;
  for (; range.count > 0 && range.first / pages == page / pages && bring(range.first); --range.count)
    range.first += static_cast<PageNumber>(range.step);
}

// Asks for a page that nobody waits for, to be read.  Returns false if there is no frame to spare.
bool PageCache::bring(PageNumber number) {
  if (pages_.contains(number)) return true;
  if (pool_.head().frame_waiters.load(std::memory_order_relaxed) != 0) return false;
  CachedPage& page = page_of(number);
  if (!take_frame(page)) {
    forget_if_unused(number);
    return false;
  }
  ask(number, page, Event::local_read, Need::ahead);
  count(Stat::page_ahead);
  return true;
}

// Returns whether a page has been asked to leave.
bool PageCache::ask_to_leave() {
  const FrameNumber victim = replacement_.victim();
  if (victim == kNoFrame) return false;
  const std::uint64_t page = pool_.frame(victim).page.load(std::memory_order_relaxed);
  if (page == 0) return false;  // just gone
  const int agent = nodes_.caching_pe(pool_.pe_of(page - 1), nodes_.here);
  if (agent == me_) return evict(page - 1);
  if (pool_.requests_of(nodes_.node_rank_of(agent)).queue.post_hint({page - 1, RequestQueue::What::evict}))
    return true;
  replacement_.spare(victim, page - 1);
  return false;
}

// Returns whether the page is about to leave, or has left.
bool PageCache::evict(PageNumber number) {
  const auto found = pages_.find(number);
  if (found == pages_.end() || found->second->frame == kNoFrame) return false;  // asked for too late
  CachedPage& page = *found->second;
  learn(number, page);
  const Actions actions = step(page.known.state, Event::local_evict).actions;
  const bool can = actions & action::ask && page.messages.empty() && !page.filling;
  // All access is stopped, as a page that is in use stays.
  if (!can || !stop_at_once(number, page)) {
    replacement_.spare(page.frame, number);
    return false;
  }
  learn(number, page);
  count(Stat::page_evictions);
  if (can_drop(number, page)) {
    tell_dropped(number, page);
    return true;
  }
  ask(number, page, Event::local_evict);
  publish(number, page);
  count_leaving(page.frame, true);
  return true;
}

// At home the page's directory is as near as the page, and has operations executed here.  While the page is
// being sent, or its home fetches it, the frame is not free; the home is busy with it, and says `leave` after
// that.
bool PageCache::can_drop(PageNumber number, const CachedPage& page) const {
  return home_of(number) != nodes_.here && page.pending.empty() && !page.awaits_frame && !page.fetched &&
         !channel_.sends_from(page.frame) && step(page.known.state, Event::local_drop).actions != 0;
}

// REQUIRES: stopped, and can_drop().
void PageCache::tell_dropped(PageNumber number, CachedPage& page) {
  const Outcome outcome = on_local(page.known, Event::local_drop, nodes_.here, home_of(number));
  publish(number, page);
  channel_.send({.page = number, .message = outcome.messages[0]});
  leave_frame(page, false);
  dropped_ = true;
  forget_if_unused(number);
}

void PageCache::free(FrameNumber frame) {
  count_leaving(frame, false);
  replacement_.give_free(frame);
  ring_frame_waiters();
}

// This pager looks at its own in each round.
void PageCache::ring_frame_waiters() const {
  if (pool_.head().frame_waiters.load(std::memory_order_relaxed) == 0) return;
  const int mine = nodes_.node_rank_of(me_);
  for (int node_rank = 0; node_rank < pool_.shape().node_size; ++node_rank) {
    if (node_rank != mine) pool_.requests_of(node_rank).queue.ring();
  }
}

// By a request of this pager's own, one for a page.
void PageCache::call_back(PageNumber number) {
  if (!page_of(number).pending.empty()) return;
  std::erase_if(own_requests_, [](const auto& one) { return one->state.load() == PageRequest::kDone; });
  PageRequest& request = *own_requests_.emplace_back(std::make_unique<PageRequest>());
  request.kind = PageRequest::Kind::own;
  request.access = Access::write;
  request.page = number;
  add_pending(request);
}

bool PageCache::drop(PageNumber number) {
  const auto found = pages_.find(number);
  if (found == pages_.end()) return true;
  CachedPage& page = *found->second;
  if (is_asking(page.known.state)) return false;
  if (page.frame == kNoFrame) return true;
  const bool busy = page.filling || !page.messages.empty();
  if (busy || !stop_at_once(number, page)) return false;
  page.known = {};
  publish(number, page);
  leave_frame(page, false);
  advance(number, page);
  return true;
}

}  // namespace shm::nvm

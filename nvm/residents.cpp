// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/residents.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "nvm/copy.hpp"

namespace shm::nvm {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(1);
// A thread that has faulted gets so long to try its access again: else two that want a page could take it
// from each other and never use it.
constexpr auto kShortestStay = std::chrono::microseconds(50);

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

Residents::Resident& Residents::resident(PageNumber number) {
  std::unique_ptr<Resident>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Resident>();
  return *page;
}

void Residents::want(Request& request) {
  const PageNumber number = request.page;
  wish(request);  // it may be gone now
  look_ahead(number);
}

void Residents::wish(Request& request) {
  Resident& page = resident(request.page);
  page.wishes.push_back(&request);
  advance(request.page, page);
}

void Residents::heed(const Inbox::Note& note) {
  if (resting_) return;
  if (note.what == Inbox::What::evict) evict(note.page);
  if (note.what == Inbox::What::used) look_ahead(note.page);
  if (note.what == Inbox::What::bring) bring(note.page);
}

void Residents::take(Delivery delivery) {
  const PageNumber number = delivery.page;
  Resident& page = resident(number);
  page.messages.push_back(std::move(delivery));
  advance(number, page);
  if (const auto found = pages_.find(number); found != pages_.end() && !found->second->messages.empty())
    stopped_.push_back(number);
}

bool Residents::work() {
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
  worked |= feed_starving();
  keep_spare_frames();
  return worked;
}

// All that can happen to the page now.
void Residents::advance(PageNumber number, Resident& page) {
  while (!page.messages.empty() && obey(number, page, page.messages.front())) page.messages.pop_front();
  serve_wishes(number, page);
  give_back(page);
  forget_if_unused(number);
}

// What has been reserved for wishes that were served otherwise.
void Residents::give_back(Resident& page) {
  if (!page.wishes.empty() || page.starving || is_asking(page.known.state)) return;
  expect(page, false);
  if (page.known.state != State::invalid || page.frame == kNoFrame || page.loading || page.load) return;
  free(page.frame);
  page.frame = kNoFrame;
}

void Residents::forget_if_unused(PageNumber number) {
  const auto found = pages_.find(number);
  const Resident& page = *found->second;
  if (page.known.state == State::invalid && page.messages.empty() && page.wishes.empty() && !page.load &&
      !page.starving && page.frame == kNoFrame)
    pages_.erase(found);
}

// Accesses.

void Residents::serve_wishes(PageNumber number, Resident& page) {
  if (page.stopping) return;
  std::erase_if(page.wishes, [&](Request* request) { return serve_wish(number, page, *request); });
}

// Returns whether the request is answered; else it has been asked for, or something it needs.
bool Residents::serve_wish(PageNumber number, Resident& page, Request& request) {
  const Event event = event_for(request.access);
  learn(number, page);
  const Actions actions = step(page.known.state, event).actions;
  if (actions & action::proceed) {
    grant(number, page, request);
    return true;
  }
  if (actions & action::hold || page.starving || !reserve(number, page)) return false;
  ask(number, page, event);
  return false;
}

void Residents::ask(PageNumber number, Resident& page, Event event) {
  const Outcome outcome = on_local(page.known, event, nodes_.here, home_of(number), pool_.offset(page.frame));
  ++asking_;
  post_.send({.page = number, .message = outcome.messages[0]});
}

// The word is open, and only this thread closes it: pins are to be had.
void Residents::grant(PageNumber number, Resident& page, Request& request) {
  pool_.frame(page.frame).touched.store(kTouched, std::memory_order_relaxed);
  const Request::Kind kind = request.kind;
  if (kind == Request::Kind::map) count(Stat::page_faults);
  if (kind == Request::Kind::map || kind == Request::Kind::hold) map(number, page, request.access);
  if (kind == Request::Kind::pin) request.frame = pool_.word(number).pin(request.access);
  if (kind == Request::Kind::hold) {
    request.frame = page.frame;
    pool_.frame(page.frame).holds(request.access).fetch_add(1, std::memory_order_relaxed);
  }
  complete(request);
}

void Residents::map(PageNumber number, Resident& page, Access access) {
  const bool writable = access == Access::write;
  page.mapped_at = host_.now();
  if (page.mapped == Mapped::to_write || (!writable && page.mapped == Mapped::to_read)) return;
  if (writable) {  // from now on the page counts as modified
    pool_.word(number).pin(Access::write);
    pool_.word(number).unpin();
  }
  host_.map(address(number), pool_.offset(page.frame), pool_.shape().page_bytes, writable);
  page.mapped = writable ? Mapped::to_write : Mapped::to_read;
}

// Messages.

// Returns false if it has to wait: for threads that copy, or have just got the page by a fault, or for a
// program that has pinned it.
bool Residents::obey(PageNumber number, Resident& page, Delivery& delivery) {
  const Message& message = delivery.message;
  if (is_held_from(page, delivery)) return false;
  constexpr Actions kStops = action::stop_access | action::stop_writes;
  if (const Actions stops = step(page.known.state, message.kind).actions & kStops;
      stops != 0 && !stop(number, page, stops))
    return false;
  learn(number, page);
  const State before = page.known.state;
  const Outcome outcome = on_message(page.known, message, home_of(number));
  if (outcome.actions == 0) {
    fatal("internal error: page %llu, which is %s here, cannot obey %s from node %d",
          static_cast<unsigned long long>(number), name(before), name(message.kind), message.from);
  }
  const bool granted = is_grant(message.kind);
  if (is_asking(before) && !is_asking(page.known.state)) --asking_;
  if (outcome.actions & action::take_data) policy_.enter(page.frame, number);
  if (message.kind == Event::get || message.kind == Event::put) page.loading = false;
  if (outcome.actions & action::execute) {
    static_cast<void>(pool_.word(number).state());  // acquire: what threads have copied in is seen
    apply(page, *delivery.operation);
  }
  if (message.kind == Event::invalidate) count(Stat::page_invalidations);
  if (granted && message.data && message.from != home_of(number)) count(Stat::page_fetches);
  publish(number, page);
  if (granted) {
    expect(page, false);
    if (page.wishes.empty()) pool_.frame(page.frame).touched.store(kAhead, std::memory_order_relaxed);
    serve_wishes(number, page);  // before `done` is sent
  }
  send_all(number, page, outcome);
  if (has_copy(before) && page.known.state == State::asking) policy_.leave(page.frame);
  return true;
}

// Whether an operation would change what a program has pinned, or see it while it is written to.  What comes
// from this node is the program's own, which would wait for itself.
bool Residents::is_held_from(const Resident& page, const Delivery& delivery) const {
  const Event kind = delivery.message.kind;
  if ((kind != Event::get && kind != Event::put) || !has_copy(page.known.state)) return false;
  if (nodes_.node_of(delivery.operation->head().pe) == nodes_.here) return false;
  const Frame& frame = pool_.frame(page.frame);
  return frame.held_to_write.load(std::memory_order_acquire) != 0 ||
         (kind == Event::put && frame.held_to_read.load(std::memory_order_acquire) != 0);
}

// What follows from a message; then the frame is free, if the page has gone.
void Residents::send_all(PageNumber number, Resident& page, const Outcome& outcome) {
  const bool leaves = outcome.actions & action::give_up;
  bool lent = false;  // the frame, until it is stored or sent
  for (std::size_t i = 0; i < outcome.count; ++i) {
    const Message& out = outcome.messages[i];
    if (out.kind == Event::result) continue;  // apply() has answered
    const bool copied = out.kind == Event::done && pool_.pe_of(number) != me_;
    const bool lends = leaves && out.data && !copied;
    send(number, page, out, lends);
    lent |= lends;
  }
  if (!leaves) return;
  policy_.leave(page.frame);
  if (!lent) free(page.frame);
  expect(page, false);
  page.frame = kNoFrame;
}

void Residents::send(PageNumber number, Resident& page, const Message& message, bool leaves) {
  Delivery out{.page = number, .message = message};
  if (message.data) {
    out.frame = page.frame;
    out.frees = leaves;
    if (message.kind != Event::done) count(Stat::page_forwards);
  }
  post_.send(std::move(out));
}

// From here on nobody writes to the page, or reaches it.  Returns false if it is too early.
bool Residents::stop(PageNumber number, Resident& page, Actions actions) {
  const bool all = actions & action::stop_access;
  // What programs have pinned stays, and is open to them meanwhile.
  const Frame& frame = pool_.frame(page.frame);
  if (frame.held_to_write.load(std::memory_order_acquire) != 0) return false;
  if (all && frame.held_to_read.load(std::memory_order_acquire) != 0) return false;
  const bool changes = page.mapped == Mapped::to_write || (all && page.mapped == Mapped::to_read);
  if (changes && host_.now() - page.mapped_at < kShortestStay) return false;
  page.stopping = true;
  if (!pool_.word(number).close()) return false;
  if (!changes) return true;
  const std::size_t page_bytes = pool_.shape().page_bytes;
  if (all) {
    host_.unmap(address(number), page_bytes);
  } else {
    host_.map(address(number), pool_.offset(page.frame), page_bytes, false);
  }
  page.mapped = all ? Mapped::no : Mapped::to_read;
  return true;
}

// The same, but not later: if it is too early all is as before.
bool Residents::stop_at_once(PageNumber number, Resident& page) {
  if (stop(number, page, action::stop_access)) return true;
  if (page.stopping) pool_.word(number).reopen();
  page.stopping = false;
  return false;
}

// Lets threads see what the page is now.
void Residents::publish(PageNumber number, Resident& page) const {
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
void Residents::learn(PageNumber number, Resident& page) const {
  if (page.known.state == State::exclusive && pool_.word(number).state() == PageState::modified)
    page.known.state = State::modified;
}

// Of the node's frames that programs have not pinned about half are reserved for pages to come at most: so
// who executes an operation on a page that nobody has, while others wait for that page, finds one that can
// leave.
void Residents::expect(Resident& page, bool expected) {
  if (page.expected == expected) return;
  page.expected = expected;
  pool_.head().expected.fetch_add(expected ? 1U : ~0U, std::memory_order_relaxed);
}

void Residents::apply(Resident& page, Foreign& operation) {
  count(Stat::page_operations);
  const Operation& head = operation.head();
  std::byte message[sizeof(Answer) + kLargestOperation];
  // Contended: a thread of this node has had the page since the last operation, or that was another node's.
  std::atomic<std::uint8_t>& touched = pool_.frame(page.frame).touched;
  const NodeId by = nodes_.node_of(head.pe);
  const bool contended =
      touched.exchange(kOperated, std::memory_order_relaxed) == kTouched || page.operated_by != by;
  page.operated_by = by;
  Answer answer{head.token, head.dest, head.page, 0, contended};
  std::byte* at = pool_.bytes(page.frame) + head.offset;
  if (head.kind == Operation::Kind::put) {
    copy_in(at, operation.data(), head.n);
  } else if (head.kind == Operation::Kind::get) {
    answer.n = head.n;
    copy_out(message + sizeof answer, at, head.n);
  } else {
    std::uint64_t old = 0;
    atomic_apply(head.op, head.type, at, &head.value, &head.compare, &old);
    answer.n = sizeof old;
    std::memcpy(message + sizeof answer, &old, sizeof old);
  }
  std::memcpy(message, &answer, sizeof answer);
  host_.answer(head.pe, message, sizeof answer + answer.n);
}

// Frames.

// What the page needs to be asked for, or to be loaded: behind those that came before, here and in other
// pagers.
bool Residents::reserve(PageNumber number, Resident& page) {
  if (page.frame != kNoFrame && (page.load || page.expected)) return true;
  if (pool_.head().starving.load(std::memory_order_relaxed) == 0 && take_frame(page)) return true;
  page.starving = true;
  starving_.push_back({number, {}});
  pool_.head().starving.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Residents::take_frame(Resident& page) {
  if (!page.load && too_many_expected()) return false;  // it would wait for others, not for a frame
  if (page.frame == kNoFrame) page.frame = policy_.take_free();
  if (page.frame == kNoFrame) return false;
  if (!page.load) expect(page, true);
  taken_ = true;
  return true;
}

bool Residents::too_many_expected() const {
  const PoolHead& head = pool_.head();
  const std::size_t held = head.held.load(std::memory_order_relaxed);
  return head.expected.load(std::memory_order_relaxed) >= (pool_.shape().frames - held) / 2;
}

void Residents::give_frame(Delivery load) {
  const PageNumber number = load.page;
  Resident& page = resident(number);
  page.load = std::move(load);
  if (page.starving || !reserve(number, page)) return;
  page.load->frame = page.frame;
  page.loading = true;
  post_.keep(std::move(*page.load));
  page.load.reset();
}

// Pages that want a frame, in the order of coming.  For each that goes without, one page is asked to leave,
// and another one if that has not brought a frame for a while.
bool Residents::feed_starving() {
  bool any = false;
  for (std::size_t i = 0; i < starving_.size();) {
    const PageNumber number = starving_[i].page;
    Resident& page = *pages_.at(number);
    if (needs_frame(page) && !take_frame(page)) {
      ++i;
      continue;
    }
    starving_.erase(starving_.begin() + static_cast<std::ptrdiff_t>(i));
    page.starving = false;
    pool_.head().starving.fetch_sub(1, std::memory_order_relaxed);
    if (page.load) give_frame(std::move(*page.load));
    advance(number, page);
    any = true;
  }
  if (!starving_.empty()) ask_for_room();
  return any;
}

// Not if the page has come meanwhile, for an operation of another node.
bool Residents::needs_frame(const Resident& page) {
  return page.load || std::ranges::any_of(page.wishes, [&](const Request* request) {
           return (step(page.known.state, event_for(request->access)).actions & action::ask) != 0;
         });
}

void Residents::ask_for_room() {
  const Clock::time_point now = host_.now();
  // By index: a page that leaves at once may itself be wanted again, and starve.
  for (std::size_t i = 0; i < starving_.size(); ++i) {
    const bool lacks_frame = pages_.at(starving_[i].page)->load || !too_many_expected();
    if (lacks_frame && now >= starving_[i].ask_again && ask_to_leave())
      starving_[i].ask_again = now + kAskAgain;
  }
}

// Write-behind: where frames have been taken and few are free, a page leaves, one in each round.
void Residents::keep_spare_frames() {
  if (!taken_ || resting_) return;
  const std::size_t leaving = pool_.head().leaving.load(std::memory_order_relaxed);
  taken_ = policy_.free_frames() + leaving < spare_frames_ && ask_to_leave();
}

// A page is used: what follows it may be brought.
void Residents::look_ahead(PageNumber page) {
  if (resting_) return;
  Streams::Range range = streams_.use(page);
  const std::uint64_t pages = pool_.shape().segment_pages;
  range.last = std::min(range.last, (page / pages + 1) * pages);
  for (PageNumber number = range.first; number < range.last && bring(number); ++number) {
  }
}

// Asks for a page that nobody waits for, to be read.  Returns false if there is no frame to spare.
bool Residents::bring(PageNumber number) {
  if (pages_.contains(number)) return true;
  if (pool_.head().starving.load(std::memory_order_relaxed) != 0) return false;
  Resident& page = resident(number);
  if (!take_frame(page)) {
    forget_if_unused(number);
    return false;
  }
  ask(number, page, Event::local_read);
  count(Stat::page_ahead);
  return true;
}

// Returns whether a page has been asked to leave.
bool Residents::ask_to_leave() {
  const FrameNumber victim = policy_.victim();
  if (victim == kNoFrame) return false;
  const std::uint64_t page = pool_.frame(victim).page.load(std::memory_order_relaxed);
  if (page == 0) return false;  // just gone
  const int keeper = nodes_.keeper(pool_.pe_of(page - 1), nodes_.here);
  if (keeper == me_) return evict(page - 1);
  if (pool_.part(nodes_.place_of(keeper)).inbox.post_note({page - 1, Inbox::What::evict})) return true;
  policy_.spare(victim, page - 1);
  return false;
}

// Returns whether the page is about to leave.
bool Residents::evict(PageNumber number) {
  const auto found = pages_.find(number);
  if (found == pages_.end() || found->second->frame == kNoFrame) return false;  // asked for too late
  Resident& page = *found->second;
  learn(number, page);
  const Actions actions = step(page.known.state, Event::local_evict).actions;
  const bool can = actions & action::ask && page.messages.empty();
  // All access is stopped, as a page that is in use stays.
  if (!can || !stop_at_once(number, page)) {
    policy_.spare(page.frame, number);
    return false;
  }
  learn(number, page);
  count(Stat::page_evictions);
  ask(number, page, Event::local_evict);
  publish(number, page);
  pool_.frame(page.frame).leaving = true;
  pool_.head().leaving.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Residents::free(FrameNumber frame) {
  if (pool_.frame(frame).leaving) pool_.head().leaving.fetch_sub(1, std::memory_order_relaxed);
  pool_.frame(frame).leaving = false;
  policy_.give_free(frame);
  if (pool_.head().starving.load(std::memory_order_relaxed) != 0) ring_others();
}

void Residents::ring_others() const {
  const int mine = nodes_.place_of(me_);
  for (int place = 0; place < pool_.shape().node_size; ++place) {
    if (place != mine) pool_.part(place).inbox.ring();
  }
}

// By a request of this pager's own, one for a page.
void Residents::call_back(PageNumber number) {
  if (!resident(number).wishes.empty()) return;
  std::erase_if(own_requests_, [](const auto& one) { return one->state.load() == Request::kDone; });
  Request& request = *own_requests_.emplace_back(std::make_unique<Request>());
  request.kind = Request::Kind::own;
  request.access = Access::write;
  request.page = number;
  wish(request);
}

bool Residents::drop(PageNumber number) {
  const auto found = pages_.find(number);
  if (found == pages_.end()) return true;
  Resident& page = *found->second;
  if (page.frame == kNoFrame) return true;
  if (is_asking(page.known.state) || !page.messages.empty() || !stop_at_once(number, page)) return false;
  page.known = {};
  publish(number, page);
  policy_.leave(page.frame);
  free(page.frame);
  expect(page, false);
  page.frame = kNoFrame;
  advance(number, page);
  return true;
}

}  // namespace shm::nvm

// SPDX-License-Identifier: BSD-3-Clause
#include "pages/requests.hpp"

#include <sched.h>
#include <sys/eventfd.h>

#include <bit>

#include "pages/futex.hpp"
#include "pages/pool.hpp"

namespace shm::pages {
namespace {

constexpr int kPollsBeforeSleep = 200;

// While a thread sleeps, the state of each request that it waits for says which slot that is in, and in which
// slot's bell the thread is.
constexpr std::uint32_t awaited(unsigned slot, unsigned sleeper) {
  return PageRequest::kAwaited | slot << 8 | sleeper << 16;
}
constexpr bool is_awaited(std::uint32_t state) { return (state & 0xff) == PageRequest::kAwaited; }
std::atomic<std::uint32_t>& bell_of(PageRequest& request, std::uint32_t state) {
  PageRequest* slots = &request - (state >> 8 & 0xff);
  return slots[state >> 16].bell;
}

// The queues of this process's pagers that have a descriptor.  Read in signal handlers.
struct Doorbell {
  std::atomic<const RequestQueue*> queue;
  std::atomic<int> eventfd;
};
constinit Doorbell doorbells[16];

const Doorbell* doorbell_of(const RequestQueue* queue) {
  for (const Doorbell& doorbell : doorbells) {
    if (doorbell.queue.load(std::memory_order_acquire) == queue) return &doorbell;
  }
  return nullptr;
}

}  // namespace

void RequestQueue::post(PageRequest& request, RequestId id, bool wakes) {
  request.next = requests_.load(std::memory_order_relaxed);
  // Release: who takes the request sees what it asks for.  All are taken at once, so none comes back in
  // between.
  while (!requests_.compare_exchange_weak(request.next, id, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
  if (wakes) ring();
}

bool RequestQueue::post_hint(const Hint& hint) {
  std::uint64_t at = tail_.load(std::memory_order_relaxed);
  for (;;) {
    HintCell& cell = cells_[at % kHints];
    const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
    if (turn != at / kHints * 2) {
      if (turn < at / kHints * 2) return false;  // not emptied yet
      at = tail_.load(std::memory_order_relaxed);
    } else if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
      cell.hint = hint;
      cell.turn.store(turn + 1, std::memory_order_release);
      break;
    }
  }
  ring();
  return true;
}

bool RequestQueue::take_hint(Hint& hint) {
  HintCell& cell = cells_[head_ % kHints];
  if (cell.turn.load(std::memory_order_acquire) != head_ / kHints * 2 + 1) return false;
  hint = cell.hint;
  cell.turn.store((head_ / kHints + 1) * 2, std::memory_order_release);
  ++head_;
  return true;
}

bool RequestQueue::empty() const {
  return !requested() &&
         cells_[head_ % kHints].turn.load(std::memory_order_acquire) != head_ / kHints * 2 + 1;
}

void RequestQueue::ring() {
  bell_.fetch_add(1, std::memory_order_seq_cst);  // before the look: pairs with sleep()
  if (asleep_.load(std::memory_order_seq_cst) == 0) return;
  if (const Doorbell* doorbell = doorbell_of(this)) {
    eventfd_write(doorbell->eventfd.load(std::memory_order_relaxed), 1);
  } else {
    futex_wake(bell_);
  }
}

bool RequestQueue::set_doorbell(int eventfd) {
  for (Doorbell& doorbell : doorbells) {
    const RequestQueue* none = nullptr;
    const auto* taken = reinterpret_cast<const RequestQueue*>(doorbells);  // no queue: not to be found yet
    if (!doorbell.queue.compare_exchange_strong(none, taken)) continue;
    doorbell.eventfd.store(eventfd, std::memory_order_relaxed);
    doorbell.queue.store(this, std::memory_order_release);
    return true;
  }
  return false;
}

void RequestQueue::remove_doorbell() {
  for (Doorbell& doorbell : doorbells) {
    if (doorbell.queue.load(std::memory_order_relaxed) == this) doorbell.queue.store(nullptr);
  }
}

void RequestQueue::wake_sleeper() {
  bell_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(bell_);
}

std::uint32_t RequestQueue::listen() {
  asleep_.store(1, std::memory_order_seq_cst);
  return bell_.load(std::memory_order_seq_cst);
}

void RequestQueue::sleep(std::uint32_t mark, long microseconds) { futex_wait(bell_, mark, microseconds); }

Ticket::Ticket(const Pool& pool, int node_rank, IfNone if_none)
    : pool_(pool), mine_(pool.requests_of(node_rank)), node_rank_(node_rank) {
  std::uint64_t used = mine_.used.load(std::memory_order_relaxed);
  for (;;) {
    slot_ = static_cast<unsigned>(std::countr_one(used));
    if (slot_ >= PeRequests::kSlots) {
      if (if_none == IfNone::give_up) return;
      sched_yield();
      used = mine_.used.load(std::memory_order_relaxed);
    } else if (mine_.used.compare_exchange_weak(used, used | std::uint64_t{1} << slot_,
                                                std::memory_order_acquire)) {
      return;
    }
  }
}

Ticket::~Ticket() {
  if (!valid()) return;
  request().state.store(PageRequest::kFree, std::memory_order_relaxed);
  mine_.used.fetch_and(~(std::uint64_t{1} << slot_), std::memory_order_release);
}

void Ticket::post(int to, bool wakes) const {
  request().state.store(PageRequest::kPosted, std::memory_order_relaxed);
  pool_.requests_of(to).queue.post(request(), request_id(node_rank_, slot_), wakes);
}

bool Ticket::poll() const {
  for (int polls = 0; polls < kPollsBeforeSleep && !done(); ++polls) sched_yield();
  return done();
}

void Ticket::wait() const {
  if (poll()) return;
  const Ticket* const self = this;
  while (!done()) sleep({&self, 1}, -1);
}

// Returns false if it is done.
bool Ticket::is_awaited_at(unsigned slot) const {
  std::uint32_t posted = PageRequest::kPosted;
  return request().state.compare_exchange_strong(posted, awaited(slot_, slot));
}

// So that who answers later need not wake a thread that is awake.
void Ticket::is_awaited_no_more() const {
  std::uint32_t state = request().state.load(std::memory_order_relaxed);
  if (is_awaited(state)) request().state.compare_exchange_strong(state, PageRequest::kPosted);
}

// The bell is the first one's.  It may ring for a request that was done before, of a thread that had this
// slot: then this one wakes too early, and its caller looks again.
void Ticket::sleep(std::span<const Ticket* const> tickets, long microseconds) {
  const Ticket& first = *tickets.front();
  std::atomic<std::uint32_t>& bell = first.request().bell;
  const std::uint32_t mark = bell.load();
  bool none_done = true;
  for (const Ticket* ticket : tickets) none_done = none_done && ticket->is_awaited_at(first.slot_);
  if (none_done) futex_wait(bell, mark, microseconds);
  for (const Ticket* ticket : tickets) ticket->is_awaited_no_more();
}

// Behind the exchange the request may be another thread's already; the bell stays where it is.
void complete(PageRequest& request) {
  const std::uint32_t before = request.state.exchange(PageRequest::kDone, std::memory_order_acq_rel);
  if (!is_awaited(before)) [[likely]]
    return;
  std::atomic<std::uint32_t>& bell = bell_of(request, before);
  bell.fetch_add(1);
  futex_wake(bell);
}

}  // namespace shm::pages

// SPDX-License-Identifier: BSD-3-Clause
// Access to the heap by calls: pages that are here or come here, operations that go to where a page is.
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/copy_bytes.hpp"
#include "base/fatal.hpp"
#include "base/service_thread.hpp"
#include "base/stats.hpp"
#include "core/progress.hpp"
#include "core/wait.hpp"
#include "nvm/heap.hpp"
#include "pages/copy.hpp"
#include "pages/wait_for_tickets.hpp"

namespace shm::nvm {
namespace {

constexpr std::size_t kBounce = 16384;
// Operations of a context that are not answered, in units of kUnit bytes: what homes keep for it while their
// pages are not there, and what is gathered here.  Who finds none left waits for half of them, so that what
// goes on fills messages.
constexpr std::uint32_t kMostUnanswered = 1024, kUnit = 512;
constexpr std::uint32_t weight_of(std::size_t n) {
  return std::max(1U, static_cast<std::uint32_t>((n + kUnit - 1) / kUnit));
}
// Pages that a thread asks for at a time, and that it gets before it takes signals again.
constexpr std::size_t kPagesAtOnce = 8, kPagesInARow = 32;
// Signals that a thread takes which writes a whole page: those of its own faults, and those that ask the
// process to end.
constexpr std::initializer_list<int> kOfFaultsAndEnds = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL, SIGTRAP, SIGABRT,
                                                         SIGSYS,  SIGTERM, SIGINT, SIGHUP, SIGQUIT};

// Initial-exec: operations by a signal handler must not allocate it.
[[gnu::tls_model("initial-exec")]] constinit thread_local ProgramPace this_thread;

void describe_wait_for_page(WaitRecord& record, const Pool& pool, PageNumber page) {
  const int pe = pool.pe_of(page);
  const PageState state = pool.word(page).state();
  describe_wait(record, "an operation on the NVM heap", pe, "for page %llu of PE %d to be %s%s",
                static_cast<unsigned long long>(page % pool.shape().segment_pages), pe,
                state == PageState::invalid ? "loaded" : "written to", state_here(state));
}

Operation operation_on(Operation::Kind kind, PageNumber page, std::size_t within, std::size_t n) {
  Operation operation{};
  operation.kind = kind;
  operation.page = page;
  operation.offset = static_cast<std::uint32_t>(within);
  operation.n = static_cast<std::uint32_t>(n);
  return operation;
}

}  // namespace

std::uint64_t Heap::bit_of(PageNumber page) { return std::uint64_t{1} << (16 + row_of(page, 32) % 48); }

// Sends an operation to the home of its page, which has it executed where the page is.  `unanswered` is the
// context's, whose quiet() then waits for it and behind which it comes, or that of a caller who waits.
void Heap::send(Operation operation, const std::byte* data, void* results, int pe, Unanswered& unanswered) {
  operation.pe = rt.me;
  const std::uint64_t bit = access_of(operation) == Access::write ? bit_of(operation.page) : 0;
  const std::uint32_t weight = weight_of(operation.n);
  std::uint64_t before = unanswered.load(std::memory_order_relaxed);
  for (bool counted = false; !counted;) {
    if ((before & kUnansweredCount) + weight > kMostUnanswered) {
      wait_for_answers(unanswered, kMostUnanswered / 2, pe);
      before = unanswered.load(std::memory_order_relaxed);
      continue;
    }
    const std::uint64_t bits = (before & kUnansweredCount) == 0 ? bit : before | bit;
    counted = unanswered.compare_exchange_weak(before, bits + weight, std::memory_order_release,
                                               std::memory_order_relaxed);
  }
  count(Stat::page_sent);
  operation.token = awaited_.add({&unanswered, static_cast<std::byte*>(results),
                                  results != nullptr ? operation.n : 0, operation.page, weight});
  if (pe != rt.me) return gathering_.add(pe, operation, data);
  std::byte message[sizeof operation + kLargestOperation];
  std::memcpy(message, &operation, sizeof operation);
  if (data != nullptr) std::memcpy(message + sizeof operation, data, operation.n);
  pager_->hand(message, operation_bytes(operation));
}

// Whether the context may have sent operations that change the page and are not applied yet.  One that is
// sent too stays behind them; one that is carried out here must wait for them.  OpenSHMEM orders neither, but
// nobody expects a PE's own atomics on a word to overtake each other.
bool Heap::is_behind(const Context* context, PageNumber page, int pe) {
  if (context == nullptr || pe == rt.me) return false;
  const std::uint64_t now = context->unanswered.load(std::memory_order_acquire);
  return (now & kUnansweredCount) != 0 && (now & bit_of(page)) != 0;
}

// Until all but `most_left` of what was sent, to `pe` among others, is applied.
void Heap::wait_for_answers(const Unanswered& unanswered, std::uint64_t most_left, int pe) {
  const auto few = [&] {
    return (unanswered.load(std::memory_order_acquire) & kUnansweredCount) <= most_left;
  };
  if (few()) return this_thread.ends(true);
  wait_for(few, [&](WaitRecord& record) {
    if (pe == WaitRecord::kNobody)
      return describe_wait(record, "completing NVM heap operations", pe, "for PEs to apply them");
    describe_wait(record, "an operation on the NVM heap", pe, "for PE %d to have it applied", pe);
  });
  this_thread.ends(true);
}

// Pages that are here, or come here.

// Where the page is, until unlatch().  Null: it is not here, or not in the right state.
std::byte* Heap::latch_here(PageNumber page, Access access) {
  const FrameNumber frame = pool_.word(page).latch(access);
  if (frame == kNoFrame) return nullptr;
  Frame& meta = pool_.frame(frame);
  if (const std::uint8_t touched = meta.touched.load(std::memory_order_relaxed); touched != kTouched) {
    meta.touched.store(kTouched, std::memory_order_relaxed);
    if (touched == kAhead) [[unlikely]]
      send_hint({page, RequestQueue::What::used});
  }
  count_roughly(Stat::page_hits);
  return pool_.bytes(frame);
}

// Returns false if there is no room for the hint: of most nothing is lost but time.
bool Heap::send_hint(const RequestQueue::Hint& hint) {
  const int to = nodes_.caching_pe(pool_.pe_of(hint.page), nodes_.here);
  return pool_.requests_of(nodes_.node_rank_of(to)).queue.post_hint(hint);
}

std::byte* Heap::latch(PageNumber page, Access access) {
  std::byte* at = latch_here(page, access);
  return at != nullptr ? at : ask_to_latch(page, access);
}

std::byte* Heap::ask_to_latch(PageNumber page, Access access) {
  return pool_.bytes(ask_for_page(PageRequest::Kind::latch, page, access));
}

FrameNumber Heap::ask_for_page(PageRequest::Kind kind, PageNumber page, Access access) {
  const Ticket ticket(pool_, rt.node_rank);
  PagerRounds* const rounds = ask(ticket, kind, page, access);
  wait_until_done(
      ticket, WaitReason([&](WaitRecord& record) { describe_wait_for_page(record, pool_, page); }), rounds);
  return answer_to(ticket);
}

// Returns the pager if it has not been woken, so that the caller waits with its rounds.
PagerRounds* Heap::ask(const Ticket& ticket, PageRequest::Kind kind, PageNumber page, Access access) {
  if (kind != PageRequest::Kind::pin) count(Stat::page_misses);
  PageRequest& request = ticket.request();
  request.kind = kind;
  request.access = access;
  request.page = page;
  const int pager = nodes_.caching_pe(pool_.pe_of(page), nodes_.here);
  PagerRounds* const rounds = pager == rt.me ? own_rounds() : nullptr;
  ticket.post(nodes_.node_rank_of(pager), rounds == nullptr);
  return rounds;
}

FrameNumber Heap::answer_to(const Ticket& ticket) {
  if (ticket.request().frame == kNoFrame)
    fatal("an operation on the NVM heap is still under way while another thread finalizes");
  frame_taken();
  return ticket.request().frame;
}

// Whether an operation on a page that is not here goes to where it is, rather than the page comes here.
// `waited`: it cannot share a message with others.
bool Heap::goes_there(PageNumber page, Access access, std::size_t n, bool waited) {
  if (!options_.remote_ops || rt.progress == nullptr || n > kLargestOperation) return false;
  const bool rested = this_thread.begins();
  // The home would load the page into a frame while its owner keeps his: two nodes whose frames all hold
  // pages of each other could wait for each other.
  if (access == Access::read && !options_.cooperative) return false;
  const bool shares = !waited && gathering_.is_under_way(pool_.pe_of(page));
  return !migration_.charge_operation(page, n, pool_.shape().page_bytes, rested,
                                      shares ? kRecordCost : kMessageCost);
}

void Heap::bring(std::uintptr_t address, int pe, bool writes) {
  const PageNumber page = pool_.number(pe, address - base());
  const Access access = writes ? Access::write : Access::read;
  if (!permits(pool_.word(page).state(), access)) bring(page, access);
}

void Heap::bring(PageNumber page, Access access) {
  ask_to_latch(page, access);
  pool_.word(page).unlatch();
}

bool Heap::better_there(std::uintptr_t address, int pe, bool writes) {
  const PageNumber page = pool_.number(pe, address - base());
  const Access access = writes ? Access::write : Access::read;
  if (permits(pool_.word(page).state(), access)) {
    delegation_.note_use(page);
    return false;
  }
  if (!options_.remote_ops || rt.progress == nullptr) return false;
  if (!delegation_.should_bring(page, pool_.shape().page_bytes)) return true;
  bring(page, access);
  delegation_.note_arrival(page);
  return false;
}

// Calls visit(page, offset in the page, done so far, n) for each part of a range within a page.
template <class Visit>
void Heap::for_pieces(std::uint64_t offset, std::size_t n, int pe, std::size_t largest, Visit visit) {
  const std::size_t page_bytes = pool_.shape().page_bytes;
  for (std::size_t done = 0; done < n;) {
    const std::size_t within = pool_.within(offset + done);
    const std::size_t part = std::min({n - done, page_bytes - within, largest});
    visit(pool_.number(pe, offset + done), within, done, part);
    done += part;
  }
}

// The straight path: all of [address, address + n) of PE `pe` lies in one page that is here, and no page of
// the heap is needed for what it is copied from or to, and nothing of the context has to come first.  Latches
// the page, and returns where the bytes are; else null.
std::byte* Heap::latch_whole_here(const Context* context, std::uintptr_t address, std::size_t n, int pe,
                                  const void* other, Access access, PageNumber& page) {
  const std::uint64_t offset = address - base();
  const std::size_t within = pool_.within(offset);
  if (within + n > pool_.shape().page_bytes || on_pages(other, n)) return nullptr;
  page = pool_.number(pe, offset);
  if (is_behind(context, page, pe)) [[unlikely]]
    return nullptr;
  std::byte* at = latch_here(page, access);
  return at != nullptr ? at + within : nullptr;
}

void Heap::put(Context* context, std::uintptr_t to, const void* source, std::size_t n, int pe, bool nbi) {
  PageNumber page;
  std::byte* at = latch_whole_here(context, to, n, pe, source, Access::write, page);
  if (at == nullptr) {
    auto* from = static_cast<std::byte*>(const_cast<void*>(source));
    return move(context, to, from, n, pe, Access::write, nbi);
  }
  copy_in(at, source, n);
  pool_.word(page).unlatch();
}

void Heap::get(Context* context, void* dest, std::uintptr_t from, std::size_t n, int pe, bool nbi) {
  PageNumber page;
  const std::byte* at = latch_whole_here(context, from, n, pe, dest, Access::read, page);
  if (at == nullptr) return move(context, from, static_cast<std::byte*>(dest), n, pe, Access::read, nbi);
  copy_out(dest, at, n);
  pool_.word(page).unlatch();
}

// Puts or gets n bytes, part by part: copied where its page is here, else sent to where it is, else the page
// comes.  quiet() waits for answers of the second kind, but for those that the call itself returns or that
// come from this PE's own memory, and for pages of long nonblocking calls.  Short ones wait for a page that
// has to come: it does so for many of them.
void Heap::move(Context* context, std::uintptr_t address, std::byte* memory, std::size_t n, int pe,
                Access access, bool nbi) {
  const bool bounce = on_pages(memory, n);
  const bool writes = access == Access::write;
  const bool later = context != nullptr && pe != rt.me && !bounce;
  const bool unwaited = later && (writes || nbi);  // what is sent is quiet's
  const bool by_quiet = nbi && later && n > kLargestOperation;
  std::byte buffer[kBounce];
  Unanswered own{0};
  std::vector<Piece> absent;
  for_pieces(address - base(), n, pe, bounce ? kBounce : n,
             [&](PageNumber page, std::size_t within, std::size_t done, std::size_t part) {
               const Piece piece{page, within, part, bounce ? buffer : memory + done, access};
               if (bounce && writes) copy_bytes(buffer, memory + done, part);
               const bool behind = is_behind(context, page, pe);
               if (!behind && copy_if_here(piece)) {
               } else if (goes_there(page, access, part, !unwaited)) {
                 Operation operation = operation_for(piece);
                 operation.stays_behind = behind;
                 const std::byte* data = writes ? piece.memory : nullptr;
                 std::byte* results = writes ? nullptr : piece.memory;
                 send(operation, data, results, pe, unwaited ? context->unanswered : own);
                 if (bounce) wait_for_answers(own, 0, pe);
               } else {
                 if (behind && !by_quiet) wait_for_answers(context->unanswered, 0, pe);
                 absent.push_back(piece);
                 if (bounce) bring_and_copy(std::exchange(absent, {}));
               }
               if (bounce && !writes) copy_bytes(memory + done, buffer, part);
             });
  if (by_quiet) {
    copy_later(*context, absent);
  } else {
    bring_and_copy(absent);
  }
  if (!unwaited) return wait_for_answers(own, 0, pe);
  if (rt.progress != nullptr) note_posted();
}

void Heap::note_posted() {
  rt.progress->posted();
  this_thread.ends(false);
}

Operation Heap::operation_for(const Piece& piece) {
  const bool writes = piece.access == Access::write;
  Operation operation =
      operation_on(writes ? Operation::Kind::put : Operation::Kind::get, piece.page, piece.within, piece.n);
  return operation;
}

void Heap::copy(std::byte* page, const Piece& piece) const {
  if (piece.access == Access::write) {
    copy_in(page + piece.within, piece.memory, piece.n);
  } else {
    copy_out(piece.memory, page + piece.within, piece.n);
  }
}

bool Heap::copy_if_here(const Piece& piece) {
  std::byte* at = latch_here(piece.page, piece.access);
  if (at == nullptr) return false;
  copy(at, piece);
  pool_.word(piece.page).unlatch();
  return true;
}

// A page that a thread has asked for, and what it will copy then.
struct Heap::PageAsked {
  PageAsked(const Pool& pool, const Piece& wanted, Ticket::IfNone if_none)
      : piece(wanted), ticket(pool, rt.node_rank, if_none) {}
  Piece piece;
  Ticket ticket;
  PagerRounds* rounds = nullptr;  // as ask() says
};

// Asks for several pages at a time, and copies each as soon as it has come: so no latch waits for a pager.
// Whoever wants a page that is written wholly waits until it is filled.  So would a signal handler that
// interrupted this thread: signals wait, but for those that end it.
void Heap::bring_and_copy(std::span<const Piece> pieces) {
  if (pieces.empty()) return;
  const std::size_t fair = pool_.shape().frames / static_cast<std::size_t>(4 * pool_.shape().node_size);
  std::array<std::optional<PageAsked>, kPagesAtOnce> places;
  const std::span asked(places.data(), std::clamp<std::size_t>(fair, 1, kPagesAtOnce));
  std::optional<SignalsBlocked> blocked;
  std::size_t under_way = 0, in_a_row = 0;
  auto next = pieces.begin();
  // Returns whether something is under way there.
  const auto ask_next = [&](std::optional<PageAsked>& place) {
    while (next != pieces.end() && copy_if_here(*next)) ++next;
    if (next == pieces.end() || in_a_row == kPagesInARow) return false;
    place.emplace(pool_, *next, under_way == 0 ? Ticket::IfNone::wait : Ticket::IfNone::give_up);
    if (!place->ticket.valid()) {
      place.reset();
      return false;
    }
    const bool whole = writes_whole_page(*next);
    if (whole && !blocked) blocked.emplace(kOfFaultsAndEnds);
    place->rounds = ask(place->ticket, whole ? PageRequest::Kind::fill : PageRequest::Kind::latch, next->page,
                        next->access);
    ++under_way, ++in_a_row, ++next;
    return true;
  };
  const auto has_come = [](const std::optional<PageAsked>& place) { return place && place->ticket.done(); };
  while (next != pieces.end() || under_way != 0) {
    for (auto& place : asked) {
      if (!place && !ask_next(place)) break;
    }
    if (under_way == 0) continue;
    wait_for_one_of(asked);
    for (auto& place : asked) {
      if (!has_come(place)) continue;
      finish(*place);
      place.reset();
      --under_way;
    }
    if (under_way == 0) {
      blocked.reset();
      in_a_row = 0;
    }
  }
}

// Until one of the pages has come.  REQUIRES: one is under way.
void Heap::wait_for_one_of(std::span<const std::optional<PageAsked>> asked) const {
  std::array<const Ticket*, kPagesAtOnce> tickets;
  std::size_t n = 0;
  PageNumber page = 0;  // the first of them, for who asks
  PagerRounds* rounds = nullptr;
  for (const auto& place : asked) {
    if (!place) continue;
    if (n == 0) page = place->piece.page;
    if (place->rounds != nullptr) rounds = place->rounds;
    tickets[n++] = &place->ticket;
  }
  wait_until_any_done({tickets.data(), n},
                      WaitReason([&](WaitRecord& record) { describe_wait_for_page(record, pool_, page); }),
                      rounds);
}

void Heap::finish(const PageAsked& asked) {
  const PageNumber page = asked.piece.page;
  copy(pool_.bytes(answer_to(asked.ticket)), asked.piece);
  if (!asked.ticket.request().unfilled) return pool_.word(page).unlatch();
  frame_left();
  while (!send_hint({page, RequestQueue::What::filled})) sched_yield();
}

// By quiet().  Pages that are to be read are sent for; those that are written wholly it asks for itself.
void Heap::copy_later(const Context& context, std::span<const Piece> pieces) {
  if (pieces.empty()) return;
  for (const Piece& piece : pieces) {
    if (!writes_whole_page(piece)) send_hint({piece.page, RequestQueue::What::bring});
  }
  const LockGuard guard(mutex_);
  std::vector<Piece>& waiting = deferred_[&context].pieces;
  waiting.insert(waiting.end(), pieces.begin(), pieces.end());
  deferred_count_.fetch_add(pieces.size(), std::memory_order_relaxed);
}

// What has been deferred, also by other threads; they may be here too.
void Heap::copy_deferred(const Context& context) {
  std::vector<Piece> pieces;
  {
    const LockGuard guard(mutex_);
    const auto found = deferred_.find(&context);
    if (found == deferred_.end()) return;
    pieces.swap(found->second.pieces);
    found->second.being_copied += pieces.size();
  }
  bring_and_copy(pieces);
  const auto none_is_copied = [&] {
    const LockGuard guard(mutex_);
    const auto found = deferred_.find(&context);
    if (found == deferred_.end()) return true;
    found->second.being_copied -= pieces.size();
    deferred_count_.fetch_sub(pieces.size(), std::memory_order_release);
    pieces.clear();
    if (found->second.being_copied != 0) return false;
    if (found->second.pieces.empty()) deferred_.erase(found);
    return true;
  };
  wait_for(none_is_copied, [](WaitRecord& record) {
    describe_wait(record, "an operation on the NVM heap", WaitRecord::kNobody,
                  "for another thread that completes operations of this context");
  });
}

void Heap::quiet(Context& context) {
  this_thread.quiet_begins();
  wait_for_answers(context.unanswered, 0, WaitRecord::kNobody);  // first: what is deferred came behind
  if (deferred_count_.load(std::memory_order_acquire) != 0) copy_deferred(context);
}

void Heap::quiet_ends() { this_thread.quiet_ends(); }

void Heap::amo(Context* context, std::uintptr_t at, AtomicOp op, AtomicType type, const void* value,
               const void* compare, void* fetch, int pe, bool nbi) {
  const std::uint64_t offset = at - base();
  const PageNumber page = pool_.number(pe, offset);
  const std::size_t within = pool_.within(offset);
  Operation operation = operation_on(Operation::Kind::amo, page, within, atomic_size(type));
  operation.op = op;
  operation.type = type;
  // By value: they may lie in the heap themselves.
  if (op != AtomicOp::fetch) std::memcpy(&operation.value, value, atomic_size(type));
  if (op == AtomicOp::compare_swap) std::memcpy(&operation.compare, compare, atomic_size(type));
  std::uint64_t old = 0;
  const Access access = access_of(operation);
  const bool behind = is_behind(context, page, pe);
  std::byte* frame = behind ? nullptr : latch_here(page, access);
  const bool later =
      context != nullptr && pe != rt.me && nbi && (fetch == nullptr || !on_pages(fetch, operation.n));
  if (frame == nullptr && goes_there(page, access, operation.n, !later)) {
    operation.stays_behind = behind;
    if (later) {
      operation.brings = fetch != nullptr;
      send(operation, nullptr, fetch, pe, context->unanswered);
      return note_posted();
    }
    Unanswered own{0};
    operation.brings = true;
    send(operation, nullptr, &old, pe, own);
    wait_for_answers(own, 0, pe);
  } else {
    if (behind) wait_for_answers(context->unanswered, 0, pe);
    if (frame == nullptr) frame = latch(page, access);
    atomic_apply(op, type, frame + within, &operation.value, &operation.compare, &old);
    pool_.word(page).unlatch();
  }
  if (fetch != nullptr) std::memcpy(fetch, &old, atomic_size(type));
}

// Not by its address: a thread that waits in a fault would not drive the network.
void Heap::load(std::uintptr_t address, void* value, std::size_t n) {
  const std::uint64_t offset = address - base();
  const PageNumber page = pool_.number(rt.me, offset);
  copy_out(value, latch(page, Access::read) + pool_.within(offset), n);
  pool_.word(page).unlatch();
  // What precedes the update is to be seen.
  std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace shm::nvm

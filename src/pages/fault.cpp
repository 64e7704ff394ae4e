// SPDX-License-Identifier: BSD-3-Clause
#include "pages/fault.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/service_thread.hpp"
#include "base/stats.hpp"

namespace shm::pages {
namespace {

Watched watched{};
pid_t owner = 0;
bool installed = false;
struct sigaction before;

enum class Fault { load, store, other };

// What the access was.
Fault kind_of(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kStore = 2, kInstruction = 16;
  const greg_t error = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (error & kInstruction) != 0 ? Fault::other : (error & kStore) != 0 ? Fault::store : Fault::load;
#elif defined(__aarch64__)
  // The syndrome's class and WnR bit, from the record of the exception among the reserved ones.
  constexpr std::uint32_t kSyndrome = 0x45535201, kDataAbort = 0x24;
  const auto* record =
      reinterpret_cast<const std::uint32_t*>(static_cast<const ucontext_t*>(context)->uc_mcontext.__reserved);
  for (; record[0] != 0 && record[0] != kSyndrome; record += record[1] / 4) {
  }
  if (record[0] == 0 || record[2] >> 26 != kDataAbort) return Fault::other;
  return (record[2] & 0x40) != 0 ? Fault::store : Fault::load;
#else
#error "which bit says that a fault was a store?"
#endif
}

void pass_on(int number, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  // The access faults again, as if there had never been a handler; a signal that somebody sent does not.
  sigaction(number, &before, nullptr);
  if (info->si_code <= 0) raise(number);
}

// Of pages that a sequence goes on with, those that are mapped together with the one that has been reached:
// no more than so many, and so small a part of those asked for that the others are asked for in time.
constexpr std::uint64_t kMostTogether = 8, kPartTogether = 4;

// Calls visit(page) for those of `range` that lie in the segment of `page`, until it returns false.
template <class Visit>
void for_each_beside(PageNumber page, const PageRange& range, Visit visit) {
  const std::uint64_t segment = watched.pool->shape().segment_pages;
  PageNumber each = range.first;
  for (std::uint64_t i = 0; i < range.count && each / segment == page / segment; ++i) {
    if (!visit(each, i)) return;
    each += static_cast<PageNumber>(range.step);
  }
}

// The pager need not be woken where all of them are here.
void have_brought(PageNumber page, const PageRange& range) {
  for_each_beside(page, range, [&](PageNumber each, std::uint64_t passed) {
    if (watched.pool->word(each).state() != PageState::invalid) return true;
    const auto count = static_cast<std::uint32_t>(range.count - passed);
    const auto step = static_cast<std::int16_t>(range.step);
    watched.pool->requests_of(watched.node_rank)
        .queue.post_hint({each, RequestQueue::What::bring, step, count});
    return false;
  });
}

void map_next(PageNumber page, PageRange awaited) {
  awaited.count = std::min(awaited.count / kPartTogether, kMostTogether);
  for_each_beside(page, awaited, [](PageNumber each, std::uint64_t) {
    watched.mappings->map_ahead(each);
    return true;
  });
}

// Without the pager, if the page is here; else returns false, and `ahead` is what is to be brought behind it.
// No signal comes in between: the program's handler could fault on the same page, or wait for the pager,
// which may wait for this thread.
bool resolve_here(PageNumber page, Access access, PageRange& ahead) {
  const SignalsBlocked blocked({SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS});
  const Mappings::Outcome outcome = watched.mappings->resolve(page, access);
  const bool resolved = outcome != Mappings::Outcome::refused;
  if (resolved) {
    count(Stat::page_faults);
    count(Stat::page_fault_hits);
  }
  if (outcome == Mappings::Outcome::upgraded) return true;  // it was used before
  const ThreadReadAhead::Use use = watched.read_ahead->use(page);
  ahead = use.bring;
  if (!resolved) return false;
  map_next(page, use.awaited);
  have_brought(page, use.bring);
  return true;
}

// By the pager: the page may have to come from another node, and this thread may be the one that drives the
// network.
void wait_for_pager(PageNumber page, Access access, const PageRange& ahead) {
  const Ticket ticket(*watched.pool, watched.node_rank);
  PageRequest& request = ticket.request();
  request.kind = PageRequest::Kind::map;
  request.access = access;
  request.page = page;
  request.ahead = ahead;
  ticket.post(watched.node_rank);
  if (ticket.poll()) return;
  if (watched.progress != nullptr) watched.progress->insist();
  ticket.wait();
  if (watched.progress != nullptr) watched.progress->relent();
}

// Async-signal-safe, and may run again within itself: in a handler of the program that interrupts the wait.
void on_fault(int number, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  const Fault fault = info->si_code > 0 ? kind_of(context) : Fault::other;
  const bool ours = fault != Fault::other && watched.base != nullptr && at >= watched.base &&
                    at < watched.base + watched.size && getpid() == owner;
  if (!ours) return pass_on(number, info, context);
  const int saved = errno;
  const PageNumber page = watched.pool->number(watched.pe, static_cast<std::uint64_t>(at - watched.base));
  const Access access = fault == Fault::store ? Access::write : Access::read;
  PageRange ahead;
  if (!resolve_here(page, access, ahead)) wait_for_pager(page, access, ahead);
  errno = saved;
}

}  // namespace

void watch_faults(const Watched& segment) {
  watched = segment;
  owner = getpid();
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction == on_fault) return;
  // A handler that the program has installed since passes on to this one: it must not pass on to that.
  if (installed) return;
  installed = true;
  before = now;
  sigaction(SIGSEGV, &action, nullptr);
}

void end_watch() {
  watched = {};
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction != on_fault) return;
  sigaction(SIGSEGV, &before, nullptr);
  installed = false;
}

}  // namespace shm::pages

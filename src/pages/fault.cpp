// SPDX-License-Identifier: BSD-3-Clause
#include "pages/fault.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>

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

// Async-signal-safe, and may run again within itself: in a handler of the program that interrupts the wait.
void on_fault(int number, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  const Fault fault = info->si_code > 0 ? kind_of(context) : Fault::other;
  const bool ours = fault != Fault::other && watched.base != nullptr && at >= watched.base &&
                    at < watched.base + watched.size && getpid() == owner;
  if (!ours) return pass_on(number, info, context);
  const int saved = errno;
  {
    const Ticket ticket(*watched.pool, watched.node_rank);
    PageRequest& request = ticket.request();
    request.kind = PageRequest::Kind::map;
    request.access = fault == Fault::store ? Access::write : Access::read;
    request.page = watched.pool->number(watched.pe, static_cast<std::uint64_t>(at - watched.base));
    ticket.post(watched.node_rank);
    if (!ticket.poll()) {
      // The page may have to come from another node, and this thread may be the one that drives the network.
      if (watched.progress != nullptr) watched.progress->insist();
      ticket.wait();
      if (watched.progress != nullptr) watched.progress->relent();
    }
  }
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

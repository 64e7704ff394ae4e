// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/fault.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>

namespace shm::nvm {
namespace {

Watched watched{};
pid_t owner = 0;
struct sigaction before;

// Whether the access that faulted was a store.
bool was_store(const void* context) {
#if defined(__x86_64__)
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
  // The syndrome's WnR bit, from the record of the exception among the reserved ones.
  constexpr std::uint32_t kSyndrome = 0x45535201;
  const auto* record =
      reinterpret_cast<const std::uint32_t*>(static_cast<const ucontext_t*>(context)->uc_mcontext.__reserved);
  for (; record[0] != 0 && record[0] != kSyndrome; record += record[1] / 4) {
  }
  return record[0] != 0 && (record[2] & 0x40) != 0;
#else
#error "which bit says that a fault was a store?"
#endif
}

void pass_on(int number, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  // The access faults again, as if there had never been a handler.
  sigaction(number, &before, nullptr);
}

// Async-signal-safe, and may run again within itself: in a handler of the program that interrupts the wait.
void on_fault(int number, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  const bool ours =
      watched.base != nullptr && at >= watched.base && at < watched.base + watched.size && getpid() == owner;
  if (!ours) return pass_on(number, info, context);
  const int saved = errno;
  {
    const Ticket ticket(*watched.pool, watched.place);
    Request& request = ticket.request();
    request.kind = Request::Kind::map;
    request.access = was_store(context) ? Access::write : Access::read;
    request.page = watched.pool->number(watched.pe, static_cast<std::uint64_t>(at - watched.base));
    ticket.post(watched.place);
    ticket.wait();
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
  sigaction(SIGSEGV, &action, &before);
}

void end_watch() {
  watched = {};
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction == on_fault) sigaction(SIGSEGV, &before, nullptr);
}

}  // namespace shm::nvm

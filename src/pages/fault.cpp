// SPDX-License-Identifier: BSD-3-Clause
#include "pages/fault.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <span>

#include "base/fault_kind.hpp"
#include "base/mutex.hpp"
#include "base/observer.hpp"
#include "base/signal_chain.hpp"

namespace shm::pages {
namespace {

struct Area {
  std::atomic<const std::byte*> base;  // null: none; set last, so that a handler finds what follows
  std::size_t size;
  FaultResolver* resolver;
};
constinit Area areas[kMostAreas]{};
constinit std::atomic<std::size_t> areas_used{0};  // behind these there never was one

constinit Mutex watching;  // of the calls that change them, and of these
pid_t owner = 0;
bool installed = false;
struct sigaction before;

// Async-signal-safe.
const Area* area_of(const std::byte* at) {
  const std::size_t used = areas_used.load(std::memory_order_acquire);
  for (const Area& area : std::span(areas, used)) {
    const std::byte* base = area.base.load(std::memory_order_acquire);
    if (base != nullptr && at >= base && at < base + area.size) return &area;
  }
  return nullptr;
}

// Async-signal-safe, and may run again within itself: in a handler of the program that interrupts the wait.
void on_fault(int number, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  const Fault fault = info->si_code > 0 ? kind_of_fault(context) : Fault::other;
  const Area* area = fault != Fault::other ? area_of(at) : nullptr;
  if (area == nullptr || getpid() != owner) return pass_on(before, number, info, context);
  const int saved = errno;
  const Observer* here = observer.load(std::memory_order_relaxed);
  const std::uint64_t begin = here != nullptr ? here->now() : 0;
  area->resolver->resolve(static_cast<std::size_t>(at - area->base.load(std::memory_order_relaxed)),
                          fault == Fault::store ? Access::write : Access::read);
  if (here != nullptr) [[unlikely]]
    here->page(at, fault == Fault::store, begin);
  errno = saved;
}

void install() {
  owner = getpid();
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;  // the last for one that is sent
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

void uninstall() {
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction != on_fault) return;
  sigaction(SIGSEGV, &before, nullptr);
  installed = false;
}

}  // namespace

bool watch_faults(std::byte* base, std::size_t size, FaultResolver& resolver) {
  const LockGuard guard(watching);
  for (Area& area : areas) {
    if (area.base.load(std::memory_order_relaxed) != nullptr) continue;
    area.size = size;
    area.resolver = &resolver;
    area.base.store(base, std::memory_order_release);
    const auto used = static_cast<std::size_t>(&area - areas) + 1;
    if (used > areas_used.load(std::memory_order_relaxed)) areas_used.store(used, std::memory_order_release);
    install();
    return true;
  }
  return false;
}

void end_watch(const std::byte* base) {
  const LockGuard guard(watching);
  bool any = false;
  for (Area& area : areas) {
    if (area.base.load(std::memory_order_relaxed) == base)
      area.base.store(nullptr, std::memory_order_relaxed);
    any = any || area.base.load(std::memory_order_relaxed) != nullptr;
  }
  if (!any) uninstall();
}

}  // namespace shm::pages

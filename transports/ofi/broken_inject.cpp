// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/broken_inject.hpp"

#include <link.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstdint>

#include "base/signal_chain.hpp"

namespace shm::ofi {
namespace {

constexpr std::uintptr_t kFirstPage = 4096;

struct Range {
  std::uintptr_t inside;  // an address in it
  std::uintptr_t begin = 0, end = 0;
};
Range code{};  // of libfabric; constant once the handler is installed
std::atomic<void (*)()> said_by{nullptr};
struct sigaction before;

int find_object(dl_phdr_info* object, std::size_t, void* argument) {
  Range& range = *static_cast<Range*>(argument);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || range.inside - begin >= part.p_memsz) continue;
    range.begin = begin;
    range.end = begin + part.p_memsz;
    return 1;
  }
  return 0;
}

std::uintptr_t instruction(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#else
#error "where is the address of the instruction?"
#endif
}

void on_fault(int number, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (info->si_code == SEGV_MAPERR && at < kFirstPage) {
    const std::uintptr_t pc = instruction(context);
    if (pc >= code.begin && pc < code.end) said_by.load(std::memory_order_acquire)();
  }
  pass_on(before, number, info, context);
}

}  // namespace

void guard_injects(const Library& library, void (*say)()) {
  said_by.store(say, std::memory_order_release);
  if (code.end != 0) return;
  code.inside = reinterpret_cast<std::uintptr_t>(library.getinfo);
  if (dl_iterate_phdr(find_object, &code) == 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;  // as pages/fault.cpp
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, nullptr, &before);
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace shm::ofi

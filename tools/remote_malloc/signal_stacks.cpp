// SPDX-License-Identifier: BSD-3-Clause
// The program's alternate stacks for handlers, as large as a page that has to come needs one: Atoll's handler
// runs there, too, as the program may be out of its own stack.  A small one is replaced, unseen by the
// program.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstddef>

#include "handlers.hpp"
#include "next.hpp"

namespace remote_malloc {
namespace {

// Several times what Atoll and libfabric use while a page comes; and what may not be touched below it.
constexpr std::size_t kNeeded = std::size_t{128} << 10, kGuard = std::size_t{16} << 10;

constinit Next<int(const stack_t*, stack_t*)> next_sigaltstack("sigaltstack");

// Of this thread: the program's stack, and ours that is in its place; null: none is.
struct Replaced {
  stack_t programs;
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Replaced replaced{};

pthread_key_t at_end;
pthread_once_t once = PTHREAD_ONCE_INIT;

void give_back(Replaced& stack) {
  if (stack.base != nullptr) munmap(stack.base, stack.bytes);
  stack.base = nullptr;
}

void end_of_thread(void*) {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (next_sigaltstack(&none, nullptr) == 0) give_back(replaced);
}

// A stack on which what the program expects fits beside what Atoll needs.
Replaced make_larger(const stack_t& programs) {
  Replaced made{programs};
  made.bytes = (programs.ss_size + kNeeded + kGuard + 4095) / 4096 * 4096;
  void* got = mmap(nullptr, made.bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (got == MAP_FAILED) return made;
  made.base = static_cast<std::byte*>(got);
  mprotect(made.base, kGuard, PROT_NONE);
  pthread_once(&once, [] { pthread_key_create(&at_end, end_of_thread); });
  pthread_setspecific(at_end, &replaced);  // any but null
  return made;
}

int set_stack(const stack_t* wanted, stack_t* before) {
  stack_t was;
  if (const int failed = next_sigaltstack(wanted, &was); failed != 0) return failed;
  if (replaced.base != nullptr) {
    const int on_it = was.ss_flags & SS_ONSTACK;
    was = replaced.programs;
    was.ss_flags |= on_it;
  }
  if (wanted != nullptr) {
    Replaced larger{};
    if ((wanted->ss_flags & SS_DISABLE) == 0 && wanted->ss_size < kNeeded) larger = make_larger(*wanted);
    if (larger.base != nullptr) {
      stack_t ours = *wanted;
      ours.ss_sp = larger.base + kGuard;
      ours.ss_size = larger.bytes - kGuard;
      if (next_sigaltstack(&ours, nullptr) != 0) give_back(larger);
    }
    give_back(replaced);
    replaced = larger;
  }
  if (before != nullptr) *before = was;
  return 0;
}

}  // namespace
}  // namespace remote_malloc

REMOTE_MALLOC_WRAPPER int sigaltstack(const stack_t* wanted, stack_t* before) noexcept {
  using namespace remote_malloc;
  if (!handlers::enabled()) return next_sigaltstack(wanted, before);
  return set_stack(wanted, before);
}

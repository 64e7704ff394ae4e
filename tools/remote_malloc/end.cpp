// SPDX-License-Identifier: BSD-3-Clause
#include "end.hpp"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "blocks.hpp"
#include "inside.hpp"
#include "next.hpp"
#include "remote_memory.hpp"
#include "start.hpp"

namespace remote_malloc {
namespace {

using Handler = void (*)(int status, void* argument);
constinit Next<int(Handler, void*)> next_on_exit("on_exit");

// What Atoll has registered.
struct Registered {
  Handler handler;
  void* argument;
};
constexpr std::size_t kMost = 8;  // it registers one
constinit std::array<Registered, kMost> registered{};
constinit std::atomic<std::size_t> registered_count{0};

constinit std::atomic<pthread_t> ending{};
constinit struct sigaction atolls {};

void pass_on(int number, siginfo_t* info, void* context) {
  if ((atolls.sa_flags & SA_SIGINFO) != 0) return atolls.sa_sigaction(number, info, context);
  sigaction(number, &atolls, nullptr);
}

// Threads that the program has left running stop where they use memory that is going: else one of them would
// end the process by a signal, in place of the exit code.
void on_fault(int number, siginfo_t* info, void* context) {
  // The program's handler, which may leave by a jump, is not a use.
  if (info->si_code <= 0 || !blocks::touches(info->si_addr, 1)) return pass_on(number, info, context);
  {
    const Use use;
    if (use.here()) return pass_on(number, info, context);
  }
  const pthread_t ends = ending.load();  // none in a forked child: there it is a fault as any other
  if (ends != pthread_t{} && !pthread_equal(pthread_self(), ends)) {
    for (;;) pause();
  }
  pass_on(number, info, context);
}

constinit bool ends_with_process = false;
constinit std::atomic<int> exit_code{0};

void note_code(int code, void*) { exit_code.store(code); }

// With the destructors of libraries: those of the program itself have run, and those of Atoll, which this
// library needs, come next.  A PE that is alone waits for nobody, so that it finalizes whatever its exit code
// is and whichever thread ends it.
[[gnu::destructor]] void end() {
  const Inside inside;
  ending.store(pthread_self());
  if (leave() && memory::alone()) memory::end();
  for (std::size_t n = registered_count.load(); n > 0; --n)
    registered[n - 1].handler(exit_code.load(), registered[n - 1].argument);
}

}  // namespace

void end_with_process() { ends_with_process = true; }

void watch_faults() {
  sigaction(SIGSEGV, nullptr, &atolls);  // first: other threads may have faults at once
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace remote_malloc

// Atoll's own handlers are called by end(); that a program's are called is the C library's business.
REMOTE_MALLOC_WRAPPER int on_exit(void (*handler)(int, void*), void* argument) noexcept {
  using namespace remote_malloc;
  const std::size_t n = registered_count.load();
  if (!Inside::now() || !ends_with_process || n == kMost) return next_on_exit(handler, argument);
  registered[n] = {handler, argument};
  registered_count.store(n + 1);
  if (n == 0) next_on_exit(note_code, nullptr);
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "start.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "end.hpp"
#include "handlers.hpp"
#include "inside.hpp"
#include "next.hpp"
#include "remote_memory.hpp"
#include "statics.hpp"

namespace remote_malloc {
namespace {

enum class State { off, possible, starting, here, over };
constinit std::atomic<State> state{State::off};
constinit std::atomic<bool> waits_for_program{false};
constinit std::atomic<int> uses{0};

// Programs that this one executes would start as the same PE.  Its text is changed where it lies, as other
// threads may read the environment.
void switch_off_for_executed() {
  char* text = std::getenv("SHMEM_REMOTE_MALLOC");
  if (text == nullptr || text[0] == '\0') return;
  text[0] = '0';
  text[1] = '\0';
}

void forget_in_child() {
  if (state.load() == State::possible || state.load() == State::off) return;
  limit.store(SIZE_MAX);
  state.store(State::over);
}

// By whoever comes first; the others wait.
[[gnu::cold]] bool start() {
  State before = State::possible;
  if (state.compare_exchange_strong(before, State::starting)) {
    const int saved = errno;
    const Inside inside;
    switch_off_for_executed();
    memory::start();
    watch_faults();
    errno = saved;
    state.store(State::here);
    state.notify_all();
    return true;
  }
  for (; before == State::starting; before = state.load()) state.wait(State::starting);
  return before == State::here;
}

// A program of OpenSHMEM's has started Atoll itself: memory stays until it exits, also behind its own
// shmem_finalize.  All PEs are counted alike, as they all come here.
void follow_program() {
  if (waits_for_program.exchange(false) && start()) statics::after_start();
}

constinit Next<void()> next_shmem_init("shmem_init");
constinit Next<int(int, int*)> next_shmem_init_thread("shmem_init_thread");
constinit Next<void(int)> next_start_pes("start_pes");
constinit Next<void()> next_shmem_finalize("shmem_finalize");

}  // namespace

void enable(std::size_t bytes, bool waits) {
  pthread_atfork(nullptr, nullptr, forget_in_child);
  handlers::enable();
  waits_for_program.store(waits);
  state.store(State::possible);
  limit.store(bytes);
}

bool is_for_remote(std::size_t bytes) {
  if (Inside::now() || bytes > PTRDIFF_MAX) return false;
  if (here()) return true;
  return !waits_for_program.load() && start();
}

bool start_for_statics() {
  if (waits_for_program.load()) return false;
  return here() || (state.load() == State::possible && start());
}

bool here() { return state.load(std::memory_order_acquire) == State::here; }

// In this order, and in the reverse one in leave(): one of both sees the other.
Use::Use() {
  uses.fetch_add(1);
  here_ = state.load() == State::here;
}

Use::~Use() { uses.fetch_sub(1); }

// A use of the thread that ends the process, in a signal handler, is not waited for longer than that.
bool leave() {
  limit.store(SIZE_MAX);
  State before = State::here;
  if (!state.compare_exchange_strong(before, State::over)) return false;
  constexpr int kMilliseconds = 2000;
  for (int i = 0; i < kMilliseconds && uses.load() != 0; ++i) usleep(1000);
  return true;
}

}  // namespace remote_malloc

REMOTE_MALLOC_WRAPPER void shmem_init() {
  {
    const remote_malloc::Inside inside;
    remote_malloc::next_shmem_init();
  }
  remote_malloc::follow_program();
}

REMOTE_MALLOC_WRAPPER int shmem_init_thread(int requested, int* provided) {
  int failed;
  {
    const remote_malloc::Inside inside;
    failed = remote_malloc::next_shmem_init_thread(requested, provided);
  }
  if (failed == 0) remote_malloc::follow_program();
  return failed;
}

REMOTE_MALLOC_WRAPPER void start_pes(int pes) {
  {
    const remote_malloc::Inside inside;
    remote_malloc::next_start_pes(pes);
  }
  remote_malloc::follow_program();
}

REMOTE_MALLOC_WRAPPER void shmem_finalize() {
  const remote_malloc::Inside inside;
  remote_malloc::next_shmem_finalize();
}

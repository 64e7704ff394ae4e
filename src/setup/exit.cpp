// SPDX-License-Identifier: BSD-3-Clause
#include "setup/exit.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/fatal.hpp"
#include "base/observer.hpp"
#include "base/service_thread.hpp"
#include "base/wait_report.hpp"
#include "boot/boot.hpp"
#include "setup/setup.hpp"

namespace shm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFlushTime{200};
constexpr seconds kTimeOfHandlers{10};  // of the program, after shmem_global_exit
constexpr seconds kTimeOfStreams{10};   // to take what a program has written that leaves at once
constexpr seconds kTimeOfOthers{30};    // to come to the end of a program that has failed here

Boot* joined = nullptr;
pid_t owner = -1;                  // the process that started the library
std::atomic<pid_t> leaving{0};     // the thread that ends this process: the program's exit handlers have run
std::atomic<pid_t> ending_thread;  // that has called exit_job()
std::atomic<int> code_of_job{0};

std::thread::id starter;
std::atomic<bool> starter_has_ended{false};
std::atomic<bool> starting{false};  // a start of the library has begun, and is not over
bool ends_by_itself_ = false;

// Flushes what the program has written, but does not wait for a thread that holds a stream's lock, such as
// one that reads its standard input.  Where no thread can be made, as no memory is left, nothing is flushed.
void flush_streams() {
  static std::atomic<bool> flushed{false};
  try {
    start_service_thread("atoll-flush", [] {
      fflush(nullptr);
      flushed = true;
    }).detach();
  } catch (const std::exception&) {
    return;
  }
  const auto until = std::chrono::steady_clock::now() + kFlushTime;
  while (!flushed && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
}

[[noreturn]] void end_job(int code, const char* suspicion) {
  if (getpid() == owner) {
    tell_observer_of_end();
    flush_streams();
    if (joined != nullptr) joined->abort(code, suspicion);
  }
  _exit(code);
}

// Calls `end` unless the process has ended by itself.  The kernel sees to it where even that hangs, or no
// thread can be made.
void end_after(seconds time, void (*end)()) {
  die_within(static_cast<int>(time.count()) + 5);
  try {
    start_service_thread("atoll-end", [time, end] {
      std::this_thread::sleep_for(time);
      end();
    }).detach();
  } catch (const std::exception&) {
  }
}

// ---- exit()

void leave_after(seconds time, int status) {
  code_of_job = status;
  end_after(time, [] { _exit(code_of_job); });
}

// Ends the process as exit() would do next, but destroys nothing more: the agent, and threads of the program
// that are inside the library, use its objects and libfabric's.
[[noreturn]] void leave_at_once(int status) {
  leave_after(kTimeOfStreams, status);
  tell_observer_of_end();
  fcloseall();
  _exit(status);
}

// A program that returns from main without shmem_finalize still ends in order.  One that failed does not wait
// for the others, unless it need not finalize; nor does a thread that is not the library's, while the one
// that is lives: the launcher ends them.
void end_process(int status) {
  if (job_is_ending()) end_job(code_of_job, nullptr);
  const bool elsewhere = !starter_has_ended && std::this_thread::get_id() != starter;
  if (elsewhere && (starting || library_started())) leave_at_once(status);
  if (library_started()) {
    if (status != 0 && !ends_by_itself_) leave_at_once(status);
    if (status != 0) leave_after(kTimeOfOthers, status);
    announce_implied_end();
  }
  while (library_started()) stop_library({"the implied shmem_finalize"});
  if (joined != nullptr) joined->end();
  if (starting) leave_at_once(status);
}

// The exit code, if this is exit() at all; -1: the library is unloaded.
std::atomic<int> exit_status{-1};
void note_status(int status, void*) { exit_status = status & 0xff; }

// After all exit handlers and static destructors of the program, whoever registered them when; before the
// library's own, and before the libraries that it needs end.
[[gnu::destructor]] void end_last() {
  leaving = gettid();
  if (exit_status >= 0 && getpid() == owner) end_process(exit_status);
}

struct Starter {
  bool here = false;
  ~Starter() {
    if (here) starter_has_ended = true;
  }
};
thread_local Starter this_thread_started;

// ---- SIGTERM, by which launchers end a job

int terminated = -1;  // an eventfd

void on_terminate(int) {
  const int error = errno;
  const std::uint64_t one = 1;
  if (getpid() == owner && write(terminated, &one, sizeof one) == sizeof one) {
    errno = error;
    return;
  }
  signal(SIGTERM, SIG_DFL);
  raise(SIGTERM);  // when this returns
  errno = error;
}

// Another PE has ended the job: what the program has written here is flushed, and the signal does what it
// does.
void wait_for_terminate() {
  std::uint64_t count = 0;
  while (read(terminated, &count, sizeof count) < 0 && errno == EINTR) {
  }
  tell_observer_of_end();
  flush_streams();
  signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
}

void flush_when_terminated() {
  struct sigaction now {};
  sigaction(SIGTERM, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  terminated = eventfd(0, EFD_CLOEXEC);
  if (terminated < 0) return;
  try {
    start_service_thread("atoll-term", wait_for_terminate).detach();
  } catch (const std::system_error&) {
    return;
  }
  struct sigaction action {};
  action.sa_handler = on_terminate;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void become_pe(Boot& boot) {
  joined = &boot;
  set_abort_hook(end_job);
  if (boot.job().size > 1) flush_when_terminated();
}

void note_start(bool ends_by_itself) {
  while (leaving != 0 && leaving != gettid()) pause();  // nothing begins beside the end of the process
  [[maybe_unused]] static const int registered = on_exit(note_status, nullptr);
  if (joined == nullptr) owner = getpid();
  starting = true;
  starter = std::this_thread::get_id();
  starter_has_ended = false;
  this_thread_started.here = true;
  ends_by_itself_ = ends_by_itself;
}

void note_end_of_start() { starting = false; }

bool job_is_ending() { return ending_thread != 0; }

void exit_job(int status) {
  if (owner != -1 && getpid() != owner) _exit(status);
  pid_t first = 0;
  const bool again = !ending_thread.compare_exchange_strong(first, gettid());
  while (again && first != gettid()) pause();  // the first ends the process
  if (again || leaving != 0) end_job(status, nullptr);
  code_of_job = status;
  abandon_library();
  end_after(kTimeOfHandlers, [] { end_job(code_of_job, nullptr); });
  std::exit(status);
}

}  // namespace shm

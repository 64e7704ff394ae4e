// SPDX-License-Identifier: BSD-3-Clause
#include "remote/paper_suspension.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "base/service_thread.hpp"
#include "base/spin.hpp"
#include "pages/futex.hpp"

namespace shm::remote {

/// What is known of a thread.
struct Task {
  std::atomic<pid_t> id;                // 0: the entry is free
  std::atomic<bool> waits_for_page;     // or never is suspended
  std::atomic<bool> signalled;          // and has not taken the signal yet
  std::atomic<std::uint32_t> seen;      // in which suspension it was there
  std::atomic<std::uint32_t> expected;  // in which suspension it has got a signal
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostTasks = 1024;  // others are never suspended
constexpr unsigned kPollsPerLook = 64;    // whether those that are waited for still live

constinit std::array<Task, kMostTasks> tasks{};
constinit SpinLock adding;                     // who takes it takes no signals
constinit std::atomic<std::uint32_t> gate{0};  // odd: suspended
constinit std::atomic<std::uint64_t> suspensions{0}, signals{0}, missed{0}, escaped{0};
int tasks_folder = -1;
int signal_number = 0;  // 0: not installed yet

bool is_closed(std::uint32_t value) { return value % 2 != 0; }

pid_t self() { return static_cast<pid_t>(syscall(SYS_gettid)); }

Task* find(pid_t id) {
  for (Task& task : tasks) {
    if (task.id.load(std::memory_order_relaxed) == id) return &task;
  }
  return nullptr;
}

// Null if there is no room.
Task* find_or_add(pid_t id) {
  if (Task* known = find(id)) return known;
  const LockGuard guard(adding);
  Task* free = find(0);
  if (free == nullptr) return nullptr;
  free->waits_for_page.store(false, std::memory_order_relaxed);
  free->signalled.store(false, std::memory_order_relaxed);
  free->expected.store(0, std::memory_order_relaxed);
  free->id.store(id, std::memory_order_release);
  return free;
}

// For as long as the gate stays closed; returns false if that was too long.
bool wait_at_gate() {
  const std::uint32_t closed = gate.load();
  if (!is_closed(closed)) return true;
  const Clock::time_point limit = Clock::now() + kLongestSuspension;
  while (gate.load() == closed) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(limit - Clock::now());
    if (left.count() <= 0) {
      escaped.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    pages::futex_wait(gate, closed, left.count());
  }
  return true;
}

// In each thread that is suspended.
void on_suspend(int) {
  const int saved = errno;
  if (Task* task = find(self())) task->signalled.store(false);
  wait_at_gate();
  errno = saved;
}

// A signal that nobody handles.  The handler stays: a thread that has had the signal blocked may take it at
// any time.
void install() {
  tasks_folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks_folder < 0) fatal("SHMEM_SWAP: cannot open /proc/self/task: %s", std::strerror(errno));
  struct sigaction action {};
  action.sa_handler = on_suspend;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  for (const int own : kOwnFaults) sigdelset(&action.sa_mask, own);
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    sigaction(number, &action, nullptr);
    signal_number = number;
    return;
  }
  fatal("SHMEM_SWAP: the program handles all real-time signals; one is needed to suspend threads");
}

// Calls visit(id) for each thread of the process.  Allocates nothing: a thread may have been suspended in
// malloc.
template <class Visit>
void for_each_thread(Visit visit) {
  static std::array<char, 4096> entries;
  lseek(tasks_folder, 0, SEEK_SET);
  for (long n; (n = syscall(SYS_getdents64, tasks_folder, entries.data(), entries.size())) > 0;) {
    for (long at = 0; at < n;) {
      const char* entry = entries.data() + at;
      std::uint16_t length;
      std::memcpy(&length, entry + offsetof(dirent64, d_reclen), sizeof length);
      const char* name = entry + offsetof(dirent64, d_name);
      if (name[0] != '.') visit(static_cast<pid_t>(std::strtol(name, nullptr, 10)));
      at += length;
    }
  }
}

// One that has had a signal blocked since an earlier suspension does not get another.
void send_signal(pid_t id, std::uint32_t now) {
  Task* task = find_or_add(id);
  if (task == nullptr) return;
  task->seen.store(now, std::memory_order_relaxed);
  if (task->waits_for_page.load() || task->signalled.exchange(true)) return;
  if (syscall(SYS_tgkill, getpid(), id, signal_number) != 0) {
    task->signalled.store(false);
    return;
  }
  task->expected.store(now, std::memory_order_relaxed);
  signals.fetch_add(1, std::memory_order_relaxed);
}

bool has_ended(pid_t id) { return syscall(SYS_tgkill, getpid(), id, 0) != 0 && errno == ESRCH; }

bool runs(const Task& task, std::uint32_t now) {
  return task.id.load(std::memory_order_relaxed) != 0 &&
         task.expected.load(std::memory_order_relaxed) == now && task.signalled.load() &&
         !task.waits_for_page.load();
}

void wait_for_all(std::uint32_t now) {
  const Clock::time_point limit = Clock::now() + kSignalPatience;
  unsigned polls = 0;
  for (Task& task : tasks) {
    while (runs(task, now)) {
      sched_yield();
      if (++polls % kPollsPerLook != 0) continue;
      if (has_ended(task.id.load(std::memory_order_relaxed))) break;
      if (Clock::now() < limit) continue;
      missed.fetch_add(1, std::memory_order_relaxed);
      break;
    }
  }
}

void forget_ended(std::uint32_t now) {
  const LockGuard guard(adding);
  for (Task& task : tasks) {
    const pid_t id = task.id.load(std::memory_order_relaxed);
    if (id != 0 && task.seen.load(std::memory_order_relaxed) != now && has_ended(id))
      task.id.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

UserThreadsSuspended::UserThreadsSuspended() {
  if (signal_number == 0) install();
  const std::uint32_t now = gate.fetch_add(1) + 1;
  suspensions.fetch_add(1, std::memory_order_relaxed);
  for_each_thread([now](pid_t id) { send_signal(id, now); });
  forget_ended(now);
  wait_for_all(now);
}

UserThreadsSuspended::~UserThreadsSuspended() {
  gate.fetch_add(1);
  pages::futex_wake(gate);
}

void is_no_user_thread() {
  if (Task* task = find_or_add(self())) task->waits_for_page.store(true);
}

WaitsForPage::WaitsForPage() : task_(find_or_add(self())) {
  if (task_ != nullptr) task_->waits_for_page.store(true);
}

// Either this thread sees that the gate is closed, or who closes it sees that this thread runs.
WaitsForPage::~WaitsForPage() {
  if (task_ == nullptr) return;
  for (;;) {
    const bool open = wait_at_gate();
    task_->waits_for_page.store(false);
    if (!open || !is_closed(gate.load())) return;
    task_->waits_for_page.store(true);
  }
}

SuspensionCounts suspension_counts() {
  return {suspensions.load(), signals.load(), missed.load(), escaped.load()};
}

}  // namespace shm::remote

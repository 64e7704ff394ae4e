// SPDX-License-Identifier: BSD-3-Clause
#include "base/crash.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/call_stack.hpp"
#include "base/fatal.hpp"
#include "base/fault_kind.hpp"
#include "base/fixed_text.hpp"
#include "base/observer.hpp"
#include "base/signal_chain.hpp"

namespace shm {
namespace {

struct Watched {
  int number;
  const char* name;
  bool spoken;  // false: only a core file is written
  struct sigaction before {};
};
constinit Watched watched[] = {{SIGSEGV, "SIGSEGV", true},  {SIGBUS, "SIGBUS", true},
                               {SIGABRT, "SIGABRT", true},  {SIGFPE, "SIGFPE", true},
                               {SIGILL, "SIGILL", true},    {SIGQUIT, "SIGQUIT", false},
                               {SIGXCPU, "SIGXCPU", false}, {SIGSYS, "SIGSYS", false}};

CrashReport how;
pid_t watched_process = -1;
bool prepared = false;
std::atomic<pid_t> reporter{0};  // the thread that reports

// What it reports.
struct First {
  int signal = 0;
  const siginfo_t* info = nullptr;
  const void* context = nullptr;
  bool reason_said = true;  // false: as soon as it is known
  bool failed = false;      // the report itself, which then says what it has
  bool word_left = false;   // leave_word()
};
constinit First first;

constexpr long kLongestReport = 20;                         // s
constexpr long kLongestStack = 2;                           // s, to find what takes microseconds
constexpr long kLongestNames = 15;                          // s, as debugging information may be large
constexpr int kLongestWait = 3000;                          // ms, for another PE's report
constexpr std::size_t kSignalStack = std::size_t{8} << 20;  // as a thread's: handlers wait for pages on it

// ---- the text

class Block : public FixedText<16384> {
 public:
  /// As one write, so that the lines of several PEs are not mixed.
  void write_out() {
    if (!text().empty()) print_text(text().data(), text().size());
    clear();
  }
  /// Ends a line that has been begun.
  void end_line() {
    if (!text().empty() && text().back() != '\n') add("\n");
  }
};
constinit Block block;

struct Frames {
  int number = 0;
  bool may_allocate, no_lines = false, at_end = false;
};

void add_frame(const FrameName& frame, void* to) {
  Frames& frames = *static_cast<Frames*>(to);
  const Demangled function(frame.function, frames.may_allocate);
  const char* name = function.text() != nullptr ? function.text() : "?";
  block.add("atoll: %s:   #%d %.200s", identity_text(), frames.number++, name);
  if (frame.file != nullptr) {
    block.add(" at %.300s:%d\n", frame.file, frame.line);
  } else {
    block.add(" (%.200s+0x%zx)\n", frame.object != nullptr ? frame.object : "no file", frame.at);
  }
  const bool is_main = std::strcmp(name, "main") == 0;
  frames.at_end = is_main || std::strcmp(name, "start_thread") == 0;
  frames.no_lines |= is_main && frame.file == nullptr;
}

// What main() was called by interests nobody.
void add_frames(const CallStack& stack, int from) {
  Frames frames{.may_allocate = !is_in_allocator(stack)};
  for (int i = from, again = 0; i < stack.frames && !frames.at_end; ++i) {
    const bool same = i > from && stack.places[i] == stack.places[i - 1];
    if (same) ++again;
    if (!same || i + 1 == stack.frames) {
      if (again > 0) block.add("atoll: %s:   (the same %d times more)\n", identity_text(), again);
      again = 0;
    }
    if (!same) name_frames(stack.places[i], add_frame, &frames);
  }
  if (frames.no_lines)
    block.add("atoll: %s:   (files and lines are there if the program is compiled with -g)\n",
              identity_text());
}

// Of CrashReport::shown.
enum Shown : std::uint32_t { kNobody, kBeingShown, kShown };

// Whether the calls are to be shown here; else somebody else of the node has shown them, and is through with
// it: whose process ends first has the launcher end the others.
bool begin_calls() {
  if (how.of_each || how.shown == nullptr) return true;
  std::uint32_t before = kNobody;
  if (how.shown->compare_exchange_strong(before, kBeingShown)) return true;
  const timespec millisecond{0, 1000000};
  for (int i = 0; i < kLongestWait && how.shown->load() != kShown; ++i) nanosleep(&millisecond, nullptr);
  return false;
}

void end_calls() {
  block.write_out();
  if (how.shown != nullptr) how.shown->store(kShown);
}

// The one argument of the call that the library accesses, and has not checked, in this way; null: which one
// is not known.
const char* argument_of(std::string_view call, Fault fault) {
  const auto has = [call](std::string_view word) { return call.find(word) != call.npos; };
  if (fault == Fault::load && has("put")) return "source";
  if (fault == Fault::store && has("get")) return "dest";
  if (fault == Fault::store && has("_nbi") && has("atomic")) return "fetch";
  return nullptr;
}

void add_bad_address(const siginfo_t& info, const void* context, const CallStack& stack) {
  const auto at = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const Fault fault = kind_of_fault(context);
  const char* verb = fault == Fault::load ? "read" : fault == Fault::store ? "written" : "executed";
  const char* argument = stack.caller > 0 ? argument_of(stack.call, fault) : nullptr;
  if (info.si_code == SEGV_ACCERR) {
    block.add("%s%swhat is at 0x%zx must not be %s\n", argument != nullptr ? argument : "",
              argument != nullptr ? " is wrong, " : "", at, verb);
  } else if (info.si_code != SEGV_MAPERR) {
    block.add("an address that no memory has\n");
  } else if (argument != nullptr && at < kNearNull) {
    block.add("%s is NULL, or close to it: nothing can be %s at 0x%zx\n", argument, verb, at);
  } else {
    block.add("%s%snothing can be %s at 0x%zx%s\n", argument != nullptr ? argument : "",
              argument != nullptr ? " is no memory of this PE, " : "", verb, at, at == 0 ? " (NULL)" : "");
  }
}

// Of a signal that says nothing of what the thread was doing.
void add_sender(const siginfo_t& info) {
  if (info.si_code != SI_USER && info.si_code != SI_QUEUE && info.si_code != SI_TKILL) {
    block.add("sent by a timer, or what else the program has asked for it\n");
  } else if (info.si_pid == 0) {
    block.add("sent by a process outside this container\n");
  } else {
    block.add("sent by process %d\n", info.si_pid);
  }
}

void add_reason(const siginfo_t& info, const void* context, const CallStack& stack) {
  const int number = info.si_signo;
  if (number == SIGABRT && info.si_code == SI_TKILL && info.si_pid == watched_process) {
    block.add("the program has called abort\n");
  } else if (info.si_code <= 0) {
    add_sender(info);
  } else if (number == SIGSEGV) {
    add_bad_address(info, context, stack);
  } else if (number == SIGFPE) {
    block.add("%s\n", info.si_code == FPE_INTDIV ? "a division of integers by zero" : "wrong arithmetic");
  } else if (number == SIGILL) {
    block.add("no instruction is at %p\n", info.si_addr);
  } else {
    block.add("no memory is behind %p\n", info.si_addr);
  }
}

// ---- the signal

Watched& watched_signal(int number) {
  return *std::find_if(std::begin(watched), std::end(watched),
                       [=](const Watched& w) { return w.number == number; });
}

// The kernel sends a signal to this thread if the clock runs out: SIGKILL ends a report that hangs, the
// signal that is reported brings it to an end that is told.
class ReportClock {
 public:
  explicit ReportClock(int number) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = number;
    event._sigev_un._tid = reporter.load();
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer_) != 0) timer_ = -1;
  }
  ~ReportClock() { syscall(SYS_timer_delete, timer_); }
  ReportClock(const ReportClock&) = delete;
  ReportClock& operator=(const ReportClock&) = delete;

  /// From now on.  0: it stands.
  void set(long seconds) {
    itimerspec once{};
    once.it_value.tv_sec = seconds;
    syscall(SYS_timer_settime, timer_, 0, &once, nullptr);
  }

 private:
  int timer_ = -1;
};

[[noreturn]] void end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);
  _exit(kErrorExit);
}

// For the observer, and in the core file.
void leave_word() {
  if (std::exchange(first.word_left, true)) return;
  tell_observer_of_end();
  if (how.choose_core != nullptr) how.choose_core();
}

// The report fails, as on a stack that is overwritten, or does not come to an end, as where another thread
// keeps the lock of the dynamic loader: what is known is said, and the process ends as by the crash.
[[noreturn]] void end_by_first_signal(bool in_time) {
  if (!std::exchange(first.failed, true)) {
    if (!block.text().empty()) {
      if (!std::exchange(first.reason_said, true)) {
        block.add(": ");
        add_reason(*first.info, first.context, CallStack());
      }
      block.end_line();
      block.add(
          "atoll: %s:   (%s)\n", identity_text(),
          in_time
              ? "its stack cannot be read"
              : "calls that are missing were not found in time: another thread may have the loader's lock");
      end_calls();
    }
    leave_word();
  }
  end_by(first.signal);
}

// Of a thread that crashes while another one reports: that one ends the process.  Or hangs, in what follows
// on fatal(), which no clock of the kernel's bounds.
[[noreturn]] void leave_it_to_the_first(int number) {
  const timespec millisecond{0, 1000000};
  for (long i = 0; i < 1000 * kLongestReport; ++i) nanosleep(&millisecond, nullptr);
  end_by(number);
}

void report(const Watched& signal) {
  ReportClock clock(first.signal);
  clock.set(kLongestStack);
  block.add("atoll: %s: %s", identity_text(), signal.name);
  CallStack stack;
  take_call_stack(stack, first.context);
  clock.set(kLongestNames);
  first.reason_said = true;
  block.add(stack.call[0] != '\0' ? " in %s: " : ": ", stack.call);
  add_reason(*first.info, first.context, stack);
  if (begin_calls()) add_frames(stack, 0);
  clock.set(0);
  end_calls();
}

void on_crash(int number, siginfo_t* info, void* context) {
  Watched& signal = watched_signal(number);
  if (getpid() != watched_process) return pass_on(signal.before, number, info, context);
  pid_t before = 0;
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  if (!reporter.compare_exchange_strong(before, self)) {
    if (before == self) end_by_first_signal(info->si_code != SI_TIMER);
    leave_it_to_the_first(number);
  }
  first = {.signal = number, .info = info, .context = context, .reason_said = false};
  {
    ReportClock clock(SIGKILL);
    clock.set(kLongestReport);
    if (how.spoken && signal.spoken) report(signal);
    leave_word();
  }
  pass_on(signal.before, number, info, context);
}

// So that a stack that has no room left can still be reported.
void give_signal_stack() {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  constexpr std::size_t kGuard = 4096;
  void* memory = mmap(nullptr, kSignalStack + kGuard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  mprotect(memory, kGuard, PROT_NONE);
  stack_t ours{};
  ours.ss_sp = static_cast<char*>(memory) + kGuard;
  ours.ss_size = kSignalStack;
  sigaltstack(&ours, nullptr);
}

void watch(Watched& signal) {
  struct sigaction now {};
  sigaction(signal.number, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  signal.before = now;
  sigaction(signal.number, &action, nullptr);
}

}  // namespace

void report_crashes(const CrashReport& report) {
  how = report;
  watched_process = getpid();
  if (prepared) return;
  prepared = true;
  prepare_call_stacks();
  give_signal_stack();
  for (Watched& signal : watched)
    if (how.choose_core != nullptr || (how.spoken && signal.spoken)) watch(signal);
}

void report_caller() {
  if (!prepared || !how.spoken || getpid() != watched_process) return;
  pid_t nobody = 0;
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  if (!reporter.compare_exchange_strong(nobody, self)) return;
  ReportClock clock(SIGKILL);  // its line stands already
  clock.set(kLongestStack);
  CallStack stack;
  take_call_stack(stack, nullptr);
  clock.set(kLongestNames);
  if (stack.caller >= 0 && begin_calls()) {
    add_frames(stack, stack.caller);
    end_calls();
  }
  reporter.store(0);
}

}  // namespace shm

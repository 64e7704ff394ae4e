// SPDX-License-Identifier: BSD-3-Clause
// Handlers and masks of a program that has remote memory.  Each test is a process of its own.
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "enabled.hpp"
#include "in_child.hpp"
#include "patterns.hpp"

extern "C" void (*sysv_signal(int number, void (*handler)(int)) noexcept)(int);

namespace remote_malloc {
namespace handlers_test {  // the names are common
namespace {

class HandlersDeath : public InChild {};

constexpr std::size_t kBytes = 16 * kLimit;
std::uint8_t* block = nullptr;

void start() {
  end_with_process();
  enable(kLimit, false);
  block = static_cast<std::uint8_t*>(std::malloc(kBytes));
  REQUIRE_IN_CHILD(is_remote(block));
  fill(block, kBytes, 1);
}

// With faults.
bool usable() {
  paged::close_all();
  return first_other(block, kBytes, 1) == kBytes;
}

void fault() { *reinterpret_cast<volatile int*>(std::uintptr_t{8}) = 1; }

void end_with_9(int) { _exit(9); }
void end_with_8(int) { _exit(8); }

struct sigaction action_of(void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return action;
}

TEST_F(HandlersDeath, TheProgramsGetsFaultsOfItsOwnAlone) {
  const auto run = [] {
    start();
    REQUIRE_IN_CHILD(signal(SIGSEGV, end_with_9) == SIG_DFL);
    REQUIRE_IN_CHILD(usable());
    fault();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(9), "");
}

TEST_F(HandlersDeath, OneFromBeforeTheStartStaysTheProgramsToo) {
  const auto run = [] {
    const struct sigaction early = action_of(end_with_9);
    REQUIRE_IN_CHILD(sigaction(SIGSEGV, &early, nullptr) == 0);
    start();
    struct sigaction now;
    REQUIRE_IN_CHILD(sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_handler == end_with_9);
    REQUIRE_IN_CHILD(usable());
    fault();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(9), "");
}

TEST_F(HandlersDeath, TheProgramIsToldWhatItHasSaid) {
  const auto run = [] {
    start();
    struct sigaction now = action_of(end_with_8, SA_RESTART), before;
    sigaddset(&now.sa_mask, SIGUSR1);
    REQUIRE_IN_CHILD(sigaction(SIGSEGV, &now, &before) == 0 && before.sa_handler == SIG_DFL);
    REQUIRE_IN_CHILD(sigaction(SIGSEGV, nullptr, &before) == 0 && before.sa_handler == end_with_8);
    REQUIRE_IN_CHILD(before.sa_flags == SA_RESTART && sigismember(&before.sa_mask, SIGUSR1) == 1);
    REQUIRE_IN_CHILD(signal(SIGSEGV, end_with_9) == end_with_8);
    REQUIRE_IN_CHILD(signal(SIGSEGV, SIG_IGN) == end_with_9);
    REQUIRE_IN_CHILD(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
    REQUIRE_IN_CHILD(usable());
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(HandlersDeath, WithoutOneAFaultEndsTheProcess) {
  const auto run = [](void (*handler)(int)) {
    start();
    signal(SIGSEGV, handler);
    fault();
  };
  EXPECT_EXIT(run(SIG_DFL), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run(SIG_IGN), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(HandlersDeath, ASignalThatIsSentIsNoFault) {
  const auto run = [](void (*handler)(int)) {
    start();
    signal(SIGSEGV, handler);
    raise(SIGSEGV);
    REQUIRE_IN_CHILD(usable());
    _exit(0);
  };
  EXPECT_EXIT(run(SIG_DFL), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run(SIG_IGN), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run(end_with_9), testing::ExitedWithCode(9), "");
}

// As interpreters do it that look for the end of their memory.
sigjmp_buf back;
const void* faulted_at = nullptr;
bool others_blocked = false, remote_memory_there = false;

void note_and_leave(int, siginfo_t* info, void*) {
  faulted_at = info->si_addr;
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  others_blocked = sigismember(&mask, SIGUSR1) == 1;
  remote_memory_there = usable();
  siglongjmp(back, 1);
}

TEST_F(HandlersDeath, OneMayLeaveByAJumpAgainAndAgain) {
  const auto run = [] {
    start();
    struct sigaction action {};
    action.sa_sigaction = note_and_leave;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    REQUIRE_IN_CHILD(sigaction(SIGSEGV, &action, nullptr) == 0);
    for (int i = 0; i < 20; ++i) {
      faulted_at = nullptr;
      if (sigsetjmp(back, 1) == 0) fault();
      REQUIRE_IN_CHILD(faulted_at == reinterpret_cast<void*>(8));
      REQUIRE_IN_CHILD(others_blocked && remote_memory_there);
      sigset_t mask;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      REQUIRE_IN_CHILD(sigismember(&mask, SIGUSR1) == 0);
    }
    REQUIRE_IN_CHILD(usable());
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

int calls = 0, usr1_calls = 0;

TEST_F(HandlersDeath, ItsMaskEndsWithIt) {
  const auto run = [] {
    start();
    signal(SIGUSR1, [](int) { ++usr1_calls; });
    struct sigaction action = action_of([](int) {
      ++calls;
      raise(SIGUSR1);
      REQUIRE_IN_CHILD(usr1_calls == 0);
    });
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &action, nullptr);
    raise(SIGSEGV);
    REQUIRE_IN_CHILD(calls == 1 && usr1_calls == 1);
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(HandlersDeath, OneForOnceIsForOnce) {
  const auto run = [] {
    start();
    sysv_signal(SIGSEGV, [](int) { ++calls; });
    raise(SIGSEGV);
    REQUIRE_IN_CHILD(calls == 1);
    raise(SIGSEGV);
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(HandlersDeath, AThreadThatBlocksAllSignalsHasTheMemory) {
  const auto run = [](int (*set_mask)(int, const sigset_t*, sigset_t*) noexcept, int how) {
    start();
    sigset_t all, now;
    sigfillset(&all);
    REQUIRE_IN_CHILD(set_mask(how, &all, nullptr) == 0);
    REQUIRE_IN_CHILD(usable());
    REQUIRE_IN_CHILD(set_mask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGUSR1) == 1);
    REQUIRE_IN_CHILD(set_mask(SIG_UNBLOCK, &all, nullptr) == 0);
    REQUIRE_IN_CHILD(set_mask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGUSR1) == 0);
    _exit(0);
  };
  for (const int how : {SIG_BLOCK, SIG_SETMASK}) {
    EXPECT_EXIT(run(sigprocmask, how), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(run(pthread_sigmask, how), testing::ExitedWithCode(0), "");
  }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // old programs have them
TEST_F(HandlersDeath, WhoHoldsSignalsHasTheMemory) {
  const auto run = [] {
    start();
    REQUIRE_IN_CHILD(sighold(SIGSEGV) == 0 && sighold(SIGUSR1) == 0);
    REQUIRE_IN_CHILD(sigset(SIGSEGV, SIG_HOLD) == SIG_DFL && sigset(SIGUSR1, SIG_HOLD) == SIG_HOLD);
    sigset_t now;  // before other calls change it
    sigprocmask(SIG_BLOCK, nullptr, &now);
    REQUIRE_IN_CHILD(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGSEGV) == 0);
    REQUIRE_IN_CHILD(usable());
    REQUIRE_IN_CHILD(sigset(SIGUSR1, SIG_IGN) == SIG_HOLD);
    raise(SIGUSR1);
    REQUIRE_IN_CHILD(sigignore(SIGSEGV) == 0 && sigset(SIGSEGV, end_with_9) == SIG_IGN);
    REQUIRE_IN_CHILD(usable());
    fault();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(9), "");
}
#pragma GCC diagnostic pop

TEST_F(HandlersDeath, AThreadThatBeginsWithAMaskHasTheMemory) {
  const auto run = [] {
    start();
    sigset_t all;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE_IN_CHILD(pthread_attr_setsigmask_np(&attributes, &all) == 0);
    const auto begin = [](void*) -> void* {
      sigset_t now;
      pthread_sigmask(SIG_BLOCK, nullptr, &now);
      _exit(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGSEGV) == 0 && usable() ? 9 : 1);
    };
    pthread_t thread;
    REQUIRE_IN_CHILD(pthread_create(&thread, &attributes, begin, nullptr) == 0);
    pthread_join(thread, nullptr);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(9), "");
}

TEST_F(HandlersDeath, OfOtherSignalsTheyHaveItToo) {
  const auto run = [] {
    start();
    struct sigaction action = action_of([](int) { _exit(usable() ? 9 : 1); });
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(9), "");
}

TEST_F(HandlersDeath, InAForkedChildTheyAreTheProgramsStill) {
  const auto run = [] {
    start();
    signal(SIGSEGV, end_with_9);
    if (fork() == 0) {
      fault();
      _exit(1);
    }
    int status = 0;
    wait(&status);
    REQUIRE_IN_CHILD(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    REQUIRE_IN_CHILD(usable());
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// Which shares the memory of its parent until it executes another program.
TEST_F(HandlersDeath, AChildOfVforkChangesNothing) {
  const auto run = [] {
    start();
    signal(SIGSEGV, end_with_9);
    const pid_t child = vfork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      _exit(0);
    }
    REQUIRE_IN_CHILD(waitpid(child, nullptr, 0) == child);
    REQUIRE_IN_CHILD(signal(SIGSEGV, end_with_9) == end_with_9);
    fault();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(9), "");
}

// Else the end would wait for them.
TEST_F(HandlersDeath, OneThatDoesNotReturnUsesNoMemory) {
  const auto run = [] {
    start();
    signal(SIGSEGV, [](int) { siglongjmp(back, 1); });
    if (sigsetjmp(back, 1) == 0) fault();
    const auto begin = std::chrono::steady_clock::now();
    leave();
    _exit(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1) ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(HandlersDeath, WhatIsNoHandlerIsRefused) {
  const auto run = [] {
    start();
    errno = 0;
    REQUIRE_IN_CHILD(signal(SIGSEGV, SIG_ERR) == SIG_ERR && errno == EINVAL);
    REQUIRE_IN_CHILD(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// The signal comes during the call, and its handler runs with the mask that is given.
template <class Wait>
void wait_with_mask(Wait wait) {
  start();
  signal(SIGALRM, [](int) { _exit(usable() ? 9 : 1); });
  sigset_t alarm_alone, mask;
  sigemptyset(&alarm_alone);
  sigaddset(&alarm_alone, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarm_alone, nullptr);
  raise(SIGALRM);
  sigfillset(&mask);
  sigdelset(&mask, SIGALRM);
  wait(&mask);
}

TEST_F(HandlersDeath, CallsWithAMaskOfTheirOwnBlockNoFaults) {
  constexpr timespec kLong{60, 0};
  EXPECT_EXIT(wait_with_mask([](const sigset_t* mask) { sigsuspend(mask); }), testing::ExitedWithCode(9), "");
  EXPECT_EXIT(wait_with_mask([&](const sigset_t* mask) { ppoll(nullptr, 0, &kLong, mask); }),
              testing::ExitedWithCode(9), "");
  EXPECT_EXIT(
      wait_with_mask([&](const sigset_t* mask) { pselect(0, nullptr, nullptr, nullptr, &kLong, mask); }),
      testing::ExitedWithCode(9), "");
  EXPECT_EXIT(wait_with_mask([](const sigset_t* mask) {
                epoll_event event;
                epoll_pwait(epoll_create1(0), &event, 1, 60'000, mask);
              }),
              testing::ExitedWithCode(9), "");
  EXPECT_EXIT(wait_with_mask([&](const sigset_t* mask) {
                epoll_event event;
                epoll_pwait2(epoll_create1(0), &event, 1, &kLong, mask);
              }),
              testing::ExitedWithCode(9), "");
}

// Larger than that one.
const std::byte* used_stack = nullptr;

TEST_F(HandlersDeath, ASmallStackOfTheProgramsIsReplacedUnseen) {
  const auto run = [] {
    start();
    static std::byte small[16384];
    stack_t mine{}, told;
    mine.ss_sp = small;
    mine.ss_size = sizeof small;
    REQUIRE_IN_CHILD(sigaltstack(&mine, &told) == 0 && (told.ss_flags & SS_DISABLE) != 0);
    REQUIRE_IN_CHILD(sigaltstack(nullptr, &told) == 0);
    REQUIRE_IN_CHILD(told.ss_sp == small && told.ss_size == sizeof small && told.ss_flags == 0);
    struct sigaction action = action_of(
        [](int) {
          std::byte deep[100'000];
          std::memset(deep, 1, sizeof deep);
          used_stack = deep;
          stack_t now;
          REQUIRE_IN_CHILD(sigaltstack(nullptr, &now) == 0);
          REQUIRE_IN_CHILD(now.ss_sp == small && now.ss_flags == SS_ONSTACK);
          stack_t none{};
          none.ss_flags = SS_DISABLE;
          REQUIRE_IN_CHILD(sigaltstack(&none, nullptr) != 0 && errno == EPERM);
        },
        SA_ONSTACK);
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    REQUIRE_IN_CHILD(used_stack != nullptr);
    for (const std::byte each : small) REQUIRE_IN_CHILD(each == std::byte{0});
    mine.ss_flags = SS_DISABLE;
    REQUIRE_IN_CHILD(sigaltstack(&mine, &told) == 0 && told.ss_sp == small);
    REQUIRE_IN_CHILD(sigaltstack(nullptr, &told) == 0 && told.ss_flags == SS_DISABLE);
    mine = {small, 0, 100};
    REQUIRE_IN_CHILD(sigaltstack(&mine, nullptr) != 0 && errno == ENOMEM);
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(HandlersDeath, TheStacksOfThreadsGoWithThem) {
  const auto run = [] {
    start();
    const auto mapped = [] {
      std::ifstream maps("/proc/self/maps");
      return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    };
    const auto use = [] {
      std::vector<std::byte> small(16384);
      stack_t mine{};
      mine.ss_sp = small.data();
      mine.ss_size = small.size();
      REQUIRE_IN_CHILD(sigaltstack(&mine, nullptr) == 0);
      REQUIRE_IN_CHILD(usable());
    };
    std::thread(use).join();
    const auto before = mapped();
    for (int i = 0; i < 50; ++i) std::thread(use).join();
    REQUIRE_IN_CHILD(mapped() < before + 20);
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(HandlersDeath, TheNumberOfAChildMayBeRemote) {
  const auto run = [] {
    start();
    paged::close_all();
    auto* const child = reinterpret_cast<pid_t*>(block);
    char name[] = "true";
    char* const arguments[] = {name, nullptr};
    REQUIRE_IN_CHILD(posix_spawnp(child, "true", nullptr, nullptr, arguments, environ) == 0);
    REQUIRE_IN_CHILD(waitpid(*child, nullptr, 0) > 0);
    paged::close_all();
    REQUIRE_IN_CHILD(posix_spawn(child, "/bin/true", nullptr, nullptr, arguments, environ) == 0);
    REQUIRE_IN_CHILD(waitpid(*child, nullptr, 0) > 0);
    _exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(HandlersDeath, WithoutALimitAllIsTheCLibrarys) {
  const auto run = [] {
    REQUIRE_IN_CHILD(signal(SIGSEGV, end_with_9) == SIG_DFL);
    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    REQUIRE_IN_CHILD(sigismember(&now, SIGSEGV) == 1);
    pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
    fault();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace handlers_test
}  // namespace remote_malloc

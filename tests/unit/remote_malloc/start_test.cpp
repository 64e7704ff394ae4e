// SPDX-License-Identifier: BSD-3-Clause
// Each of these is a process of its own, which has not started yet.
#include "start.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "end.hpp"
#include "in_child.hpp"
#include "inside.hpp"
#include "patterns.hpp"

extern "C" void shmem_init();

namespace remote_malloc {
namespace {

using StartDeath = InChild;

bool next_is_remote() {
  void* block = std::malloc(kLimit);
  const bool remote = is_remote(block);
  std::free(block);
  return remote;
}

void enable_here() {
  end_with_process();
  enable(kLimit, false);
}

TEST_F(StartDeath, NothingIsRemoteWithoutALimit) {
  EXPECT_EXIT(
      {
        REQUIRE_IN_CHILD(!next_is_remote());
        REQUIRE_IN_CHILD(paged::counts().starts == 0);
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StartDeath, TheFirstLargeAllocationStartsOnce) {
  EXPECT_EXIT(
      {
        enable_here();
        std::free(std::malloc(kLimit - 1));
        REQUIRE_IN_CHILD(paged::counts().starts == 0);
        std::vector<std::thread> threads;
        std::atomic<int> remote{0};
        for (int i = 0; i < 8; ++i) threads.emplace_back([&] { remote += next_is_remote(); });
        for (std::thread& thread : threads) thread.join();
        REQUIRE_IN_CHILD(remote == 8 && paged::counts().starts == 1);
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StartDeath, WhatItAllocatesItselfIsLocal) {
  EXPECT_EXIT(
      {
        static bool remote = true;
        paged::at_start([] { remote = next_is_remote(); });
        enable_here();
        REQUIRE_IN_CHILD(next_is_remote());
        REQUIRE_IN_CHILD(!remote);
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StartDeath, ProgramsThatAreExecutedLaterHaveNoRemoteMemory) {
  EXPECT_EXIT(
      {
        setenv("SHMEM_REMOTE_MALLOC", "1m", 1);
        enable_here();
        REQUIRE_IN_CHILD(strcmp(getenv("SHMEM_REMOTE_MALLOC"), "1m") == 0);
        REQUIRE_IN_CHILD(next_is_remote());
        REQUIRE_IN_CHILD(strcmp(getenv("SHMEM_REMOTE_MALLOC"), "0") == 0);
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StartDeath, AProgramOfOpenSHMEMsWaitsForItsOwnStart) {
  EXPECT_EXIT(
      {
        end_with_process();
        enable(kLimit, true);
        REQUIRE_IN_CHILD(!next_is_remote());
        shmem_init();
        REQUIRE_IN_CHILD(paged::counts().starts == 1);
        REQUIRE_IN_CHILD(next_is_remote());
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StartDeath, AChildOfAProcessThatHasNotStartedMayStart) {
  EXPECT_EXIT(
      {
        enable_here();
        if (const pid_t child = fork(); child != 0) {
          int status = 1;
          waitpid(child, &status, 0);
          _exit(status == 0 ? 0 : 1);
        }
        REQUIRE_IN_CHILD(next_is_remote());
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// ---- The end

std::uint8_t* last_block = nullptr;

// Registered before the start, so called after what Atoll registers then.
void use_block_at_exit() {
  REQUIRE_IN_CHILD(first_other(last_block, kLimit, 1) == kLimit);
  REQUIRE_IN_CHILD(paged::counts().ends == 0);
  free(last_block);
}

void say_status(int status, void*) {
  REQUIRE_IN_CHILD(paged::counts().ends == 1);
  dprintf(STDERR_FILENO, "status %d\n", status);
}

void run_to_exit(int status) {
  end_with_process();
  atexit(use_block_at_exit);
  paged::at_start([] { on_exit(say_status, nullptr); });
  enable(kLimit, false);
  last_block = static_cast<std::uint8_t*>(std::malloc(kLimit));
  REQUIRE_IN_CHILD(is_remote(last_block));
  fill(last_block, kLimit, 1);
  exit(status);
}

TEST_F(StartDeath, TheProgramsHandlersAtExitStillHaveTheMemory) {
  EXPECT_EXIT(run_to_exit(0), testing::ExitedWithCode(0), "status 0");
}

TEST_F(StartDeath, TheExitCodeIsTheProgramsAndKnown) {
  EXPECT_EXIT(run_to_exit(7), testing::ExitedWithCode(7), "status 7");
}

void exit_from_thread() {
  end_with_process();
  enable(kLimit, false);
  REQUIRE_IN_CHILD(next_is_remote());
  std::thread([] { exit(3); }).join();
}

TEST_F(StartDeath, AnyThreadMayEndTheProcess) {
  EXPECT_EXIT(exit_from_thread(), testing::ExitedWithCode(3), "");
}

// Memory goes while threads still use it, for as long as it takes to end.
void exit_under_threads() {
  end_with_process();
  paged::at_start([] { on_exit([](int, void*) { usleep(50000); }, nullptr); });
  enable(kLimit, false);
  auto* block = static_cast<volatile std::uint8_t*>(std::malloc(64 * kLimit));
  std::atomic<int> running{0};
  for (int t = 0; t < 3; ++t) {
    std::thread([&, block] {
      ++running;
      for (std::size_t i = 0;; i = (i + 4096) % (64 * kLimit)) block[i] = 1;
    }).detach();
  }
  while (running != 3) std::this_thread::yield();
  exit(5);
}

TEST_F(StartDeath, ThreadsThatStillUseTheMemoryDoNotChangeTheExitCode) {
  EXPECT_EXIT(exit_under_threads(), testing::ExitedWithCode(5), "");
}

// As a fault that waits for a server is one.
void use_beyond_exit() {
  end_with_process();
  paged::at_start([] { on_exit([](int, void*) { usleep(300000); }, nullptr); });
  enable(kLimit, false);
  REQUIRE_IN_CHILD(next_is_remote());
  std::atomic<bool> used{false};
  std::thread([&] {
    const Use use;
    used = true;
    usleep(100000);
    REQUIRE_IN_CHILD(use.here() && paged::counts().ends == 0);
  }).detach();
  while (!used) std::this_thread::yield();
  exit(0);
}

TEST_F(StartDeath, TheEndWaitsForWhoUsesTheMemory) {
  EXPECT_EXIT(use_beyond_exit(), testing::ExitedWithCode(0), "");
}

TEST_F(StartDeath, AForkedChildEndsWithoutEndingTheMemory) {
  EXPECT_EXIT(
      {
        enable_here();
        last_block = static_cast<std::uint8_t*>(std::malloc(kLimit));
        if (fork() == 0) exit(0);
        int status = 1;
        wait(&status);
        REQUIRE_IN_CHILD(status == 0);
        fill(last_block, kLimit, 2);
        REQUIRE_IN_CHILD(first_other(last_block, kLimit, 2) == kLimit);
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StartDeath, HandlersOfTheProgramsOwnAreTheCLibrarys) {
  EXPECT_EXIT(
      {
        enable_here();
        REQUIRE_IN_CHILD(next_is_remote());
        on_exit([](int status, void*) { _exit(status == 4 && paged::counts().ends == 0 ? 9 : 1); }, nullptr);
        exit(4);
      },
      testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace remote_malloc

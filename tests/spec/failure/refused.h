/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls, many in one test: each is made by a process of its own, which must end by itself with exit
 * code 1 and one line that names the call and says what is wrong. */
#ifndef REFUSED_H
#define REFUSED_H

#include <regex.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRefused = 1, kReturned = 99, kMostText = 4096 };

/* How the line begins: of a program that runs alone, before it has called shmem_init, and of PE 0 of two. */
#define ALONE "PE 0 of 1 on [^ ]+: "
#define NOT_STARTED ""
#define PE_0_OF_2 "PE 0 of 2 on [^ ]+: "

/* What a process shall do, and how its end shall be. */
struct wrong_call {
  const char *name,
      *what; /* the call as the line must name it, and a regular expression that the rest must have */
  void (*prepare)(void), (*call)(void);
  const char* who;
  int code;
};

static int cases_made, cases_failed;

static void read_all(int descriptor, char text[kMostText]) {
  size_t length = 0;
  for (ssize_t n = 1; n > 0 && length<kMostText - 1; length += n> 0 ? (size_t)n : 0)
    n = read(descriptor, text + length, kMostText - 1 - length);
  text[length] = '\0';
}

/* Whether all that was said is one line that begins like all errors do. */
static int says(const char* text, const struct wrong_call* wrong) {
  char pattern[512];
  regex_t expression;
  snprintf(pattern, sizeof pattern, "^atoll: %s%s: .*%s", wrong->who, wrong->name, wrong->what);
  if (regcomp(&expression, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) != 0) abort();
  const char* end = strchr(text, '\n');
  const int matches = regexec(&expression, text, 0, NULL, 0) == 0;
  regfree(&expression);
  return matches && end != NULL && end[1] == '\0';
}

static void check_end(const struct wrong_call* wrong, int status, const char* text) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == wrong->code && says(text, wrong)) return;
  ++cases_failed;
  const char* end = WIFSIGNALED(status)                ? "was killed by a signal"
                    : WEXITSTATUS(status) == kReturned ? "was accepted"
                                                       : "ended otherwise";
  printf("%s %s (wait status 0x%x, exit code %d expected); expected \"%s\", it said: %s\n", wrong->name, end,
         status, wrong->code, wrong->what, text);
}

/* `make_process` as fork(). */
static void expect_end(pid_t (*make_process)(void), const struct wrong_call* wrong) {
  int ends[2];
  ++cases_made;
  fflush(stdout);
  if (pipe(ends) != 0) abort();
  const pid_t child = make_process();
  if (child == 0) {
    alarm(20);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    setenv("SHMEM_BACKTRACE", "0", 1); /* crash_test.py looks for the calls */
    if (wrong->prepare != NULL) wrong->prepare();
    wrong->call();
    _exit(kReturned);
  }
  close(ends[1]);
  char text[kMostText];
  read_all(ends[0], text);
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  check_end(wrong, status, text);
}

static void (*prepare_started)(void);

static inline void start_and_prepare(void) {
  shmem_init();
  if (prepare_started != NULL) prepare_started();
}

/* Runs prepare() and then call() in a PE that runs alone. */
static inline void expect_refusal(const char* name, const char* what, void (*prepare)(void),
                                  void (*call)(void)) {
  prepare_started = prepare;
  expect_end(fork, &(struct wrong_call){name, what, start_and_prepare, call, ALONE, kRefused});
}

/* fork() tells the library, which a child then finds not started.  This copy is what its parent is, for as
 * long as it needs nothing of other threads or PEs. */
static pid_t copy_of_this_pe(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

/* Runs call(), which must be refused before anything leaves this PE, in a copy of PE 0 of two. */
static inline void expect_refusal_in_job(const char* name, const char* what, void (*call)(void)) {
  expect_end(copy_of_this_pe, &(struct wrong_call){name, what, NULL, call, PE_0_OF_2, kRefused});
}

static int report_cases(void) {
  printf("%d wrong calls, %d not refused as they should be\n", cases_made, cases_failed);
  return cases_failed != 0;
}

#endif

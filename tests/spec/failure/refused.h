/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls of a program that runs alone, many in one test: each is made by a child process, which must end
 * by itself with exit code 1 and one line that names the call and says what is wrong. */
#ifndef REFUSED_H
#define REFUSED_H

#include <regex.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRefused = 1, kReturned = 99, kMostText = 4096 };

static int cases_made, cases_failed;

static void read_all(int descriptor, char text[kMostText]) {
  size_t length = 0;
  for (ssize_t n = 1; n > 0 && length<kMostText - 1; length += n> 0 ? (size_t)n : 0)
    n = read(descriptor, text + length, kMostText - 1 - length);
  text[length] = '\0';
}

/* Whether all that was said is one line that begins like all errors do and has the regular expression `what`.
 */
static int says(const char* text, const char* call, const char* what) {
  char pattern[512];
  regex_t expression;
  snprintf(pattern, sizeof pattern, "^atoll: PE 0 of 1 on [^ ]+: %s: .*%s", call, what);
  if (regcomp(&expression, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) != 0) abort();
  const char* end = strchr(text, '\n');
  const int matches = regexec(&expression, text, 0, NULL, 0) == 0;
  regfree(&expression);
  return matches && end != NULL && end[1] == '\0';
}

/* Runs prepare() and then call() in a PE of its own; `name` is how the line must call it. */
static void expect_refusal(const char* name, const char* what, void (*prepare)(void), void (*call)(void)) {
  int ends[2];
  ++cases_made;
  if (pipe(ends) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    shmem_init();
    if (prepare != NULL) prepare();
    call();
    _exit(kReturned);
  }
  close(ends[1]);
  char text[kMostText];
  read_all(ends[0], text);
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused && says(text, name, what)) return;
  ++cases_failed;
  const char* end = WIFSIGNALED(status)                ? "was killed by a signal"
                    : WEXITSTATUS(status) == kReturned ? "was accepted"
                                                       : "ended otherwise";
  printf("%s %s; expected \"%s\", it said: %s\n", name, end, what, text);
}

static int report_cases(void) {
  printf("%d wrong calls, %d not refused as they should be\n", cases_made, cases_failed);
  return cases_failed != 0;
}

#endif

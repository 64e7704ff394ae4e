/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables whose values shmem_init refuses, and what SHMEM_CHECKS=0 lets pass. */
#include "refused.h"

static const struct {
  const char *name, *value;
} settings[] = {
    {"SHMEM_SYMMETRIC_SIZE", "abc"},
    {"SHMEM_SYMMETRIC_SIZE", "-5m"},
    {"SHMEM_SYMMETRIC_SIZE", "k"},
    {"SHMEM_SYMMETRIC_SIZE", "5x"},
    {"SHMEM_SYMMETRIC_SIZE", "."},
    {"SHMEM_SYMMETRIC_SIZE", "99999999t"},
    {"SHMEM_INIT_TIMEOUT", "1e300"},
    {"SHMEM_INIT_TIMEOUT", "0"},
    {"SHMEM_INIT_TIMEOUT", "5x"},
    {"SHMEM_SPIN", "1e12"},
    {"SHMEM_SPIN", "5x"},
    {"SHMEM_VIRTUAL_NODES", "1e12"},
    {"SHMEM_NIC_MSHRS", "0"},
    {"SHMEM_NIC_SUBENTRIES", "1025"},
    {"SHMEM_MAPPER", "pigeon"},
    {"SHMEM_CHECKS", "ful"},
    {"SHMEM_CHECKS", "2"},
};
static size_t setting;

static void set(void) { setenv(settings[setting].name, settings[setting].value, 1); }
static void start(void) { start_pes(0); }

/* ---- SHMEM_CHECKS=0: without the checks that cost more than a comparison */

static long block[8], more[8], psync[SHMEM_BARRIER_SYNC_SIZE];

static void without_checks(void) {
  setenv("SHMEM_CHECKS", "0", 1);
  shmem_init();
}

static void stride_0(void) { shmem_long_iput(block, more, 0, 1, 2, 0); }
static void psync_in_use(void) {
  psync[2] = 42;
  shmem_barrier(0, 0, 1, psync);
}
static void wrong_pe(void) { shmem_long_p(block, 1, 1); }
static void wrong_address(void) { shmem_long_p(NULL, 1, 0); }

/* Whether call() returns, in a PE that runs alone. */
static void expect_acceptance(const char* name, void (*call)(void)) {
  int status = -1;
  ++cases_made;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    without_checks();
    call();
    _exit(kReturned);
  }
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kReturned) return;
  ++cases_failed;
  printf("%s did not return with SHMEM_CHECKS=0 (wait status 0x%x)\n", name, status);
}

int main(void) {
  for (setting = 0; setting < sizeof settings / sizeof *settings; ++setting) {
    char what[128];
    snprintf(what, sizeof what, "%s=%s is not valid: allowed is ", settings[setting].name,
             settings[setting].value);
    expect_end(fork, &(struct wrong_call){"shmem_init", what, set, shmem_init, NOT_STARTED, kRefused});
  }
  setting = 0;
  expect_end(fork, &(struct wrong_call){"start_pes", "SHMEM_SYMMETRIC_SIZE=abc is not valid: allowed is ",
                                        set, start, NOT_STARTED, kRefused});
  expect_acceptance("shmem_long_iput with a stride of 0", stride_0);
  expect_acceptance("shmem_barrier with a pSync in use", psync_in_use);
  expect_end(fork, &(struct wrong_call){"shmem_long_p", "pe is 1; allowed is 0 to 0$", without_checks,
                                        wrong_pe, ALONE, kRefused});
  expect_end(fork, &(struct wrong_call){"shmem_long_p", "dest NULL is not a symmetric address; allowed are",
                                        without_checks, wrong_address, ALONE, kRefused});
  return report_cases();
}

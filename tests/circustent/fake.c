/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the options of CircusTent's benchmarks and prints what they print, with figures that follow from what
 * it was asked for, so that a test knows them: GAMS are the PEs, 10 times as many for a CAS, divided by 1000
 * between nodes, and there multiplied by 2 with SHMEM_AMO=offload.
 *
 * FAKE_FAILS and FAKE_HANGS name kernels that fail and that do not end, FAKE_MUTE one that prints no figure,
 * and FAKE_TELLS one that fails with the path of the library that it has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  fprintf(stderr, "fake: option %s is missing\n", name);
  exit(2);
}

static int named(const char* variable, const char* kernel) {
  const char* name = getenv(variable);
  return name != NULL && strcmp(name, kernel) == 0;
}

static double figure(const char* kernel) {
  const int nodes = shmem_team_n_pes(SHMEM_TEAM_SHARED) < shmem_n_pes();
  const char* mode = getenv("SHMEM_AMO");
  double gams = shmem_n_pes();
  if (strstr(kernel, "_CAS") != NULL) gams *= 10;
  if (nodes) gams /= 1000;
  if (nodes && mode != NULL && strcmp(mode, "offload") == 0) gams *= 2;
  return gams;
}

/* The file that shmem_init comes from. */
static const char* library(void) {
  Dl_info info;
  return dladdr(dlsym(RTLD_DEFAULT, "shmem_init"), &info) != 0 ? info.dli_fname : "none";
}

int main(int argc, char** argv) {
  const char* kernel = option(argc, argv, "-b");
  const long words = atol(option(argc, argv, "-m")) / 8, iterations = atol(option(argc, argv, "-i"));
  const long stride = atol(option(argc, argv, "-s"));
  shmem_init();
  int wrong = atol(option(argc, argv, "-p")) != shmem_n_pes() || (iterations - 1) * stride >= words;
  if (wrong) fprintf(stderr, "fake: wrong options\n");
  if (named("FAKE_FAILS", kernel)) wrong = 3;
  if (named("FAKE_HANGS", kernel)) sleep(1000);
  if (named("FAKE_TELLS", kernel)) {
    wrong = 4;
    if (shmem_my_pe() == 0) fprintf(stderr, "fake: library %s\n", library());
  }
  if (named("FAKE_MUTE", kernel)) {
    if (shmem_my_pe() == 0) printf("Beginning test execution\nfake: no time\n\n");
  } else if (shmem_my_pe() == 0 && !wrong) {
    printf("Beginning test execution\n Benchmark Kernel     : %s\n", kernel);
    printf(" Timing (secs)        : %g\n Giga AMOs/sec (GAMS) : %g\n", 0.25, figure(kernel));
  }
  shmem_finalize();
  return wrong;
}

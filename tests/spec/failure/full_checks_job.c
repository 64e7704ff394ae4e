/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: full_checks_job <case>
 *
 * With SHMEM_CHECKS=full, what only a job of several PEs shows: one wrong call, or none ("right"). */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long variable[4], large[8192], *block;

/* Only PE 0 calls wrongly: it ends the job while the other waits. */
static int is_wrong(void) { return shmem_my_pe() == 0; }

__attribute__((noinline)) static void put_past_variable(void) {
  shmem_long_put(variable, block, 5, 1);
  shmem_fence();
}
static void peer_source(void) {
  const long* there = shmem_ptr(block, 1);
  shmem_long_put(block, there != NULL ? there + 4 : block + 4, 5, 0);
}
static void collect_total(void) {
  shmem_long_collect(SHMEM_TEAM_WORLD, is_wrong() ? block : large, block, (size_t)(3 + 3 * shmem_my_pe()));
}
static void collect_total_long(void) {
  static long source[4096], dest[4096];
  shmem_long_collect(SHMEM_TEAM_WORLD, is_wrong() ? dest : large, source, (size_t)(2048 + 4 * shmem_my_pe()));
}
static void in_team(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team);
  shmem_long_fcollect(team, block, variable, 4);
  shmem_long_fcollect(team, is_wrong() ? variable : large, block, 3);
}
static void null_explained(void) {
  long* none = shmem_malloc((size_t)1 << 40);
  if (is_wrong()) shmem_long_p(none, 1, 0);
}
static void nvm_behind(void) {
  char* on_nvm = shmem_malloc_with_hints(1000, SHMEMX_MALLOC_NVM);
  shmem_putmem(on_nvm + 500, variable, 32, 1);
  if (is_wrong()) shmem_putmem(on_nvm + 990, variable, 32, 1);
}
static void named_behind(void) {
  char name[64]; /* not that of the test on another number of nodes, which may run at the same time */
  snprintf(name, sizeof name, "checked.%s", getenv("SHMEM_VIRTUAL_NODES"));
  char* object = shmemx_nvm_open(name, 1000);
  shmemx_nvm_pin(object, 1000, SHMEMX_NVM_READ);
  shmemx_nvm_unpin(object, 1000);
  if (is_wrong()) shmemx_nvm_pin(object + 500, 501, SHMEMX_NVM_READ);
}
static void right(void) {
  shmem_long_put(block, variable, 4, 1);
  shmem_barrier_all();
}
/* The library's own line names the call of the program, and not what is between. */
__attribute__((noinline)) static void wrong_pe(void) {
  shmem_long_put(block, variable, 1, 77);
  shmem_fence();
}
/* All that was checked is as it was in the life before. */
static void again(void) {
  shmem_free(block);
  shmem_finalize();
  shmem_init();
  block = shmem_malloc(8 * sizeof *block);
  if (is_wrong()) shmem_long_put(block, large, 9, 1);
}

static const struct {
  const char* name;
  void (*call)(void);
  int by_all;
} cases[] = {{"put_past_variable", put_past_variable, 0},
             {"peer_source", peer_source, 0},
             {"collect_total", collect_total, 1},
             {"collect_total_long", collect_total_long, 1},
             {"in_team", in_team, 1},
             {"null_explained", null_explained, 1},
             {"nvm_behind", nvm_behind, 1},
             {"named_behind", named_behind, 1},
             {"wrong_pe", wrong_pe, 0},
             {"again", again, 1},
             {"right", right, 1}};

int main(int count, char** arguments) {
  shmem_init();
  block = shmem_calloc(8, sizeof *block);
  for (size_t i = 0; count == 2 && i < sizeof cases / sizeof *cases; ++i)
    if (strcmp(cases[i].name, arguments[1]) == 0 && (cases[i].by_all || shmem_my_pe() == 0)) cases[i].call();
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}

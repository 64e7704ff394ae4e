/* SPDX-License-Identifier: BSD-3-Clause */
/* Constants are constants. */
#include <string.h>

#include "check.h"

/* Semantics 24: legal in static initialisers */
static shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};
static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};

/* Semantics 23: integer constant expressions */
enum { kMajor = SHMEM_MAJOR_VERSION, kMinor = SHMEM_MINOR_VERSION, kLength = SHMEM_MAX_NAME_LEN };
static long sync_array[SHMEM_SYNC_SIZE];
static const char vendor[] = SHMEM_VENDOR_STRING;

static int number_of(int comparison) {
  switch (comparison) {
    case SHMEM_CMP_EQ: return 1;
    case SHMEM_CMP_NE: return 2;
    case SHMEM_CMP_GT: return 3;
    case SHMEM_CMP_GE: return 4;
    case SHMEM_CMP_LT: return 5;
    case SHMEM_CMP_LE: return 6;
    default: return 0;
  }
}

static int number_of_signal(int operation) {
  switch (operation) {
    case SHMEM_SIGNAL_SET: return 1;
    case SHMEM_SIGNAL_ADD: return 2;
    default: return 0;
  }
}

int main(void) {
  shmem_init();
  CHECK_EQ(number_of(SHMEM_CMP_GE) + number_of(_SHMEM_CMP_LE), 10);
  CHECK_EQ(number_of_signal(SHMEM_SIGNAL_SET) + number_of_signal(SHMEM_SIGNAL_ADD), 3);
  CHECK_EQ(kMajor, 1);
  CHECK_EQ(kMinor, 6);
  CHECK_CMP(sizeof vendor, <=, kLength);
  CHECK_CMP(strlen(vendor), <, sizeof vendor);
  CHECK_CMP(sizeof sync_array, >=, sizeof(long) * SHMEM_BARRIER_SYNC_SIZE);
  for (int i = 0; i < SHMEM_SYNC_SIZE; ++i) sync_array[i] = SHMEM_SYNC_VALUE;
  CHECK_AT(sync_array, SHMEM_SYNC_SIZE - 1, SHMEM_SYNC_VALUE);
  /* Semantics 25: comparable and assignable */
  shmem_team_t team = teams[0];
  shmem_ctx_t context = contexts[0];
  CHECK_EQ(team, SHMEM_TEAM_WORLD);
  CHECK_CMP(team, !=, SHMEM_TEAM_INVALID);
  CHECK_EQ(teams[1], SHMEM_TEAM_SHARED);
  CHECK_EQ(context, SHMEM_CTX_DEFAULT);
  CHECK_CMP(context, !=, contexts[1]);
  CHECK_EQ(contexts[1], SHMEM_CTX_INVALID);
  context = SHMEM_CTX_INVALID;
  CHECK_EQ(context, SHMEM_CTX_INVALID);
  /* Semantics 57: nothing to order or to complete */
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, NULL, 0);
  shmem_finalize();
  return 0;
}

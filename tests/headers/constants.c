/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 23-25: constants are constant. Handles initialize static objects, the rest labels cases and sizes
 * arrays. */
#include <pshmem.h>
#include <shmemx.h>

#ifdef __cplusplus
#define HOLDS(CONDITION) static_assert(CONDITION, #CONDITION)
#else
#define HOLDS(CONDITION) _Static_assert(CONDITION, #CONDITION)
#endif

struct handles {
  shmem_ctx_t ctx[2];
  shmem_team_t team[3];
};

struct handles predefined_handles(void);
int names_of_comparison(int cmp);
int names_of_signal(int op);
long* work_arrays(void);

static const struct handles predefined = {{SHMEM_CTX_INVALID, SHMEM_CTX_DEFAULT},
                                          {SHMEM_TEAM_INVALID, SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED}};
static shmem_team_config_t team_config = {0};
static shmem_ctx_session_config_t session_config = {SIZE_MAX};

struct handles predefined_handles(void) {
  struct handles copy = predefined;
  if (copy.ctx[1] == SHMEM_CTX_INVALID || copy.team[1] == copy.team[2]) copy.ctx[1] = SHMEM_CTX_DEFAULT;
  team_config.num_contexts = 1;
  session_config.total_ops = 1;
  return copy;
}

int names_of_comparison(int cmp) {
  switch (cmp) {
    case SHMEM_CMP_EQ: return 'e';
    case SHMEM_CMP_NE: return 'n';
    case SHMEM_CMP_GT: return 'g';
    case SHMEM_CMP_LE: return 'L';
    case SHMEM_CMP_LT: return 'l';
    case SHMEM_CMP_GE: return 'G';
    default: return '?';
  }
}

int names_of_signal(int op) {
  switch (op) {
    case SHMEM_SIGNAL_SET: return 's';
    case SHMEM_SIGNAL_ADD: return 'a';
    default: return '?';
  }
}

/* As programs of 1.4 and before write it. */
long* work_arrays(void) {
  static struct {
    long barrier[_SHMEM_BARRIER_SYNC_SIZE], bcast[_SHMEM_BCAST_SYNC_SIZE], collect[_SHMEM_COLLECT_SYNC_SIZE];
    long reduce[_SHMEM_REDUCE_SYNC_SIZE], alltoall[SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE];
    long exchange[_SHMEM_ALLTOALL_SYNC_SIZE], spread[_SHMEM_ALLTOALLS_SYNC_SIZE]; /* as with Open MPI */
    long work[_SHMEM_REDUCE_MIN_WRKDATA_SIZE], any[SHMEM_SYNC_SIZE];
  } arrays;
  for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++) arrays.barrier[i] = _SHMEM_SYNC_VALUE;
  arrays.any[0] = SHMEM_SYNC_VALUE;
  return arrays.any;
}

HOLDS(SHMEM_SYNC_SIZE >= SHMEM_BARRIER_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_BCAST_SYNC_SIZE);
HOLDS(SHMEM_SYNC_SIZE >= SHMEM_COLLECT_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_REDUCE_SYNC_SIZE);
HOLDS(SHMEM_SYNC_SIZE >= SHMEM_ALLTOALL_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_ALLTOALLS_SYNC_SIZE);
HOLDS(_SHMEM_ALLTOALL_SYNC_SIZE == SHMEM_ALLTOALL_SYNC_SIZE);
HOLDS(_SHMEM_ALLTOALLS_SYNC_SIZE == SHMEM_ALLTOALLS_SYNC_SIZE);
HOLDS(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED && SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED);
HOLDS(SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
HOLDS((SHMEM_CTX_PRIVATE & SHMEM_CTX_SERIALIZED) == 0 && (SHMEM_CTX_PRIVATE & SHMEM_CTX_NOSTORE) == 0);
HOLDS((SHMEM_CTX_SERIALIZED & SHMEM_CTX_NOSTORE) == 0);
HOLDS((SHMEM_MALLOC_ATOMICS_REMOTE & SHMEM_MALLOC_SIGNAL_REMOTE) == 0);
HOLDS(SHMEM_CTX_SESSION_BATCH != 0 && SHMEM_CTX_SESSION_TOTAL_OPS != 0 && SHMEM_TEAM_NUM_CONTEXTS != 0);
HOLDS(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN && sizeof _SHMEM_VENDOR_STRING <= _SHMEM_MAX_NAME_LEN);

#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION != 6 || _SHMEM_MAJOR_VERSION != 1 || \
    _SHMEM_MINOR_VERSION != 6
#error "The version must be known to the preprocessor."
#endif

#if SHMEM_CMP_EQ != _SHMEM_CMP_EQ || SHMEM_CMP_NE != _SHMEM_CMP_NE || SHMEM_CMP_GT != _SHMEM_CMP_GT || \
    SHMEM_CMP_GE != _SHMEM_CMP_GE || SHMEM_CMP_LT != _SHMEM_CMP_LT || SHMEM_CMP_LE != _SHMEM_CMP_LE
#error "The old names must have the values of the new ones."
#endif

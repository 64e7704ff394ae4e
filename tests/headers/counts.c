/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 84, 133: the tables hold as many functions as OpenSHMEM 1.6 has, section by section: 1788 in all.
 * The extensions' are not among them. */
#include <shmemx.h>

#ifdef __cplusplus
#define EQUAL(COUNT, NUMBER) static_assert((COUNT) == (NUMBER), "number of functions")
#else
#define EQUAL(COUNT, NUMBER) _Static_assert((COUNT) == (NUMBER), "number of functions")
#endif

#define ONE(...) +1
#define TYPED(TYPES, OP, SHAPE) ATOLL_TYPES_##TYPES(ONE, ~)
#define SIZED(UNITS, OP, TAIL, SHAPE) ATOLL_UNITS_##UNITS(ONE, ~)

enum {
  setup = 0 ATOLL_FUNCS_SETUP(ONE) ATOLL_FUNCS_EXIT(ONE),
  memory = 0 ATOLL_FUNCS_MEMORY(ONE),
  team = 0 ATOLL_FUNCS_TEAM(ONE),
  context = 0 ATOLL_FUNCS_CONTEXT(ONE),
  order = 0 ATOLL_FUNCS_ORDER(ONE),
  signals = 0 ATOLL_FUNCS_SIGNAL(ONE) + 2 * (0 ATOLL_OPS_SIGNAL(TYPED) ATOLL_SIZED_SIGNAL(SIZED)),
  sync = 0 ATOLL_FUNCS_SYNC(ONE),
  locks = 0 ATOLL_FUNCS_LOCK(ONE),
  rma = 2 * (0 ATOLL_OPS_RMA(TYPED) ATOLL_SIZED_RMA(SIZED)),
  amo = 2 * (0 ATOLL_OPS_AMO(TYPED)),
  amo_nbi = 2 * (0 ATOLL_OPS_AMO_NBI(TYPED)),
  wait = 0 ATOLL_FUNCS_WAIT(ONE) ATOLL_OPS_WAIT(TYPED),
  collectives = 0 ATOLL_OPS_COLL(TYPED) ATOLL_SIZED_COLL(SIZED),
  reductions = 0 ATOLL_OPS_REDUCE(TYPED),
  scans = 0 ATOLL_OPS_SCAN(TYPED),
  old_functions = 0 ATOLL_FUNCS_DEPRECATED(ONE),
  old_typed = 0 ATOLL_OPS_DEPRECATED(TYPED),
  old_sized = 0 ATOLL_SIZED_DEPRECATED(SIZED),
  max_min = 2 * (0 SHMEMX_OPS(TYPED)),
  counters = 0 SHMEMX_STATS(ONE)
};

EQUAL(setup, 14); /* 11 set-up and query, 2 threads, pcontrol */
EQUAL(memory, 6);
EQUAL(team, 8);    /* team_ptr included */
EQUAL(context, 6); /* 4 and 2 of sessions */
EQUAL(order, 6);
EQUAL(signals, 126); /* 125 and signal_wait_until */
EQUAL(sync, 4);      /* the deprecated shmem_sync included */
EQUAL(locks, 3);
EQUAL(rma, 448 + 120);
EQUAL(amo, 288);
EQUAL(amo_nbi, 170);
EQUAL(wait, 168 + 4 + 1); /* the deprecated short, ushort and shmem_wait_until(long) included */
EQUAL(collectives, 125);
EQUAL(reductions, 142);
EQUAL(scans, 52);
EQUAL(old_functions, 9);
EQUAL(old_typed, 30 + 4 + 44);
EQUAL(old_sized, 10);
EQUAL(setup + memory + team + context + order + signals + sync + locks + rma + amo + amo_nbi + wait +
          collectives + reductions + scans + old_functions + old_typed + old_sized,
      1788);
EQUAL(max_min, 2 * 6 * 14);     /* with and without a context, 3 forms of each, 14 types */
EQUAL(0 SHMEMX_FUNCS(ONE), 93); /* network, 3 of counters, 5 of NVM, 75 of kv, 9 of remote memory */
EQUAL(offsetof(shmemx_stats_t, reserved_), counters * sizeof(uint64_t));
EQUAL(sizeof(shmemx_stats_t), 128 * sizeof(uint64_t) + sizeof(double));

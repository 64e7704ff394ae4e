/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that must not compile, one for each CASE; case 0 must. */
#include <shmemx.h>

struct thing;
void wrong(shmem_ctx_t ctx, struct thing* thing, void* any, int* i, const int* ci);

void wrong(shmem_ctx_t ctx, struct thing* thing, void* any, int* i, const int* ci) {
  static float f;
  static char c;
  static short s;
  static long long ll;
  static double d;
  static shmem_complexd_ z;
  (void)ctx, (void)thing, (void)any, (void)i, (void)ci, (void)f, (void)c, (void)s, (void)ll, (void)d, (void)z;
#if CASE == 0
  shmem_put(i, ci, 1, 0);
#elif CASE == 1 /* a type that no table has */
  shmem_put(thing, thing, 1, 0);
#elif CASE == 2
  shmem_put(ctx, thing, thing, 1, 0);
#elif CASE == 3
  shmem_put(any, any, 1, 0);
#elif CASE == 4 /* a destination that cannot be written */
  shmem_put(ci, ci, 1, 0);
#elif CASE == 5 /* types of other tables */
  shmem_atomic_add(&f, f, 0);
#elif CASE == 6
  shmem_atomic_and(&s, s, 0);
#elif CASE == 7
  shmem_and_reduce(SHMEM_TEAM_WORLD, &c, &c, 1);
#elif CASE == 8
  shmem_max_reduce(SHMEM_TEAM_WORLD, &z, &z, 1);
#elif CASE == 9
  shmem_wait_until_all(&c, 1, NULL, SHMEM_CMP_EQ, 1);
#elif CASE == 10 /* arguments that are not what they should be */
  shmem_put(SHMEM_TEAM_WORLD, i, ci, 1, 0);
#elif CASE == 11
  shmem_p(*i, 1, 0);
#elif CASE == 12 /* a source of another type than the destination */
  shmem_put(i, &d, 1, 0);
#elif CASE == 13 /* with SHMEM_WARN_DEPRECATED */
  shmem_int_add(i, 1, 0);
#elif CASE == 14
  shmem_add(i, 1, 0);
#elif CASE == 15 /* the extensions: types that have no atomics, and a word that cannot be written */
  shmemx_atomic_max(&s, s, 0);
#elif CASE == 16
  (void)shmemx_atomic_fetch_min(ctx, thing, 0, 0);
#elif CASE == 17
  (void)shmemx_atomic_fetch_max(ci, 1, 0);
#else
#error "There is no such case."
#endif
}

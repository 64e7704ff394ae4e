/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: kv_team_size none|least
 *
 * SHMEM_KV_TEAM_SIZE: 0, and other values on other nodes.  Tables of teams have what the PE has that has
 * least, and a table for which that is too little is refused on all PEs, with a line; those of the world are
 * made. */
#include "kv_check.h"

enum { kLong = 20000, kFew = 10, kKeys = 50 };

static int create(shmem_team_t team, size_t value_bytes, size_t memory_bytes, shmemx_kv_t* kv) {
  const shmemx_kv_options_t options = {
      .key_bytes = 48, .value_bytes = value_bytes, .capacity = 100, .memory_bytes = memory_bytes};
  memset(kv, 0xff, sizeof *kv);
  return shmemx_kv_team_create(team, &options, kv);
}

/* Values by packets, and by RMA, to all members. */
static void use(shmemx_kv_t kv, size_t value_bytes) {
  const int me = shmem_my_pe(), n = value_bytes == kLong ? kFew : kKeys;
  static char value[kLong], got[kLong];
  for (int i = 0; i < n; ++i) {
    const Key key = key_of(me, i);
    make_bytes(value, value_bytes, (uint64_t)(1000 * me + i));
    CHECK_FOR(i, shmemx_kv_put(kv, key.text, key.n, value, value_bytes), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  for (int i = 0; i < n; ++i) {
    const Key key = key_of(right_pe(), i);
    CHECK_FOR(i, shmemx_kv_get(kv, key.text, key.n, got, value_bytes, NULL), SHMEMX_KV_OK);
    CHECK_MADE(got, value_bytes, (uint64_t)(1000 * right_pe() + i));
  }
  shmem_barrier_all();
}

int main(int argc, char** argv) {
  CHECK_EQ(argc, 2);
  shmem_init();
  const int none = strcmp(argv[1], "none") == 0;
  shmem_team_t team;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team), 0);
  shmemx_kv_t kv;
  CHECK_EQ(create(team, 8, none ? 0 : (size_t)3 << 20, &kv), SHMEMX_KV_FULL);
  CHECK(kv == NULL);
  if (!none) {
    CHECK_EQ(create(team, 8, 0, &kv), SHMEMX_KV_OK);
    use(kv, 8);
    shmemx_kv_destroy(kv);
    CHECK_EQ(create(team, kLong, 0, &kv), SHMEMX_KV_OK);
    use(kv, kLong);
    shmemx_kv_destroy(kv);
  }
  kv = table_of(48, 8, 100);
  use(kv, 8);
  shmemx_kv_destroy(kv);
  shmem_team_destroy(team);
  shmem_finalize();
  return 0;
}

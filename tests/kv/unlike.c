/* SPDX-License-Identifier: BSD-3-Clause */
/* PEs that differ in a collective call: usage kv_unlike <case>.  The job ends with a line that says in what.
 * In `resize_named` they do not. */
#include <shmemx.h>
#include <string.h>

#include "check.h"

static int first; /* whether this PE is PE 0 */

static uint64_t my_hash(const void* key, size_t n) { return n + *(const unsigned char*)key; }

static shmemx_kv_t create(size_t key_bytes, size_t value_bytes, uint64_t capacity, const char* name) {
  const shmemx_kv_options_t options = {
      .key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = capacity, .name = name};
  shmemx_kv_t kv = NULL;
  shmemx_kv_create(&options, &kv);
  return kv;
}

static void key_bytes(void) { create(first ? 8 : 120, first ? 120 : 8, 100, NULL); }
static void value_bytes(void) { create(8, first ? 8 : 16, 100, NULL); }
static void capacity(void) { create(8, 8, first ? 1000 : 1001, NULL); }
static void name(void) { create(8, 8, 100, first ? "table" : NULL); }
static void hash(void) {
  const shmemx_kv_options_t options = {
      .key_bytes = 8, .value_bytes = 8, .capacity = 100, .hash = first ? my_hash : NULL};
  shmemx_kv_t kv = NULL;
  shmemx_kv_create(&options, &kv);
}
static void report(void) {
  const shmemx_kv_options_t options = {
      .key_bytes = 8, .value_bytes = 8, .capacity = 100, .report_collisions = first};
  shmemx_kv_t kv = NULL;
  shmemx_kv_create(&options, &kv);
}
static void memory(void) {
  const shmemx_kv_options_t options = {
      .key_bytes = 8, .value_bytes = 8, .capacity = 100, .memory_bytes = first ? 100000 : 200000};
  shmemx_kv_t kv = NULL;
  shmemx_kv_create(&options, &kv);
}
static void resize(void) { shmemx_kv_resize(create(8, 8, 100, NULL), first ? 1000 : 6000); }
static void destroy(void) {
  const shmemx_kv_t one = create(8, 8, 100, NULL), other = create(8, 8, 100, NULL);
  shmemx_kv_destroy(first ? one : other);
}
static void missing(void) {
  if (first) create(8, 8, 100, NULL);
}
static void another(void) {
  const shmemx_kv_t kv = create(8, 8, 100, NULL);
  if (first)
    shmemx_kv_resize(kv, 200);
  else
    shmemx_kv_destroy(kv);
}
/* The same of a team, which both are in. */
static shmem_team_t both(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team);
  return team;
}
static shmemx_kv_t create_on(shmem_team_t team, uint64_t capacity) {
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = capacity};
  shmemx_kv_t kv = NULL;
  shmemx_kv_team_create(team, &options, &kv);
  return kv;
}
static void team_capacity(void) { create_on(both(), first ? 1000 : 1001); }
static void team_resize(void) { shmemx_kv_resize(create_on(both(), 100), first ? 1000 : 6000); }
static void team_another(void) {
  const shmemx_kv_t kv = create_on(both(), 100);
  if (first)
    shmemx_kv_resize(kv, 200);
  else
    shmemx_kv_destroy(kv);
}
static void team_left(void) {
  const shmemx_kv_t kv = create_on(both(), 100);
  if (!first) shmemx_kv_leave(kv);
  shmem_barrier_all();
  if (first) shmemx_kv_clear(kv);
}
/* Who is not in it. */
static void team_outside(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
  create_on(team, 100);
}
/* All alike, but of a table that cannot get another size. */
static void resize_named(void) { shmemx_kv_resize(create(8, 8, 100, "resized"), 1000); }
/* What was durable before is afterwards, which `kept` looks at. */
static void persist(void) {
  const shmemx_kv_t kv = create(8, 8, 100, "unlike");
  int64_t key = shmem_my_pe(), value = 5;
  CHECK_EQ(shmemx_kv_put(kv, &key, sizeof key, &value, sizeof value), SHMEMX_KV_OK);
  shmemx_kv_persist(kv);
  value = 6;
  CHECK_EQ(shmemx_kv_put(kv, &key, sizeof key, &value, sizeof value), SHMEMX_KV_OK);
  if (shmem_my_pe() + 1 != shmem_n_pes()) shmemx_kv_persist(kv);
}
static void kept(void) {
  const shmemx_kv_t kv = create(8, 8, 100, "unlike");
  CHECK(kv != NULL);
  for (int64_t key = 0, value = 0; key < shmem_n_pes(); ++key) {
    CHECK_FOR(key, shmemx_kv_get(kv, &key, sizeof key, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, 5);
  }
}

int main(int argc, char** argv) {
#define CASE(NAME) \
  { #NAME, NAME }
  static const struct {
    const char* name;
    void (*call)(void);
  } cases[] = {CASE(key_bytes),    CASE(value_bytes),  CASE(capacity),      CASE(name),
               CASE(hash),         CASE(report),       CASE(memory),        CASE(resize),
               CASE(destroy),      CASE(missing),      CASE(another),       CASE(persist),
               CASE(kept),         CASE(resize_named), CASE(team_capacity), CASE(team_resize),
               CASE(team_another), CASE(team_left),    CASE(team_outside)};
  shmem_init();
  first = shmem_my_pe() == 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) cases[i].call();
  shmem_finalize();
  return argc == 2 ? 0 : 2;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedule of concurrent.h: lives (init to finalize) of rounds of steps.  ATOLL_STRESS_SECONDS says how
 * long to go on, ATOLL_TEST_SEED repeats a run (what the lanes do, not how they interleave),
 * ATOLL_STRESS_LANES sets the number of threads of a PE. */
#include "concurrent.h"
#include "duration.h"

enum { kRoundsOfALife = 6 };

static Lane lanes[kLanes];
static int lane_count = 3;
static int steps_of_a_round;

static Team describe(shmem_team_t handle) {
  Team team = {.handle = handle, .me = shmem_team_my_pe(handle), .n = shmem_team_n_pes(handle)};
  for (int i = 0; i < team.n; ++i) team.pes[i] = shmem_team_translate_pe(handle, i, SHMEM_TEAM_WORLD);
  return team;
}

static void destroy_child(Lane* lane) {
  if (lane->child != SHMEM_TEAM_INVALID) shmem_team_destroy(lane->child);
  lane->child = SHMEM_TEAM_INVALID;
  lane->has_child = 0;
}

/* Splits the base team at random.  Every PE of the lane takes part. */
static void split(Lane* lane, Random* dice) {
  const int n = shmem_team_n_pes(lane->base);
  destroy_child(lane);
  lane->has_child = 1;
  if (random_below(dice, 2)) {
    const int start = (int)random_below(dice, (size_t)n), down = (int)random_below(dice, 2);
    const int stride = 1 + (int)random_below(dice, 2), room = down ? start : n - 1 - start;
    const int size = 1 + (int)random_below(dice, (size_t)(room / stride + 1));
    CHECK_EQ(
        shmem_team_split_strided(lane->base, start, down ? -stride : stride, size, NULL, 0, &lane->child), 0);
    return;
  }
  shmem_team_t axes[2];
  const int columns = 1 + (int)random_below(dice, (size_t)n);
  CHECK_EQ(shmem_team_split_2d(lane->base, columns, NULL, 0, &axes[0], NULL, 0, &axes[1]), 0);
  const size_t kept = random_below(dice, 2);
  lane->child = axes[kept];
  shmem_team_destroy(axes[1 - kept]);
}

static void step(Lane* lane) {
  static Step* const kinds[] = {move_in_team,  move_in_team, reduce_in_team, put_and_get, count_together,
                                exchange_mail, lock,         use_active_set, allocate};
  enum { kForAll = 7, kKinds = 9 };
  const uint64_t seed = next_random(&lane->common);
  Random dice = {seed};
  ++lane->steps;
  check_context("lane %d, step %ld", lane->number, lane->steps);
  if (random_below(&dice, 12) == 0) return split(lane, &dice);
  const int in_child = lane->has_child && random_below(&dice, 2);
  const size_t kind = random_below(&dice, lane->number == 0 && !in_child ? kKinds : kForAll);
  if (in_child && lane->child == SHMEM_TEAM_INVALID) return;
  const Team team = describe(in_child ? lane->child : lane->base);
  kinds[kind](lane, &team, &dice, seed);
}

static void* run(void* argument) {
  for (int i = 0; i < steps_of_a_round; ++i) step(argument);
  return NULL;
}

/* Lane 0 runs on the thread that has started the library. */
static void round_of_steps(void) {
  pthread_t threads[kLanes];
  for (int i = 1; i < lane_count; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, run, &lanes[i]), 0);
  run(&lanes[0]);
  for (int i = 1; i < lane_count; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  shmem_barrier_all();
  verify_locks();
}

static void open_lanes(void) {
  Memory* memory = shmem_calloc(kLanes, sizeof *memory);
  CHECK(memory != NULL);
  for (int i = 0; i < lane_count; ++i) {
    lanes[i].memory = &memory[i];
    lanes[i].base = lanes[i].child = SHMEM_TEAM_INVALID;
    lanes[i].has_child = 0;
    if (i == 0)
      lanes[i].base = SHMEM_TEAM_WORLD;
    else
      CHECK_FOR(i, shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &lanes[i].base),
                0);
  }
}

static void close_lanes(void) {
  for (int i = 0; i < lane_count; ++i) {
    destroy_child(&lanes[i]);
    if (i > 0) shmem_team_destroy(lanes[i].base);
  }
  shmem_free(lanes[0].memory);
}

static void start(void) {
  int provided = -1;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  CHECK_CMP(shmem_n_pes(), <=, kMostPes);
}

static void seed_lanes(void) {
  static long seed;
  seed = (long)time(NULL);
  shmem_barrier_all();
  const uint64_t common = seed_of_run((uint64_t)shmem_long_g(&seed, 0));
  for (int i = 0; i < kLanes; ++i) {
    lanes[i].number = i;
    lanes[i].common.state = common * 1000 + (uint64_t)i;
    lanes[i].own.state = common * 1000 + (uint64_t)(100 + i * kMostPes + shmem_my_pe());
  }
}

int main(void) {
  const char *seconds = getenv("ATOLL_STRESS_SECONDS"), *threads = getenv("ATOLL_STRESS_LANES");
  if (threads != NULL) lane_count = atoi(threads);
  CHECK_CMP(lane_count, >=, 1);
  CHECK_CMP(lane_count, <=, kLanes);
  steps_of_a_round = rounds(60, 20);
  start();
  seed_lanes();
  const double end = now_seconds() + (seconds != NULL ? atof(seconds) : 4);
  int round_number = 0, more = 1;
  const int me = shmem_my_pe();
  while (more) {
    open_lanes();
    for (int i = 0; i < kRoundsOfALife && more; ++i, ++round_number) {
      round_of_steps();
      more = go_on(end);
    }
    close_lanes();
    shmem_finalize();
    if (more) start();
  }
  if (me == 0) printf("%d rounds\n", round_number);
  return 0;
}

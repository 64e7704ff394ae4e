/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedule of torture.h: lives (init to finalize) of rounds of steps.
 *
 *   torture [--seed N] [--seconds S] [--lanes L] [--only KIND,KIND...]
 *
 * A seed repeats what the lanes do, not how they interleave.  A difference between memory and model ends the
 * job with a line that names the lane, the step, and what was expected. */
#include "torture.h"

#include <unistd.h>

#include "duration.h"

enum { kMostRoundsOfALife = 6, kFewestLives = 2 };

/* Kinds of steps; the more often a row stands here, the more often it is drawn.  `world`: in lane 0 and on
 * all PEs. */
static const struct {
  const char* name;
  Step* run;
  int world;
} kinds[] = {
    {"move", move_in_team, 0},     {"move", move_in_team, 0},
    {"reduce", reduce_in_team, 0}, {"blocks", use_blocks, 0},
    {"blocks", use_blocks, 0},     {"words", use_words, 0},
    {"count", count_together, 0},  {"mail", exchange_mail, 0},
    {"tables", use_tables, 0},     {"lock", lock, 0},
    {"active", use_active_set, 1}, {"allocate", allocate, 1},
};
enum { kKinds = sizeof kinds / sizeof kinds[0], kEverywhere = kKinds - 2 };

static Lane lanes[kLanes];
static Random plan; /* of what happens between rounds */
static int lane_count = 3;
static int steps_of_a_round;
static double seconds = 4;
static int chosen[kKinds]; /* by --only */
static long done[kLanes][kKinds];

/* ---- Steps ------------------------------------------------------------------------------------------------
 */

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
  const uint64_t seed = next_random(&lane->common);
  Random dice = {seed};
  ++lane->steps;
  if (random_below(&dice, 12) == 0) return split(lane, &dice);
  const int in_child = lane->has_child && random_below(&dice, 2);
  const size_t kind = random_below(&dice, lane->number == 0 && !in_child ? kKinds : kEverywhere);
  check_context("lane %d, step %ld: %s", lane->number, lane->steps, kinds[kind].name);
  if (!chosen[kind] || (in_child && lane->child == SHMEM_TEAM_INVALID)) return;
  const Team team = describe(in_child ? lane->child : lane->base);
  kinds[kind].run(lane, &team, &dice, seed);
  ++done[lane->number][kind];
}

static void* run(void* argument) {
  for (int i = 0; i < steps_of_a_round; ++i) step(argument);
  return NULL;
}

/* ---- Rounds and lives -------------------------------------------------------------------------------------
 */

/* Lane 0 runs on the thread that has started the library. */
static void round_of_steps(void) {
  pthread_t threads[kLanes];
  change_blocks(&plan, lane_count);
  change_tables(&plan);
  for (int i = 1; i < lane_count; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, run, &lanes[i]), 0);
  run(&lanes[0]);
  for (int i = 1; i < lane_count; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  check_context("after a round");
  shmem_barrier_all();
  verify_locks();
  verify_words(lanes, lane_count);
  verify_blocks();
  verify_tables();
}

static void open_lanes(void) {
  Memory* memory = shmem_calloc(kLanes, sizeof *memory);
  CHECK(memory != NULL);
  for (int i = 0; i < lane_count; ++i) {
    lanes[i].memory = &memory[i];
    memset(&lanes[i].words, 0, sizeof lanes[i].words);
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
  Random of_run;
  seed_dice(&of_run);
  const uint64_t common = of_run.state - (uint64_t)shmem_my_pe(); /* the same on all PEs */
  plan.state = common + 500;
  for (int i = 0; i < kLanes; ++i) {
    lanes[i].number = i;
    lanes[i].common.state = common + (uint64_t)i;
    lanes[i].own.state = common + (uint64_t)(100 + i * kMostPes + shmem_my_pe());
  }
}

static void summarize(int rounds_done) {
  printf("%d rounds;", rounds_done);
  for (size_t k = 0; k < kKinds; ++k) {
    if (k > 0 && strcmp(kinds[k].name, kinds[k - 1].name) == 0) continue;
    long steps = 0;
    for (size_t same = k; same < kKinds && strcmp(kinds[k].name, kinds[same].name) == 0; ++same)
      for (int i = 0; i < kLanes; ++i) steps += done[i][same];
    printf("%s %s %ld", k > 0 ? "," : " steps of PE 0:", kinds[k].name, steps);
  }
  printf("; no difference\n");
}

/* ---- The command line -------------------------------------------------------------------------------------
 */

static void refuse(const char* what, const char* value) {
  fprintf(
      stderr,
      "torture: %s %s; usage: torture [--seed N] [--seconds S] [--lanes 1..%d] [--only KIND,...] with kinds",
      what, value, kLanes);
  for (size_t k = 0; k < kKinds; ++k)
    if (k == 0 || strcmp(kinds[k].name, kinds[k - 1].name) != 0) fprintf(stderr, " %s", kinds[k].name);
  fprintf(stderr, "\n");
  exit(2);
}

static int chosen_kind(const char* name) {
  for (size_t k = 0; k < kKinds; ++k)
    if (chosen[k] && strcmp(kinds[k].name, name) == 0) return 1;
  return 0;
}

static void choose_only(char* list) {
  memset(chosen, 0, sizeof chosen);
  for (char* word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
    int known = 0;
    for (size_t k = 0; k < kKinds; ++k)
      if (strcmp(word, kinds[k].name) == 0) chosen[k] = known = 1;
    if (!known) refuse("no such kind of step:", word);
  }
}

static void read_arguments(int argc, char** argv) {
  for (size_t k = 0; k < kKinds; ++k) chosen[k] = 1;
  for (int i = 1; i < argc; i += 2) {
    char* value = i + 1 < argc ? argv[i + 1] : NULL;
    if (value == NULL) refuse("unknown option, or one without its value:", argv[i]);
    if (strcmp(argv[i], "--seed") == 0)
      setenv("ATOLL_TEST_SEED", value, 1);
    else if (strcmp(argv[i], "--seconds") == 0)
      unsetenv("ATOLL_STRESS_SECONDS"), seconds = atof(value);
    else if (strcmp(argv[i], "--lanes") == 0)
      lane_count = atoi(value);
    else if (strcmp(argv[i], "--only") == 0)
      choose_only(value);
    else
      refuse("unknown option:", argv[i]);
    if (lane_count < 1 || lane_count > kLanes) refuse("no such number of lanes:", value);
  }
}

int main(int argc, char** argv) {
  read_arguments(argc, argv);
  steps_of_a_round = rounds(60, 20);
  start();
  seed_lanes();
  const double end = end_of_run(seconds);
  int round_number = 0, more = 1;
  const int me = shmem_my_pe();
  for (int life = 0; more; ++life) {
    const int most = 1 + (int)random_below(&plan, kMostRoundsOfALife);
    int in_time = 1;
    open_lanes();
    for (int i = 0; i < most && in_time; ++i, ++round_number) {
      round_of_steps();
      in_time = go_on(end);
    }
    more = in_time || life + 1 < kFewestLives;
    close_tables();
    close_blocks();
    close_lanes();
    shmem_finalize();
    if (more) start();
  }
  if (chosen_kind("blocks")) check_objects();
  if (me == 0) summarize(round_number);
  return 0;
}

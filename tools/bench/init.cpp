// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench init: starting and ending the library, and making and freeing what a program makes at its
// start.
#include <shmem.h>

#include "sweep.hpp"

namespace bench {
namespace {

double first_start;

/// Samples that were taken one by one, in microseconds.
Swept swept_of(std::vector<double> samples) {
  Swept swept;
  swept.tail = tail_of({samples.begin(), samples.end()});
  swept.samples = std::move(samples);
  return swept;
}

Swept start(const SweepOptions&, std::size_t) { return swept_of({largest(first_start) * 1e6}); }

/// One at a time: a round of many would take seconds.
Swept restart(const SweepOptions& options, std::size_t) {
  std::vector<double> samples;
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  bool right = true;
  for (std::size_t i = 0; i < options.rounds; ++i) {
    shmem_barrier_all();
    const double begin = now();
    shmem_finalize();
    shmem_init();
    const double took = now() - begin;
    right = shmem_my_pe() == me && shmem_n_pes() == pes && right;
    samples.push_back(largest(took) * 1e6);
  }
  Swept swept = swept_of(std::move(samples));
  swept.right = right;
  return swept;
}

template <class Operation>
Swept repeated(const SweepOptions& options, Operation operation) {
  bool right = true;
  Swept swept = sweep(options, {true, 1, [&](std::size_t count) {
                                  for (std::size_t i = 0; i < count; ++i) right = operation() && right;
                                }});
  swept.right = right;
  return swept;
}

Swept allocate(const SweepOptions& options, std::size_t) {
  return repeated(options, [] {
    void* const block = shmem_malloc(4096);
    shmem_free(block);
    return block != nullptr;
  });
}

Swept team(const SweepOptions& options, std::size_t) {
  return repeated(options, [] {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    const int failed = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), nullptr, 0, &team);
    shmem_team_destroy(team);
    return failed == 0;
  });
}

Swept context(const SweepOptions& options, std::size_t) {
  return repeated(options, [] {
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    const int failed = shmem_ctx_create(0, &ctx);
    shmem_ctx_destroy(ctx);
    return failed == 0;
  });
}

constexpr SweepKind kKinds[] = {{"start", false, start},
                                {"restart", false, restart},
                                {"malloc", false, allocate},
                                {"team", false, team},
                                {"context", false, context}};

}  // namespace

void note_start(double seconds) { first_start = seconds; }

int init(Words words) {
  return run_sweep(
      {"init",
       "starting the library, and what programs make at their start: until the slowest is done",
       kKinds,
       "  --kind NAME,..    start     the shmem_init of this job, once\n"
       "                    restart   shmem_finalize and another shmem_init\n"
       "                    malloc    shmem_malloc of 4 KiB and shmem_free\n"
       "                    team      shmem_team_split_strided of all PEs and shmem_team_destroy\n"
       "                    context   shmem_ctx_create and shmem_ctx_destroy (default all)\n",
       {}},
      words);
}

}  // namespace bench

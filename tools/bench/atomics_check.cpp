// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_check.hpp"

#include <shmem.h>

#include <cstdio>
#include <cstring>

#include "atomics_options.hpp"

namespace bench {
namespace {

/// Sums over all PEs, modulo 2^64.
struct Sums {
  Word change = 0;   ///< of the arrays' sums
  Word changed = 0;  ///< words that are not what they were
  Word added = 0;
  Word hits = 0;
  Word fetched = 0;
  Word wrong = 0;
};
constexpr std::size_t kSums = sizeof(Sums) / sizeof(Word);

Sums mine, all;

Sums over_all_pes(const Sums& sums) {
  mine = sums;
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, reinterpret_cast<Word*>(&all), reinterpret_cast<Word*>(&mine),
                          kSums);
  return all;
}

using ull = unsigned long long;

/// Says it, and is 1; `right` is 0.
Word compare(const Kernel& kernel, const char* what, Word found, Word right) {
  if (found == right) return 0;
  std::fprintf(stderr, "shmem_bench: %s, %s, PE %d: %s is %llu instead of %llu\n", kernel.name,
               name_of(kernel.form), shmem_my_pe(), what, static_cast<ull>(found), static_cast<ull>(right));
  return 1;
}

Word compare_words(const Kernel& kernel, const char* what, const Word* found, const Word* right,
                   std::size_t count) {
  if (std::memcmp(found, right, count * sizeof(Word)) == 0) return 0;
  std::size_t at = 0;
  while (found[at] == right[at]) ++at;
  char name[64];
  std::snprintf(name, sizeof name, "%s[%zu]", what, at);
  return compare(kernel, name, found[at], right[at]);
}

/// All PEs know what their neighbour did: the same as they.
Word check_against_model(const Kernel& kernel, const Ground& ground, Sandbox& sandbox, std::size_t count,
                         const Tally& tally) {
  const Ground& model = sandbox.ground;
  for (std::size_t i = 0; i < model.words; ++i) model.array[i] = initial(kernel, i);
  std::memcpy(model.index, sandbox.index, (ground.iterations + 1) * sizeof(Word));
  std::memcpy(model.next, sandbox.next, ground.iterations * sizeof(Word));
  Tally right;
  repeat(kernel.model, model, count, right);
  Word wrong = compare(kernel, "the sum of fetched values", tally.fetched, right.fetched);
  wrong += compare(kernel, "the end of the chase", tally.at, right.at);
  if (!kernel.exact) return wrong;
  wrong += compare(kernel, "the sum of what was added", tally.added, right.added);
  wrong += compare(kernel, "the number of successful swaps", tally.hits, right.hits);
  return wrong + compare_words(kernel, "array", ground.array, model.array, ground.words);
}

/// `sums` of all PEs, with `count` updates of the same word by each.
Word check_hot_spot(const Kernel& kernel, const Sums& sums, std::size_t count) {
  const Word updates = count * static_cast<Word>(shmem_n_pes());
  if (kernel.kind == Kind::cas) {
    return compare(kernel, "the change of the word", sums.change, 1) +
           compare(kernel, "the number of successful swaps", sums.hits, 1);
  }
  // 0 + 1 + ... + (updates - 1), whoever comes first; one of two neighbours is even.
  const Word total = updates % 2 == 0 ? updates / 2 * (updates - 1) : (updates - 1) / 2 * updates;
  const Word fetched = kernel.form == Form::nonfetching ? 0 : total;
  return compare(kernel, "the change of the word", sums.change, updates) +
         compare(kernel, "the number of changed words", sums.changed, 1) +
         compare(kernel, "the sum of fetched values", sums.fetched, fetched);
}

}  // namespace

bool verify(const Kernel& kernel, const Ground& ground, Sandbox& sandbox, std::size_t count,
            const Tally& tally) {
  Sums sums{.added = tally.added, .hits = tally.hits, .fetched = tally.fetched};
  for (std::size_t i = 0; i < ground.words; ++i) {
    const Word difference = ground.array[i] - initial(kernel, i);
    sums.change += difference;
    sums.changed += difference != 0;
  }
  sums.wrong += compare_words(kernel, "index", ground.index, sandbox.index, ground.iterations + 1);
  sums.wrong += compare_words(kernel, "next", ground.next, sandbox.next, ground.iterations);
  if (kernel.aim != Aim::hot) sums.wrong += check_against_model(kernel, ground, sandbox, count, tally);
  Sums total = over_all_pes(sums);
  // From here all PEs know the same; one says it.
  const bool speaks = shmem_my_pe() == 0;
  Word wrong = 0;
  if (speaks && kernel.aim == Aim::hot) wrong += check_hot_spot(kernel, total, count);
  if (speaks && kernel.chained && kernel.kind == Kind::add) {
    wrong += compare(kernel, "the change of all arrays", total.change, total.added);
  }
  if (speaks && kernel.chained && kernel.kind == Kind::cas) {
    wrong += compare(kernel, "the number of changed words", total.changed, total.hits);
  }
  return over_all_pes({.wrong = wrong + total.wrong}).wrong == 0;
}

}  // namespace bench

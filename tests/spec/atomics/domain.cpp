// SPDX-License-Identifier: BSD-3-Clause
// Semantics 79, 81-83: one domain of atomicity.  One word is changed at once by its owner, by PEs of the
// owner's node and by PEs of other nodes, some of which pack their atomics and some of which do not, from two
// contexts, in all forms, for all types.  Nothing gets lost, nothing happens twice, and the neighbour of the
// word keeps what it has.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "check.h"

namespace {

using Number = std::uint64_t;
constexpr int kMostPes = 8, kMostTimes = 400, kMarks = 2 * kMostPes * kMostTimes, kMostHammered = 20000;

// Beside the word that is tested lies one that all increment: who writes more than the word loses increments.
struct alignas(64) Line {
  char word[8];
  std::uint32_t neighbour;
};

Line line_in_variable;
Number finished;                    // on the target: PEs of other nodes that have completed what they did
int me, npes, times, turn, others;  // others: PEs on other nodes than mine
shmem_ctx_t contexts[2];
Number share, sum;
unsigned short marks[kMarks], all_marks[kMarks];

// What a test works on, and what it fetches: at once (`old`), or when the contexts are quiet (`later`).
template <class T>
struct Test {
  T* word;
  std::uint32_t* neighbour;
  int target;
  Number incremented = 0;
  std::vector<T> old;
  int awaited = 0;
  T later[kMostTimes];

  // After the operations that are counted out, PEs of the target's node go on until those of other nodes are
  // done: many operations there meet each single one that comes from far away.
  int hammered = 0;
  bool hammers() {
    if (shmem_ptr(word, target) == nullptr) {
      for (const shmem_ctx_t ctx : contexts) shmem_ctx_quiet(ctx);
      shmem_atomic_inc(&finished, target);
      return false;
    }
    if (++hammered > kMostHammered) return false;
    shmem_atomic_inc(neighbour, target), ++incremented;
    return hammered % 16 != 0 || shmem_atomic_fetch(&finished, target) < Number(others);
  }

  T* slot() { return &later[awaited++]; }
  int which(int i) const { return (i / 3 + me) % 2; }
  // The context of the i-th operation.  Now and then the neighbour is incremented before.
  shmem_ctx_t context(int i) {
    if (i % 4 == 0) shmem_atomic_inc(contexts[which(i)], neighbour, target), ++incremented;
    return contexts[which(i)];
  }
};

Number over_all(Number value) {
  share = value;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &share, 1);
  return sum;
}

template <class T>
Test<T> start(Line* line) {
  *line = {};
  std::memset(marks, 0, sizeof marks);
  finished = 0;
  shmem_barrier_all();
  auto* other_half = reinterpret_cast<std::uint32_t*>(line->word + 4);
  return {reinterpret_cast<T*>(line->word), sizeof(T) == 4 ? other_half : &line->neighbour, ++turn % npes};
}

// Completes the operations of all PEs, verifies the neighbour, and returns on all PEs what the word has now.
template <class T>
T finish(Test<T>& test) {
  for (const shmem_ctx_t ctx : contexts) shmem_ctx_quiet(ctx);
  test.old.insert(test.old.end(), test.later, test.later + test.awaited);
  const Number incremented = over_all(test.incremented);
  CHECK_OF_PE(test.target, shmem_g(test.neighbour, test.target), incremented);
  const T last = shmem_g(test.word, test.target);
  shmem_barrier_all();
  return last;
}

// No number has been marked twice, and none from `limit` on.  Returns how many have been marked.
Number marked_once(Number limit) {
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all_marks, marks, kMarks);
  Number found = 0;
  for (Number i = 0; i < kMarks; ++i) {
    CHECK_CMP_AT(all_marks, i, <=, i < limit ? 1 : 0);
    found += all_marks[i];
  }
  return found;
}

// The low half of the word counts tickets, each drawn once, some by additions that do not tell; the high half
// is a sum.
template <class T>
void test_adds(Line* line) {
  Test<T> test = start<T>(line);
  Number added = 0, silent = 0;
  for (int i = 0; i < times; ++i) {
    const shmem_ctx_t ctx = test.context(i);
    const Number high = Number(i * npes + me) << 16;
    const int form = (i + me) % 8;
    if (form == 0 || form == 3 || form == 4 || form == 6) added += high;
    if (form == 5 || form == 6) ++silent;
    switch (form) {
      case 0: shmem_atomic_add(ctx, test.word, T(high), test.target); break;
      case 1: test.old.push_back(shmem_atomic_fetch_inc(ctx, test.word, test.target)); break;
      case 2: shmem_atomic_fetch_inc_nbi(ctx, test.slot(), test.word, test.target); break;
      case 3: test.old.push_back(shmem_atomic_fetch_add(ctx, test.word, T(high + 1), test.target)); break;
      case 4: shmem_atomic_fetch_add_nbi(ctx, test.slot(), test.word, T(high + 1), test.target); break;
      case 5: shmem_atomic_inc(ctx, test.word, test.target); break;
      case 6: shmem_atomic_add(ctx, test.word, T(high + 1), test.target); break;
      default:
        CHECK_CMP(Number(shmem_atomic_fetch(ctx, test.word, test.target)) & 0xffff, <=, Number(npes * times));
    }
  }
  for (; test.hammers(); added += Number{1} << 16) shmem_atomic_add(test.word, T(1 << 16), test.target);
  const T last = finish(test);
  const Number told = over_all(test.old.size()), tickets = told + over_all(silent);
  CHECK_EQ(last, T(tickets + over_all(added)));
  for (const T old : test.old) ++marks[Number(old) & 0xffff];
  CHECK_EQ(marked_once(tickets), told);
}

// Who swaps n for n + 1 has won n: each number has one winner, and the last number is how many have won.
template <class T>
void test_claims(Line* line) {
  Test<T> test = start<T>(line);
  Number wins = 0;
  T guess = 0;
  const auto claim = [&wins](T expected, T found) {
    if (found == expected) ++wins;
    if (found == expected && Number(expected) < kMarks) ++marks[expected];
    return found == expected ? T(expected + 1) : found;
  };
  for (int i = 0; i < times; ++i) {
    const shmem_ctx_t ctx = test.context(i);
    if (i % 5 == 0) guess = shmem_atomic_fetch(ctx, test.word, test.target);
    if (i % 3 != 0) {
      guess = claim(guess, shmem_atomic_compare_swap(ctx, test.word, guess, T(guess + 1), test.target));
      continue;
    }
    T found[3], next = guess;
    for (T k = 0; k < 3; ++k)
      shmem_atomic_compare_swap_nbi(ctx, &found[k], test.word, T(guess + k), T(guess + k + 1), test.target);
    shmem_ctx_quiet(ctx);
    for (T k = 0; k < 3; ++k) next = claim(T(guess + k), found[k]);
    guess = next;
  }
  while (test.hammers())
    guess = claim(guess, shmem_atomic_compare_swap(test.word, guess, T(guess + 1), test.target));
  const T last = finish(test);
  CHECK_EQ(last, over_all(wins));
  CHECK_EQ(marked_once(Number(last)), Number(last) < kMarks ? Number(last) : kMarks);
}

// Two bits of the word belong to each context of each PE, which alone changes them; fences order its changes.
template <class T>
void test_bits(Line* line) {
  Test<T> test = start<T>(line);
  Random random = {Number(turn * npes + me)};
  Number mine[2] = {0, 0};
  std::vector<Number> expected;
  std::vector<int> shifts;
  for (int i = 0; i < times; ++i) {
    const shmem_ctx_t ctx = test.context(i);
    Number& bits = mine[test.which(i)];
    const int shift = 4 * me + 2 * test.which(i), form = int(random_below(&random, 9));
    const Number value = random_below(&random, 4), before = bits;
    const T on = T(value << shift), off = T(~((~value & 3) << shift));
    bits = form % 3 == 0 ? bits | value : form % 3 == 1 ? bits & value : bits ^ value;
    if (form >= 3) expected.push_back(before), shifts.push_back(shift);
    T* const fetched = test.later + expected.size() - 1;
    switch (form) {
      case 0: shmem_atomic_or(ctx, test.word, on, test.target); break;
      case 1: shmem_atomic_and(ctx, test.word, off, test.target); break;
      case 2: shmem_atomic_xor(ctx, test.word, on, test.target); break;
      case 3: *fetched = shmem_atomic_fetch_or(ctx, test.word, on, test.target); break;
      case 4: *fetched = shmem_atomic_fetch_and(ctx, test.word, off, test.target); break;
      case 5: *fetched = shmem_atomic_fetch_xor(ctx, test.word, on, test.target); break;
      case 6: shmem_atomic_fetch_or_nbi(ctx, fetched, test.word, on, test.target); break;
      case 7: shmem_atomic_fetch_and_nbi(ctx, fetched, test.word, off, test.target); break;
      default: shmem_atomic_fetch_xor_nbi(ctx, fetched, test.word, on, test.target);
    }
    shmem_ctx_fence(ctx);
  }
  for (const int shift = 4 * me; test.hammers(); mine[0] ^= 1)
    CHECK_FOR(shift,
              Number(shmem_atomic_fetch_xor(test.word, T(Number{1} << shift), test.target)) >> shift & 3,
              mine[0]);
  const T last = finish(test);
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK_FOR(i, Number(test.later[i]) >> shifts[i] & 3, expected[i]);
  CHECK_EQ(last, T(over_all((mine[0] | mine[1] << 2) << (4 * me))));
}

// A value that shows whether it is whole.
template <class T>
T value_of(Number id) {
  if constexpr (std::is_integral_v<T>) return T(id * (sizeof(T) == 8 ? 0x0001000100010001 : 0x00010001));
  return T(id) * (sizeof(T) == 8 ? T(1 + 0x1p-24) : T(1));
}

template <class T>
Number id_of(T value) {
  const Number id = std::is_integral_v<T> ? Number(value) & 0xffff : Number(value);
  CHECK_EQ(value, (value_of<T>(id)));
  return id;
}

// Each stored value is swapped out at most once; if none is overwritten by a set, all are but the last.
template <class T>
void test_swaps(Line* line, bool sets) {
  Test<T> test = start<T>(line);
  std::vector<Number> not_stored;
  T read[kMostTimes] = {};
  for (int i = 0; i < times; ++i) {
    const shmem_ctx_t ctx = test.context(i);
    const Number id = Number(1 + me * times + i);
    const T value = value_of<T>(id);
    const int form = (i + me) % (sets ? 5 : 4);
    switch (form) {
      case 0: test.old.push_back(shmem_atomic_swap(ctx, test.word, value, test.target)); break;
      case 1: shmem_atomic_swap_nbi(ctx, test.slot(), test.word, value, test.target); break;
      case 2: read[i] = shmem_atomic_fetch(ctx, test.word, test.target); break;
      case 3: shmem_atomic_fetch_nbi(ctx, &read[i], test.word, test.target); break;
      default: shmem_atomic_set(ctx, test.word, value, test.target);
    }
    if (form == 2 || form == 3) not_stored.push_back(id);
  }
  T hand = value_of<T>(Number(1 + npes * times + me));  // goes in, and another stays there
  test.old.push_back(T(0));
  while (test.hammers()) hand = shmem_atomic_swap(test.word, hand, test.target);
  test.old.back() = hand;
  const T last = finish(test);
  for (const T value : read) CHECK_CMP(id_of(value), <=, Number(npes * (times + 1)));
  for (const T value : test.old) ++marks[id_of(value)];
  if (me == 0) ++marks[id_of(last)];
  CHECK_EQ(marked_once(Number(npes * (times + 1) + 1)), over_all(test.old.size()) + 1);
  for (const Number id : not_stored) CHECK_AT(all_marks, id, 0);
  shmem_barrier_all();  // all have looked at the marks
}

void test_all_types(Line* line) {
#define TEST_INTEGER(NAME, T, UNUSED) test_adds<T>(line), test_claims<T>(line);
#define TEST_BITWISE(NAME, T, UNUSED) test_bits<T>(line);
#define TEST_MOVABLE(NAME, T, UNUSED) test_swaps<T>(line, false), test_swaps<T>(line, true);
  ATOLL_DISTINCT_AMO(TEST_INTEGER, 0)
  ATOLL_DISTINCT_BITWISE_ALL(TEST_BITWISE, 0)
  ATOLL_DISTINCT_AMO_EXT(TEST_MOVABLE, 0)
}

}  // namespace

int main() {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  CHECK_CMP(npes, <=, kMostPes);
  times = rounds(kMostTimes, 48);
  contexts[0] = SHMEM_CTX_DEFAULT;
  CHECK_EQ(shmem_ctx_create(0, &contexts[1]), 0);
  auto* line_in_heap = static_cast<Line*>(shmem_align(64, sizeof(Line)));
  void* in_memory = shmem_malloc_with_hints(8, SHMEM_MALLOC_ATOMICS_REMOTE);
  for (int pe = 0; pe < npes; ++pe) others += shmem_ptr(in_memory, pe) == nullptr;
  const char* nodes = std::getenv("SHMEM_VIRTUAL_NODES");
  if (nodes != nullptr && std::strcmp(nodes, "2") == 0 &&
      npes == 4) {  // each word is changed from both nodes
    CHECK(shmem_ptr(in_memory, me ^ 1) != nullptr);
    CHECK_EQ(shmem_ptr(in_memory, me ^ 2), nullptr);
  }
  for (int session = 0; session < 3; ++session) {  // of nobody; of every other PE; on one context of all PEs
    for (int c = 0; c < 2; ++c) {
      shmem_ctx_session_stop(contexts[c]);
      if ((session == 1 && me % 2 == 1) || (session == 2 && c == 1))
        shmem_ctx_session_start(contexts[c], SHMEM_CTX_SESSION_BATCH, NULL, 0);
    }
    test_all_types(line_in_heap);
    test_all_types(&line_in_variable);
  }
  shmem_ctx_destroy(contexts[1]);
  shmem_finalize();
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomics on words of six types that one PE alone writes, so that all results are known. */
#include "torture.h"

/* Where the step works: context, the PE's number in it and in the world. */
typedef struct {
  shmem_ctx_t stream;
  int number, pe;
} Place;

/* One operation on the symmetric word `at`, which holds `*known` at that PE. */
#define CHECK_OLD(GOT) CHECK_OF_PE(place.pe, GOT, *known)

#define DEFINE_STANDARD(NAME, T)                                                                    \
  static void standard_##NAME(Place place, T* at, T* known, Random* own) {                          \
    const T value = (T)random_below(own, 1000);                                                     \
    const size_t kind = random_below(own, 5);                                                       \
    T old = *known;                                                                                 \
    if (kind == 0) shmem_ctx_##NAME##_atomic_set(place.stream, at, value, place.number);            \
    if (kind == 1) old = shmem_ctx_##NAME##_atomic_swap(place.stream, at, value, place.number);     \
    if (kind == 2) shmem_ctx_##NAME##_atomic_swap_nbi(place.stream, &old, at, value, place.number); \
    if (kind == 3) old = shmem_ctx_##NAME##_atomic_fetch(place.stream, at, place.number);           \
    if (kind == 4) shmem_ctx_##NAME##_atomic_fetch_nbi(place.stream, &old, at, place.number);       \
    if (kind == 2 || kind == 4) shmem_ctx_quiet(place.stream);                                      \
    CHECK_OLD(old);                                                                                 \
    if (kind < 3) *known = value;                                                                   \
  }

#define DEFINE_SUM(NAME, T)                                                                          \
  static void sum_##NAME(Place place, T* at, T* known, Random* own) {                                \
    const size_t kind = random_below(own, 4);                                                        \
    const T value = kind < 2 ? (T)random_below(own, 1000) : 1;                                       \
    T old = *known;                                                                                  \
    if (kind == 0) shmem_ctx_##NAME##_atomic_add(place.stream, at, value, place.number);             \
    if (kind == 1) old = shmem_ctx_##NAME##_atomic_fetch_add(place.stream, at, value, place.number); \
    if (kind == 2) shmem_ctx_##NAME##_atomic_inc(place.stream, at, place.number);                    \
    if (kind == 3) old = shmem_ctx_##NAME##_atomic_fetch_inc(place.stream, at, place.number);        \
    CHECK_OLD(old);                                                                                  \
    *known += value;                                                                                 \
  }

#define DEFINE_EXCHANGE(NAME, T)                                                                       \
  static void exchange_##NAME(Place place, T* at, T* known, Random* own) {                             \
    const T value = (T)random_below(own, 1000);                                                        \
    const T wanted = random_below(own, 2) ? *known : (T)(*known + 1);                                  \
    T old;                                                                                             \
    if (random_below(own, 2)) {                                                                        \
      old = shmem_ctx_##NAME##_atomic_compare_swap(place.stream, at, wanted, value, place.number);     \
    } else {                                                                                           \
      shmem_ctx_##NAME##_atomic_compare_swap_nbi(place.stream, &old, at, wanted, value, place.number); \
      shmem_ctx_quiet(place.stream);                                                                   \
    }                                                                                                  \
    CHECK_OLD(old);                                                                                    \
    if (*known == wanted) *known = value;                                                              \
  }

#define DEFINE_BITS(NAME, T, KIND, OPERATOR)                                                   \
  static void KIND##_##NAME(Place place, T* at, T* known, Random* own) {                       \
    const T bits = (T)next_random(own);                                                        \
    if (random_below(own, 2))                                                                  \
      shmem_ctx_##NAME##_atomic_##KIND(place.stream, at, bits, place.number);                  \
    else                                                                                       \
      CHECK_OLD(shmem_ctx_##NAME##_atomic_fetch_##KIND(place.stream, at, bits, place.number)); \
    *known = *known OPERATOR bits;                                                             \
  }

#define DEFINE_INTEGER(NAME, T) DEFINE_STANDARD(NAME, T) DEFINE_SUM(NAME, T) DEFINE_EXCHANGE(NAME, T)
#define DEFINE_UNSIGNED(NAME, T) \
  DEFINE_INTEGER(NAME, T)        \
  DEFINE_BITS(NAME, T, and, &) DEFINE_BITS(NAME, T, or, |) DEFINE_BITS(NAME, T, xor, ^)

DEFINE_INTEGER(int, int)
DEFINE_INTEGER(long, long)
DEFINE_UNSIGNED(uint32, uint32_t)
DEFINE_UNSIGNED(uint64, uint64_t)
DEFINE_STANDARD(float, float)
DEFINE_STANDARD(double, double)

/* A function for a type's words. */
#define ON(FUNCTION, TYPE) FUNCTION##_##TYPE(place, &at->of_##TYPE[me], &known->of_##TYPE[place.pe], own)

static void operate(Place place, Words* at, Words* known, Random* own) {
  const int me = shmem_my_pe();
  switch (random_below(own, 20)) {
    case 0: ON(standard, int); break;
    case 1: ON(standard, long); break;
    case 2: ON(standard, uint32); break;
    case 3: ON(standard, uint64); break;
    case 4: ON(standard, float); break;
    case 5: ON(standard, double); break;
    case 6: ON(sum, int); break;
    case 7: ON(sum, long); break;
    case 8: ON(sum, uint32); break;
    case 9: ON(sum, uint64); break;
    case 10: ON(exchange, int); break;
    case 11: ON(exchange, long); break;
    case 12: ON(exchange, uint32); break;
    case 13: ON(exchange, uint64); break;
    case 14: ON(and, uint32); break;
    case 15: ON(and, uint64); break;
    case 16: ON(or, uint32); break;
    case 17: ON(or, uint64); break;
    case 18: ON(xor, uint32); break;
    default: ON(xor, uint64); break;
  }
}

void use_words(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  (void)dice, (void)seed;
  Random* own = &lane->own;
  const Stream stream = open_stream(team, own);
  for (int i = 0; i < 24; ++i) {
    const int member = (int)random_below(own, (size_t)team->n);
    const Place place = {stream.handle, number_in(stream, team, member), team->pes[member]};
    operate(place, &lane->memory->words, &lane->words, own);
    /* Those to one word have no order among each other but that of a fence. */
    if (random_below(own, 2))
      shmem_ctx_fence(stream.handle);
    else
      shmem_ctx_quiet(stream.handle);
  }
  shmem_ctx_quiet(stream.handle); /* the next step may use another context */
  close_stream(stream, own);
}

/* ---- Between rounds ---------------------------------------------------------------------------------------
 */

#define TELL(TYPE) shmem_##TYPE##_p(&told[i].of_##TYPE[me], lanes[i].words.of_##TYPE[pe], pe)
#define SEE(TYPE) CHECK_OF_PE(pe, lanes[i].memory->words.of_##TYPE[pe], told[i].of_##TYPE[pe])

/* Each writer tells the owners what its words must hold, and they look where they lie. */
void verify_words(const Lane* lanes, int count) {
  static Words told[kLanes];
  const int me = shmem_my_pe(), n = shmem_n_pes();
  for (int i = 0; i < count; ++i)
    for (int pe = 0; pe < n; ++pe)
      TELL(int), TELL(uint32), TELL(long), TELL(uint64), TELL(float), TELL(double);
  shmem_barrier_all();
  for (int i = 0; i < count; ++i)
    for (int pe = 0; pe < n; ++pe) {
      check_context("words of lane %d", i);
      SEE(int), SEE(uint32), SEE(long), SEE(uint64), SEE(float), SEE(double);
    }
  shmem_barrier_all();
}

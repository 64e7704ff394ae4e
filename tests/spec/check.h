/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks for programs that run under oshrun, in C11 and in C++.
 *
 *   CHECK_EQ(got, expected)             two values of any types of the API, or two pointers
 *   CHECK_CMP(got, >=, bound)           another comparison than ==
 *   CHECK_EITHER(got, one, other)       one of two values
 *   CHECK_AT(array, i, expected)        array[i]; the message has the index
 *   CHECK_CMP_AT(array, i, >=, bound)   the same for another comparison
 *   CHECK_FOR(i, got, expected)         what depends on i otherwise; the message has the value of i
 *   CHECK_OF_PE(pe, got, expected)      data of a PE, wherever they are; the message names that PE
 *   CHECK_STR(got, expected)            two strings
 *   CHECK_BYTES(got, expected, n)       n bytes of memory; the message has the first that differs
 *   CHECK(condition)                    anything else
 *   check_context("round %d", round)    what the messages of this thread end with from now on
 *
 * They say where, on which PE, what was expected and what was got, in which function:
 *
 *   types.c:47: PE 2 of 4: dest[3]: expected 7, got 9 (test_short_put)
 *
 * Integers are compared as numbers: -1 differs from UINT64_MAX.  A NaN equals any NaN.  Arguments are
 * evaluated once, except for the index i.  shmem_init need not have been called.
 *
 * A check that fails ends all PEs, or those that wait for the failing one would wait for ever. */
#ifndef CHECK_H
#define CHECK_H

#include <shmem.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_value.h"
#include "helpers.h"

#define CHECK(CONDITION) \
  ((CONDITION) ? (void)0 : check_fails(CHECK_PLACE(#CONDITION, "", 0), "does not hold"))

#define CHECK_EQ(GOT, EXPECTED) \
  check_compare(CHECK_PLACE(#GOT, "", 0), CHECK_VALUE(GOT), "==", CHECK_VALUE(EXPECTED))
#define CHECK_CMP(GOT, COMPARISON, BOUND) \
  check_compare(CHECK_PLACE(#GOT, "", 0), CHECK_VALUE(GOT), #COMPARISON, CHECK_VALUE(BOUND))
#define CHECK_EITHER(GOT, ONE, OTHER) \
  check_either(CHECK_PLACE(#GOT, "", 0), CHECK_VALUE(GOT), CHECK_VALUE(ONE), CHECK_VALUE(OTHER))
#define CHECK_AT(ARRAY, I, EXPECTED) \
  check_compare(CHECK_PLACE(#ARRAY, "[", I), CHECK_VALUE((ARRAY)[I]), "==", CHECK_VALUE(EXPECTED))
#define CHECK_CMP_AT(ARRAY, I, COMPARISON, BOUND) \
  check_compare(CHECK_PLACE(#ARRAY, "[", I), CHECK_VALUE((ARRAY)[I]), #COMPARISON, CHECK_VALUE(BOUND))
#define CHECK_FOR(I, GOT, EXPECTED) \
  check_compare(CHECK_PLACE(#GOT, " with " #I " = ", I), CHECK_VALUE(GOT), "==", CHECK_VALUE(EXPECTED))
#define CHECK_OF_PE(PE, GOT, EXPECTED) \
  check_compare(CHECK_PLACE(#GOT, " of PE ", PE), CHECK_VALUE(GOT), "==", CHECK_VALUE(EXPECTED))

#define CHECK_STR(GOT, EXPECTED) check_strings(CHECK_PLACE(#GOT, "", 0), GOT, EXPECTED)
#define CHECK_BYTES(GOT, EXPECTED, N) check_bytes(CHECK_PLACE(#GOT, "", 0), GOT, EXPECTED, N)

/* Where a check stands and what it looks at: `what`, followed by `index_name` and `index` unless the name is
 * empty. */
typedef struct {
  const char *file, *function, *what, *index_name;
  int line;
  long long index;
} CheckPlace;

#define CHECK_PLACE(WHAT, INDEX_NAME, INDEX) \
  check_place(__FILE__, __LINE__, __func__, WHAT, INDEX_NAME, (long long)(INDEX))

CHECK_INLINE CheckPlace check_place(const char* file, int line, const char* function, const char* what,
                                    const char* index_name, long long index) {
  CheckPlace place;
  place.file = file, place.line = line, place.function = function;
  place.what = what, place.index_name = index_name, place.index = index;
  return place;
}

/* What check_context() of this thread has said. */
static inline char* check_context_text(void) {
  static __thread char text[200];
  return text;
}

__attribute__((format(printf, 1, 2))) static inline void check_context(const char* format, ...) {
  char* text = check_context_text();
  va_list arguments;
  va_start(arguments, format);
  text[0] = ',', text[1] = ' ';
  vsnprintf(text + 2, 198, format, arguments);
  va_end(arguments);
}

/* Ends the job with one line; `format` and the rest say what is wrong, as for printf. */
__attribute__((cold, noreturn, format(printf, 2, 3))) static void check_fails(CheckPlace place,
                                                                              const char* format, ...) {
  char reason[800], who[48] = "", index[64] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  int running = 0;
  shmem_query_initialized(&running);
  if (running) snprintf(who, sizeof who, "PE %d of %d: ", shmem_my_pe(), shmem_n_pes());
  if (place.index_name[0] != '\0')
    snprintf(index, sizeof index, "%s%lld%s", place.index_name, place.index,
             place.index_name[0] == '[' ? "]" : "");
  fflush(stdout);
  fprintf(stderr, "%s:%d: %s%s%s: %s (%s%s)\n", place.file, place.line, who, place.what, index, reason,
          place.function, check_context_text());
  if (running) shmem_global_exit(1);
  _Exit(1);
}

__attribute__((cold, noreturn)) static inline void check_differs(CheckPlace place, CheckValue got,
                                                                 const char* comparison, CheckValue bound) {
  char got_text[kCheckText], bound_text[kCheckText];
  check_print(got_text, got);
  check_print(bound_text, bound);
  const int equality = comparison[0] == '=';
  check_fails(place, "expected %s%s%s, got %s", equality ? "" : comparison, equality ? "" : " ", bound_text,
              got_text);
}

CHECK_INLINE void check_compare(CheckPlace place, CheckValue got, const char* comparison, CheckValue bound) {
  if (!check_holds(got, comparison, bound)) check_differs(place, got, comparison, bound);
}

CHECK_INLINE void check_either(CheckPlace place, CheckValue got, CheckValue one, CheckValue other) {
  if (check_order(got, one) == 0 || check_order(got, other) == 0) return;
  char got_text[kCheckText], one_text[kCheckText], other_text[kCheckText];
  check_print(got_text, got);
  check_print(one_text, one);
  check_print(other_text, other);
  check_fails(place, "expected %s or %s, got %s", one_text, other_text, got_text);
}

static inline void check_strings(CheckPlace place, const char* got, const char* expected) {
  if (got == NULL) check_fails(place, "expected \"%s\", got NULL", expected);
  if (strcmp(got, expected) != 0) check_fails(place, "expected \"%s\", got \"%s\"", expected, got);
}

static inline void check_bytes(CheckPlace place, const void* got, const void* expected, size_t n) {
  if (n == 0 || memcmp(got, expected, n) == 0) return;
  const unsigned char *left = (const unsigned char*)got, *right = (const unsigned char*)expected;
  size_t i = 0;
  while (left[i] == right[i]) ++i;
  check_fails(place, "byte %zu of %zu: expected 0x%02x, got 0x%02x", i, n, right[i], left[i]);
}

#endif

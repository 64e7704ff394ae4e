/* SPDX-License-Identifier: BSD-3-Clause */
/* What check.h says when a check fails, and that nothing is said when it holds.  Also compiled as C++.  With
 * the argument `job` it runs under oshrun: one PE of two fails a check, and both end. */
#include <float.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int messages[2]; /* a pipe */
static int failures;

/* The child has written "<file>:<line>: <expected>", or nothing if that is NULL. */
static int is_message(const char* got, int line, const char* expected) {
  static const char file[] = "check_messages.c:";
  if (expected == NULL) return got[0] == '\0';
  const char* from = strstr(got, file);
  if (from == NULL) return 0;
  char* text;
  const long said = strtol(from + sizeof file - 1, &text, 10);
  const size_t n = strlen(expected);
  return said >= line && said <= line + 2 /* of one statement */ && strncmp(text, ": ", 2) == 0 &&
         strncmp(text + 2, expected, n) == 0 && strcmp(text + 2 + n, "\n") == 0;
}

static void compare_message(pid_t child, int line, const char* expected) {
  char got[1024] = "";
  int status = 0;
  close(messages[1]);
  size_t n = 0;
  for (ssize_t more; (more = read(messages[0], got + n, sizeof got - 1 - n)) > 0;) n += (size_t)more;
  close(messages[0]);
  waitpid(child, &status, 0);
  const int code = expected != NULL;
  if (WIFEXITED(status) && WEXITSTATUS(status) == code && is_message(got, line, expected)) return;
  printf("line %d: expected code %d and \"%s\",\n  got status 0x%x and \"%s\"\n", line, code,
         expected != NULL ? expected : "", (unsigned)status, got);
  ++failures;
}

static pid_t start_child(void) {
  fflush(stdout);
  if (pipe(messages) != 0) exit(99);
  const pid_t child = fork();
  if (child == 0) dup2(messages[1], STDERR_FILENO);
  return child;
}

/* Runs a check in a process of its own. */
#define SAYS(EXPECTED, ...)                     \
  do {                                          \
    const pid_t child = start_child();          \
    if (child == 0) {                           \
      __VA_ARGS__;                              \
      _Exit(0);                                 \
    }                                           \
    compare_message(child, __LINE__, EXPECTED); \
  } while (0)
#define HOLDS(...) SAYS(NULL, __VA_ARGS__)

static void test_integers(void) {
  const signed char small = -3;
  const uint64_t large = UINT64_MAX;
  SAYS("small: expected 4, got -3 (test_integers)", CHECK_EQ(small, 4));
  SAYS("small + 1: expected 0, got -2 (test_integers)", CHECK_EQ(small + 1, 0));
  SAYS("large: expected -1, got 18446744073709551615 (test_integers)", CHECK_EQ(large, -1));
  SAYS("large - 1: expected 18446744073709551615, got 18446744073709551614 (test_integers)",
       CHECK_EQ(large - 1, SIZE_MAX));
  SAYS("INT64_MIN: expected 9223372036854775808, got -9223372036854775808 (test_integers)",
       CHECK_EQ(INT64_MIN, UINT64_C(1) << 63));
  HOLDS(CHECK_EQ(small, -3L));
  HOLDS(CHECK_EQ(large, UINT64_MAX));
  HOLDS(CHECK_EQ((unsigned char)200, 200));
}

static void test_numbers(void) {
  const float half = 0.5f;
  const double third = 1.0 / 3;
  SAYS("half: expected 0.25, got 0.5 (test_numbers)", CHECK_EQ(half, 0.25));
  SAYS("third: expected 3, got 0.33333333333333331483 (test_numbers)", CHECK_EQ(third, 3));
  SAYS("1 + LDBL_EPSILON: expected 1, got 1.00000000000000000011 (test_numbers)",
       CHECK_EQ(1 + LDBL_EPSILON, 1));
  SAYS("1 / third: expected -inf, got 3 (test_numbers)", CHECK_EQ(1 / third, -INFINITY));
  SAYS("half: expected nan, got 0.5 (test_numbers)", CHECK_EQ(half, NAN));
  SAYS("(float)NAN: expected 2, got nan (test_numbers)", CHECK_EQ((float)NAN, 2));
  SAYS("9007199254740993: expected 9007199254740992, got 9007199254740993 (test_numbers)",
       CHECK_EQ(9007199254740993, 9007199254740992.0));
  HOLDS(CHECK_EQ(half, 0.5L));
  HOLDS(CHECK_EQ(half + 0.5, 1u));
  HOLDS(CHECK_EQ((float)NAN, (double)NAN));
}

#ifdef __cplusplus
#define COMPLEX(T, REAL, IMAGINARY) (std::complex<T>(REAL, IMAGINARY))
#else
#define COMPLEX(T, REAL, IMAGINARY) ((T)(REAL) + (T)(IMAGINARY)*1.0iF)
#endif
static void test_complex_numbers(void) {
  SAYS("COMPLEX(float, 1, 2): expected 1-2i, got 1+2i (test_complex_numbers)",
       CHECK_EQ(COMPLEX(float, 1, 2), COMPLEX(double, 1, -2)));
  SAYS("COMPLEX(double, 1, 2): expected 1, got 1+2i (test_complex_numbers)",
       CHECK_EQ(COMPLEX(double, 1, 2), 1));
  HOLDS(CHECK_EQ(COMPLEX(float, 1, 2), COMPLEX(double, 1, 2)));
  HOLDS(CHECK_EQ(COMPLEX(double, 7, 0), 7));
}

static void test_pointers(void) {
  char* const none = (char*)0;
  char* const some = (char*)0x1230;
  SAYS("some: expected NULL, got 0x1230 (test_pointers)", CHECK_EQ(some, none));
  SAYS("some + 1: expected 0x1230, got 0x1231 (test_pointers)", CHECK_EQ(some + 1, some));
  HOLDS(CHECK_EQ((const char*)some, (void*)0x1230));
}

static void test_comparisons(void) {
  const int got = -5;
  const size_t bound = 5;
  SAYS("got: expected >= 5, got -5 (test_comparisons)", CHECK_CMP(got, >=, bound));
  SAYS("bound: expected < 5, got 5 (test_comparisons)", CHECK_CMP(bound, <, 5));
  SAYS("bound: expected <= 4, got 5 (test_comparisons)", CHECK_CMP(bound, <=, 4.0));
  SAYS("bound: expected > 5, got 5 (test_comparisons)", CHECK_CMP(bound, >, 5));
  SAYS("bound: expected != 5, got 5 (test_comparisons)", CHECK_CMP(bound, !=, 5));
  SAYS("NAN: expected <= 5, got nan (test_comparisons)", CHECK_CMP(NAN, <=, bound));
  SAYS("got: expected 1 or 2, got -5 (test_comparisons)", CHECK_EITHER(got, 1, 2));
  HOLDS(CHECK_CMP(got, <, bound); CHECK_CMP(got, <=, -5); CHECK_CMP(bound, >=, 5); CHECK_CMP(bound, >, got));
  HOLDS(CHECK_CMP(got, !=, bound); CHECK_EITHER(got, 1, -5); CHECK_EITHER(got, -5, 1));
}

static void test_places(void) {
  const short dest[] = {0, 1, 2, 9};
  const int i = 3, pe = 2;
  const short* end = &dest[3];
  SAYS("dest[3]: expected 7, got 9 (test_places)", CHECK_AT(dest, i, 7));
  SAYS("end[-1]: expected 7, got 2 (test_places)", CHECK_AT(end, -1, 7));
  SAYS("dest[3]: expected < 9, got 9 (test_places)", CHECK_CMP_AT(dest, i, <, 9));
  SAYS("2 * i with i = 3: expected 7, got 6 (test_places)", CHECK_FOR(i, 2 * i, 7));
  SAYS("dest[0] of PE 2: expected 7, got 0 (test_places)", CHECK_OF_PE(pe, dest[0], 7));
  SAYS("i: expected 7, got 3 (test_places, round 4 of long)", check_context("before"),
       check_context("round %d of %s", 4, "long"), CHECK_EQ(i, 7));
  HOLDS(CHECK_AT(dest, i, 9); CHECK_CMP_AT(dest, i, >=, 9); CHECK_FOR(i, dest[i], 9);
        CHECK_OF_PE(pe, dest[pe], 2));
}

static void test_memory(void) {
  const char got[] = "one, two", expected[] = "one, too";
  SAYS("got: byte 6 of 9: expected 0x6f, got 0x77 (test_memory)", CHECK_BYTES(got, expected, sizeof got));
  SAYS("got: expected \"one, too\", got \"one, two\" (test_memory)", CHECK_STR(got, expected));
  SAYS("NULL: expected \"one, too\", got NULL (test_memory)", CHECK_STR(NULL, expected));
  SAYS("got[0] == 'x': does not hold (test_memory)", CHECK(got[0] == 'x'));
  HOLDS(CHECK_BYTES(got, expected, 6); CHECK_BYTES(NULL, NULL, 0); CHECK_STR(got, "one, two");
        CHECK(got[0] == 'o'));
}

/* The other PE waits for good. */
static int fail_on_one_pe(void) {
  static long dest[4] = {0, 0, 0, 9};
  dup2(STDOUT_FILENO, STDERR_FILENO);
  shmem_init();
  if (shmem_my_pe() == 1) CHECK_AT(dest, 3, 7);
  shmem_barrier_all();
  return 98;
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "job") == 0) return fail_on_one_pe();
  test_integers();
  test_numbers();
  test_complex_numbers();
  test_pointers();
  test_comparisons();
  test_places();
  test_memory();
  return failures != 0;
}

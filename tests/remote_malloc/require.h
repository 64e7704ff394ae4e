/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks in programs that know nothing of OpenSHMEM: one that fails names its line, and exits with the code
 * that compare.py knows. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define MIB ((size_t)1 << 20)
#define REQUIRE(condition)                                            \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "line %d: %s: not so\n", __LINE__, #condition); \
      exit(99);                                                       \
    }                                                                 \
  } while (0)

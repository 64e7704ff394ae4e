/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables of a shared library that a program uses (shared_objects.c). */
long* variable_of_a_library(void);

long* variable_of_a_library(void) {
  static long variable = 17;
  return &variable;
}
